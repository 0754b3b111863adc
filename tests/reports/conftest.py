"""A made-up outcome of the demo with the shape, the names and the magnitudes of a real one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.reports.browsing import browser as browser  # a fixture

PROPOSERS = {
    "ngram": (0.55, 0.002, 0.0),
    "early exit, 20 layers": (0.78, 0.001, 0.021),
    "early exit, 10 layers": (0.46, 0.001, 0.012),
}
GAMMAS = range(1, 9)
HELD_OUT = (3, 6)
PASS = {
    "bfloat16": [36, 37, 38, 40, 42, 43, 60, 76, 116, 182],
    "float32": [57, 96, 107, 83, 90, 96, 112, 148, 224, 345],
}
TOKENS = [1, 2, 3, 4, 6, 8, 16, 32, 64, 128]


def synthetic_outcome(seed: int = 1) -> dict[str, Any]:
    """An envelope as `specsim demo --json` writes it, from a seeded generator."""
    rng = np.random.default_rng(seed)
    predictions = [row for name in PROPOSERS for row in _predictions(name, rng)]
    result = {
        "answer": "Yes: on this machine drafting with an n-gram lookup at γ = 4 makes SmolLM2-135M-Instruct "
        "1.62 times as fast (95 % interval 1.51 to 1.74), and its output is still distributed as the model's own.",
        "headline": [
            {"label": "best drafter", "value": "ngram, γ = 4"},
            {"label": "speedup measured", "value": "1.62 × (1.51 – 1.74)"},
            {"label": "speedup predicted, held out", "value": "1.58 × (1.49 – 1.67)"},
            {"label": "median prediction error", "value": "3.1 % (1.9 – 5.2 %)"},
            {"label": "lossless", "value": "passed, 4 of 4 tests"},
            {"label": "8B on H100: gains up to batch", "value": "88"},
        ],
        "notice": None,
        "model": {"name": "SmolLM2-135M-Instruct", "is_real": True, "parameters": 134_515_008},
        "device": {
            "processor": "x86_64, 2 cores",
            "threads": 2,
            "torch": "2.13.0+cpu",
            "python": "3.11.7",
            "system": "Linux",
        },
        "predictions": predictions,
        "lossless": [
            {
                "test": "chi-square of the first three tokens",
                "model": "table, V = 5",
                "n": 200_000,
                "pvalue": 0.413,
                "passed": True,
                "verdict": "passed",
                "controls": [{"fault": "residual is p", "n": 9_000, "pvalue": 1e-12, "caught": True}],
                "detail": "125 cells",
                "smallest_total_variation": 0.0061,
            },
            {
                "test": "randomised PIT, chi-square",
                "model": "SmolLM2-135M-Instruct",
                "n": 4_812,
                "pvalue": 0.0821,
                "passed": True,
                "verdict": "passed",
                "detail": "16 bins",
                "smallest_total_variation": 0.043,
            },
            {
                "test": "greedy text equals plain text",
                "model": "SmolLM2-135M-Instruct",
                "n": 768,
                "pvalue": 1.0,
                "passed": True,
                "verdict": "passed",
                "detail": "token for token",
                "smallest_total_variation": None,
            },
            {
                "test": "planted fault: residual = p",
                "model": "table, V = 5",
                "n": 200_000,
                "pvalue": 3.1e-212,
                "passed": False,
                "verdict": "failed",
                "detail": "caught, as it must be",
                "smallest_total_variation": 0.0061,
            },
        ],
        "acceptance": [row for name in PROPOSERS for row in _acceptance(name, rng)],
        "passes": [
            {"dtype": dtype, "tokens": n, "seconds": ms / 1e3, "low": ms * 0.97e-3, "high": ms * 1.05e-3}
            for dtype, times in PASS.items()
            for n, ms in zip(TOKENS, times, strict=True)
        ],
        "round_parts": _parts(),
        "speedup_by_gamma": [row for name in PROPOSERS for row in _curve(name)],
        "placement": [],
        "crossover": [],
        "pit": [
            {
                "order": order,
                "bin_low": k / 16,
                "bin_high": (k + 1) / 16,
                "observed": int(rng.poisson(301)),
                "expected": 300.75,
                "low": 249,
                "high": 356,
            }
            for order in ("token id", "falling probability")
            for k in range(16)
        ],
        "errors": [
            {
                "quantity": "tau",
                "median_absolute_error": 0.021,
                "low": 0.012,
                "high": 0.047,
                "inside_interval": 5,
                "n": 6,
            },
            {
                "quantity": "round_seconds",
                "median_absolute_error": 0.034,
                "low": 0.015,
                "high": 0.061,
                "inside_interval": 4,
                "n": 6,
            },
            {
                "quantity": "speedup",
                "median_absolute_error": 0.031,
                "low": 0.019,
                "high": 0.052,
                "inside_interval": 5,
                "n": 6,
            },
        ],
        "texts": TEXTS,
        "numerics": [
            {"dtype": "float32", "total_variation": 2.1e-6, "n": 512},
            {"dtype": "bfloat16", "total_variation": 0.0193, "n": 512},
        ],
    }
    for hardware, slowdown in (("H100 SXM", 1.0), ("H200 SXM", 0.93)):
        for model, ridge in (("Llama-3.1-8B", 150.0), ("Llama-3.1-70B", 190.0)):
            _place(result, hardware=hardware, model=model, ridge=ridge * slowdown)
    return {
        "schema": 1,
        "command": "demo",
        "inputs": {"model": "SmolLM2-135M-Instruct", "dtype": "float32", "device": "cpu", "seed": 0, "max_tokens": 96},
        "result": result,
        "assumptions": [
            "Acceptance at a depth does not depend on what was accepted before it, given that depth was reached.",
            "Passes of the GPUs follow a roofline; 'expected' reads 80 % of bandwidth, 60 % of peak and adds 0.2 ms.",
            "Acceptance measured here on the small model is carried to the large ones unchanged.",
        ],
        "version": "0.1.0",
    }


def _tau(name: str, gamma: int) -> float:
    alpha = PROPOSERS[name][0]
    return float(sum(alpha**k for k in range(gamma + 1)))


def _seconds(name: str, gamma: int) -> float:
    _, base, step = PROPOSERS[name]
    return base + step * gamma + float(np.interp(gamma + 1, TOKENS, PASS["bfloat16"])) / 1e3 + 0.0015


def _interval(row: dict[str, Any], name: str, value: float, width: float) -> None:
    row |= {name: value, f"{name}_low": value * (1 - width), f"{name}_high": value * (1 + width)}


def _predictions(name: str, rng: np.random.Generator) -> list[dict[str, Any]]:
    rows = []
    for gamma in (1, 2, 3, 4, 6, 8):
        row: dict[str, Any] = {"proposer": name, "gamma": gamma, "held_out": gamma in HELD_OUT}
        tau, seconds = _tau(name, gamma), _seconds(name, gamma)
        for quantity, value in (("tau", tau), ("round_seconds", seconds), ("speedup", 0.0385 * tau / seconds)):
            _interval(row, f"{quantity}_predicted", value, 0.03)
            _interval(row, f"{quantity}_measured", value * rng.normal(1, 0.02), 0.04)
        rows.append(row)
    return rows


def _acceptance(name: str, rng: np.random.Generator) -> list[dict[str, Any]]:
    rows, reached = [], 900
    for depth in range(1, 9):
        rate = min(0.97, PROPOSERS[name][0] + 0.03 * depth)
        accepted = int(rng.binomial(reached, rate))
        spread = 2 * (rate * (1 - rate) / max(reached, 1)) ** 0.5
        share = accepted / max(reached, 1)
        rows.append(
            {
                "proposer": name,
                "depth": depth,
                "reached": reached,
                "accepted": accepted,
                "conditional": share,
                "low": max(0.0, share - spread),
                "high": min(1.0, share + spread),
            }
        )
        reached = accepted
    return rows


def _parts() -> list[dict[str, Any]]:
    rows = [("none", 0, (0.0, 0.036, 0.0006, 0.0009))]
    for name, (_, base, step) in PROPOSERS.items():
        for gamma in (2, 4, 8):
            verify = float(np.interp(gamma + 1, TOKENS, PASS["bfloat16"])) / 1e3
            rows.append((name, gamma, (base + step * gamma, verify, 0.0008 + 0.0001 * gamma, 0.0009)))
    return [
        {"proposer": name, "gamma": gamma, "part": part, "seconds": seconds}
        for name, gamma, times in rows
        for part, seconds in zip(("draft", "verify", "sample", "host"), times, strict=True)
    ]


def _curve(name: str) -> list[dict[str, Any]]:
    speedups = [0.0385 * _tau(name, gamma) / _seconds(name, gamma) for gamma in GAMMAS]
    return [
        {"proposer": name, "gamma": gamma, "speedup": s, "low": s * 0.96, "high": s * 1.04}
        for gamma, s in zip(GAMMAS, speedups, strict=True)
    ]


def _place(result: dict[str, Any], *, hardware: str, model: str, ridge: float) -> None:
    for name, (_, base, step) in PROPOSERS.items():
        for efficiency, knee in (("ideal", ridge), ("expected", 0.6 * ridge)):
            speedups = {}
            for batch in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512):
                plain = max(1.0, batch / knee)
                cost = max(1.0, 5 * batch / knee) + (base + 4 * step) / 0.036
                speedups[batch] = _tau(name, 4) * plain / cost
                result["placement"].append(
                    {
                        "hardware": hardware,
                        "model": model,
                        "proposer": name,
                        "gamma": 4,
                        "efficiency": efficiency,
                        "batch": batch,
                        "speedup": speedups[batch],
                        "tokens_per_second_per_user": 200 * speedups[batch] / plain,
                        "tokens_per_second": 200 * batch * speedups[batch] / plain,
                    }
                )
            gains = [batch for batch, value in speedups.items() if value >= 1]
            result["crossover"].append(
                {
                    "hardware": hardware,
                    "model": model,
                    "proposer": name,
                    "gamma": 4,
                    "efficiency": efficiency,
                    "crossover_batch": max(gains) if gains else 0,
                    "best_speedup": max(speedups.values()),
                }
            )


TEXTS = [
    {
        "kind": "code",
        "prompt": "Write a Python function that returns the running mean of a list.",
        "proposer": "ngram",
        "text": "def running_mean(values):\n    total = 0.0\n    means = []\n"
        "    for count, value in enumerate(values, start=1):\n        total += value\n"
        "        means.append(total / count)\n    return means\n",
        "tokens": 58,
        "rounds": 21,
    },
    {
        "kind": "dialogue",
        "prompt": "A traveller asks the station master when the last train leaves.",
        "proposer": "early exit, 20 layers",
        "text": '"The last train?" said the station master, looking at the clock. "It leaves at ten past eleven, '
        'but tonight it may be late, for there is snow on the line. Sit by the stove and I will call you."',
        "tokens": 62,
        "rounds": 27,
    },
    {
        "kind": "translation",
        "prompt": "Translate into French: The harbour is quiet before dawn.",
        "proposer": "ngram",
        "text": "Le port est calme avant l'aube.",
        "tokens": 11,
        "rounds": 9,
    },
    {
        "kind": "story",
        "prompt": "Tell a short story about a lighthouse that forgot how to shine.",
        "proposer": "early exit, 10 layers",
        "text": "Once there was a lighthouse on a rock at the end of the sea. Every night it had shone, and "
        "every ship had come home. One evening it forgot how, and a small boat "
        "rang its bell until the light remembered.",
        "tokens": 71,
        "rounds": 45,
    },
]


@pytest.fixture
def outcome() -> dict[str, Any]:
    return synthetic_outcome()
