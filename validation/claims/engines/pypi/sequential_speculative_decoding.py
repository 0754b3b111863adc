"""sequential-speculative-decoding: standard, naive hierarchical and capped hierarchical rules, without a cache."""

from __future__ import annotations

from collections.abc import Sequence

from specsim.conformance import Output, Parameters, TableModels
from specsim.conformance.verdict import FAILS
from validation.claims.engines.protocol import CRASHES, Case, Environment
from validation.claims.engines.pypi.adapters import Digits, output, seeded
from validation.claims.engines.pypi.grid import Generate, Make, Mode, grid

NAME = "sequential-speculative-decoding"
ENVIRONMENT = Environment(requirements=(f"{NAME}==0.1.1", "torch==2.13.0"), packages=(NAME, "torch", "transformers"))
EOS = 7
SHORT = ("good", 1.0, 1), ("bad", 1.5, 1)
LONG = ("good", 1.0, 4), ("bad", 1.0, 4), ("good", 0.6, 2)
GREEDY = ("good", 0.0, 4), ("bad", 0.0, 2)
FIRST_DRAFTS = (
    "From two drafts on, the first token of each round follows the draft's law q instead of p. capped_hsd_step in "
    "capped_hsd.py asks compute_capped_prefix_ratio(ratios, gamma - 1), which counts from 1, for the ratio of the "
    "whole draft and gets that of all but its last token; where the coin falls against it, the draft's first "
    "token is kept all the same, and the residual max(0, q (r* - 1)) pairs q of place tau + 1 with the ratio of "
    "place tau. For p = (0.6, 0.3, 0.1) and q = (0.1, 0.3, 0.6) at every place and gamma 2 that gives q = (0.1, "
    "0.3, 0.6) for the first token and (0.55, 0.15, 0.3) for the second; measured (0.104, 0.301, 0.595) and "
    "(0.551, 0.149, 0.300), n = 4,000. standard, and capped_hsd at gamma 1, give p. To see it: "
    "findings/capped_hsd.py."
)
NO_RESIDUAL = (
    "capped_hsd_step in capped_hsd.py raises RuntimeError (probability tensor contains either inf, nan or element "
    "< 0) at temperature 0 as soon as the likeliest tokens of draft and target differ: the residual of one-hot "
    "laws of different places is 0 everywhere and is divided by its sum 0. Exact law: the target's likeliest "
    "token, with probability 1. To see it: findings/capped_hsd.py."
)


def cases() -> tuple[Case, ...]:
    """See `protocol.Engine`."""
    modes = [
        Mode(name="standard", rule="rejection", make=_method("standard"), claims="rejection"),
        Mode(name="naive_hsd", rule="naive hierarchical", make=_method("naive_hsd")),
        Mode(name="capped_hsd", rule="capped hierarchical", make=_method("capped_hsd"), settings=SHORT),
        Mode(
            name="capped_hsd",
            rule="capped hierarchical",
            make=_method("capped_hsd"),
            settings=LONG,
            expect=FAILS,
            finding=FIRST_DRAFTS,
        ),
        Mode(
            name="capped_hsd",
            rule="capped hierarchical",
            make=_method("capped_hsd"),
            settings=GREEDY,
            expect=CRASHES,
            finding=NO_RESIDUAL,
        ),
        Mode(
            name="standard, end of text",
            rule="rejection",
            make=_method("standard"),
            settings=LONG[:1],
            parameters=Parameters(eos_ids=(EOS,), max_tokens=16),
        ),
    ]
    return grid(modes)


def _method(method: str) -> Make:
    def make(models: TableModels, gamma: int) -> Generate:
        from seqspecdecod import speculative_generate

        from validation.conformance.table_model import table_model

        draft, target = table_model(models, "draft"), table_model(models, "target")

        def generate(prompt: Sequence[int], parameters: Parameters, seed: int) -> Output:
            seeded(seed)
            ends = parameters.eos_ids
            made = speculative_generate(
                draft,
                target,
                Digits(*ends),
                Digits().decode(prompt),
                max_new_tokens=parameters.max_tokens,
                gamma=gamma,
                draft_temperature=parameters.temperature,
                target_temperature=parameters.temperature,
                method=method,
            )
            tokens = [int(word) for word in made["text"].split()]
            if len(tokens) < parameters.max_tokens:
                tokens += ends  # it takes the token off that ended the text
            blocks = [count + 1 for count in made["n_accepted_list"]] if method == "standard" else []
            return output(tokens, parameters, blocks=blocks, gamma=gamma)

        return generate

    return make
