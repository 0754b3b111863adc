"""What is reached of a datasheet's peaks, fitted to the verify seconds of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy import optimize

from specsim.calibrate.estimate import Estimate, from_error, standard_error
from specsim.calibrate.rows import CLIP_SIGMAS, Rows
from specsim.catalog import Hardware, ModelShape
from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError
from specsim.roofline import Efficiency, Roofline, kernel_work, soft_maximum

NAMES = ("bandwidth_fraction", "flop_fraction", "overhead_seconds")
SOFT_FROM = 0.05  # log seconds beyond which the first fit stops trusting a row
LARGEST_ERROR = 0.5  # of a log fraction, or of the overhead over a typical pass
BOUNDS = ([np.log(1e-4), np.log(1e-4), 0.0], [np.log(2.0), np.log(2.0), np.inf])


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LossesFit:
    """A roofline, its three losses in each replicate, shape (R, 3), and the estimates to report."""

    cost: Roofline
    replicates: FloatArray
    estimates: dict[str, Estimate]

    def pass_replicates(self, tokens: IntArray, *, batch: int, context: int) -> FloatArray:
        """Seconds of passes over `tokens` in each replicate, shape (R, len(tokens)) [s]."""
        read, computed = _ideal_seconds(self.cost, tokens=tokens, batch=batch, context=context)
        bandwidth, flop, overhead = self.replicates.T[:, :, None]
        read, computed = read[:, None, :], computed[:, None, :]
        soft = soft_maximum(read / bandwidth, computed / flop, knee=self.cost.efficiency.knee).sum(axis=0)
        return np.asarray(soft + overhead)


def fitted_losses(
    rows: Rows, model: ModelShape, hardware: Hardware, *, dtype: str, weights: FloatArray, level: float
) -> LossesFit:
    """Least squares on log seconds over all rows, plain ones too.

    Raises
    ------
    InputError
        Verify seconds of 0, rows that do not tell the three losses apart, or passes twice as fast as the datasheet.

    Notes
    -----
    A first fit with a soft loss finds the rows that stand out, which are then pulled to five robust standard
    deviations, as elsewhere. Least squares on logs fit the geometric mean; all losses are then scaled together so that
    measured over fitted has mean 1, since means add up to runs. The knee is that assumed for the generation. Replicates
    take one Gauss-Newton step from the fit.
    """
    measured = rows.raw_verify_seconds
    if (measured <= 0).any():
        raise InputError("verify_seconds must be above 0 in calibrated rows, got 0")
    start = Roofline(model=model, hardware=hardware, efficiency=Efficiency.assumed(hardware), dtype=dtype)
    read, computed = _ideal_seconds(start, tokens=rows.drafted + 1, batch=rows.batch, context=rows.context)
    typical = float(np.median(measured))

    def log_predicted(theta: FloatArray) -> FloatArray:
        parts = soft_maximum(read / np.exp(theta[0]), computed / np.exp(theta[1]), knee=start.efficiency.knee)
        soft = parts.sum(axis=0)
        return np.asarray(np.log(soft + theta[2] * typical))

    losses = start.efficiency
    first = np.array(
        [np.log(losses.bandwidth_fraction), np.log(losses.flop_fraction), losses.overhead_seconds / typical]
    )
    logs = np.log(measured)
    rough, _ = _least_squares(lambda theta: log_predicted(theta) - logs, first, loss="soft_l1")
    pulled = log_predicted(rough) + _pulled(logs - log_predicted(rough))
    theta, jacobian = _least_squares(lambda theta: log_predicted(theta) - pulled, rough, loss="linear")
    residual = log_predicted(theta) - pulled
    _check(theta, jacobian, residual)
    ratio = float(np.mean(np.exp(-residual)))
    value, replicates = (
        _losses(point, ratio=ratio, typical=typical)
        for point in (theta, theta + _steps(rows, jacobian, residual, weights=weights))
    )
    estimates = _estimates(value, replicates, n=len(rows.names), level=level)
    efficiency = replace(
        start.efficiency,
        bandwidth_fraction=estimates["bandwidth_fraction"].value,
        flop_fraction=estimates["flop_fraction"].value,
        overhead_seconds=estimates["overhead_seconds"].value,
        source=f"fitted to {len(measured)} passes",
        intervals={name: (estimate.low, estimate.high) for name, estimate in estimates.items()},
    )
    return LossesFit(cost=replace(start, efficiency=efficiency), replicates=replicates, estimates=estimates)


def _ideal_seconds(
    cost: Roofline, *, tokens: IntArray, batch: int | IntArray, context: int | IntArray
) -> tuple[FloatArray, FloatArray]:
    """Seconds to read and to compute at the datasheet's peaks, shape (K, N) for K kernels."""
    vectors = cost.efficiency.activation_vectors
    work = kernel_work(cost.model, tokens=tokens, batch=batch, context=context, activation_vectors=vectors)
    shape = np.broadcast_shapes(np.shape(tokens), np.shape(batch), np.shape(context))
    read = np.stack([np.broadcast_to(kernel.read_bytes, shape) for kernel in work])
    flop = np.stack([np.broadcast_to(kernel.flop, shape) for kernel in work])
    return read / cost.hardware.bandwidth_bytes_per_second, flop / cost.hardware.peak(cost.number_format)


def _least_squares(
    residual: Callable[[FloatArray], FloatArray], start: FloatArray, *, loss: Literal["linear", "soft_l1"]
) -> tuple[FloatArray, FloatArray]:
    """Solution within the bounds, and the Jacobian there, shapes (3,) and (N, 3)."""
    fit = optimize.least_squares(residual, start, bounds=BOUNDS, loss=loss, f_scale=SOFT_FROM)
    return np.asarray(fit.x), np.asarray(fit.jac)


def _pulled(residual: FloatArray) -> FloatArray:
    middle = np.median(residual)
    reach = CLIP_SIGMAS * 1.4826 * np.median(np.abs(residual - middle))
    return residual.clip(middle - reach, middle + reach) if reach > 0 else residual


def _check(theta: FloatArray, jacobian: FloatArray, residual: FloatArray) -> None:
    """Refuse fits that the rows do not determine."""
    _, sizes, directions = np.linalg.svd(jacobian, full_matrices=False)
    worst = NAMES[int(np.abs(directions[-1]).argmax())]
    error = np.inf if sizes[-1] < 1e-6 * sizes[0] else float(np.std(residual)) / sizes[-1]
    if error > LARGEST_ERROR:
        raise InputError(
            f"{worst} must be told by the rows, which do not: vary the tokens per pass, batch or context more, "
            "up to compute-bound passes, or calibrate with a staircase"
        )
    for name, fraction in zip(NAMES[:2], np.exp(theta[:2]), strict=True):
        if fraction > 1.99:
            raise InputError(f"{name} must be below 2, got a fit at 2: passes are faster than model and hardware allow")


def _steps(rows: Rows, jacobian: FloatArray, residual: FloatArray, *, weights: FloatArray) -> FloatArray:
    """One Gauss-Newton step for every replicate, shape (R, 3)."""
    everywhere = np.ones(len(residual), dtype=bool)
    curvature = np.stack([rows.sums(jacobian[:, i] * jacobian[:, j], everywhere) for i in range(3) for j in range(3)])
    slope = np.stack([rows.sums(jacobian[:, i] * residual, everywhere) for i in range(3)])
    matrices = (weights @ curvature.T).reshape(-1, 3, 3)
    ridge = 1e-9 * np.trace(matrices, axis1=1, axis2=2)[:, None, None] * np.eye(3)
    return np.asarray(-np.linalg.solve(matrices + ridge, (weights @ slope.T)[:, :, None])[:, :, 0])


def _losses(theta: FloatArray, *, ratio: float, typical: float) -> FloatArray:
    """Fractions and overhead, scaled together by mean measured over fitted."""
    return np.stack(
        [np.exp(theta[..., 0]) / ratio, np.exp(theta[..., 1]) / ratio, theta[..., 2] * typical * ratio], axis=-1
    )


def _estimates(value: FloatArray, replicates: FloatArray, *, n: int, level: float) -> dict[str, Estimate]:
    estimates = {}
    for place, name in enumerate(NAMES):
        scale = "linear" if name == "overhead_seconds" else "log"
        error = standard_error(replicates[:, place], n=n, scale=scale)
        estimates[name] = from_error(float(value[place]), error=error, n=n, level=level, scale=scale, low=0.0)
    return estimates
