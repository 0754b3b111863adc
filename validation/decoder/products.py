"""Products of few rows with a weight that does not change: layouts that a CPU reads faster than torch's own."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from validation.timing import is_intel

_DTYPES = (torch.float32, torch.bfloat16)


class Layout(Protocol):
    """A weight (n, m), laid out anew."""

    def product(self, input: Tensor, bias: Tensor | None, added: Tensor | None) -> Tensor:
        """(..., n) of input (..., m), plus the bias (n) and what is `added` (..., n)."""
        ...


class OneDnn:
    """The layout of oneDNN."""

    _TOKENS = 8  # of the passes that it is chosen for

    def __init__(self, weight: Tensor) -> None:
        steps = torch.ops.mkldnn._linear_pointwise
        self._product, self._sum = steps.default, steps.binary
        self._packed = torch.ops.mkldnn._reorder_linear_weight(weight, self._TOKENS)

    def product(self, input: Tensor, bias: Tensor | None, added: Tensor | None) -> Tensor:
        """See `Layout`."""
        made: Tensor
        if added is None:
            made = self._product(input, self._packed, bias, "none", [], "")
        else:
            made = self._sum(input, added, self._packed, bias, "add")
        return made


class Mkl:
    """For float32 on Intel's processors: its longer side contiguous for one row, the layout of MKL for more.

    Notes
    -----
    It needs the size of the weight twice, where n < m once: one row is then multiplied by the weight itself, a fifth
    faster than from its columns, so it must not change. MKL packs for a number of rows and multiplies any other by the
    same copy, right but slower the further it is off.
    """

    _TOKENS = 32

    def __init__(self, weight: Tensor) -> None:
        rows, columns = weight.shape
        self._columns = weight.T.contiguous() if rows >= columns else weight.contiguous().T
        self._packed = torch.ops.mkl._mkl_reorder_linear_weight(weight, self._TOKENS)

    def product(self, input: Tensor, bias: Tensor | None, added: Tensor | None) -> Tensor:
        """See `Layout`."""
        rows, shape = input.shape[:-1].numel(), (*input.shape[:-1], self._columns.shape[1])
        made: Tensor
        if rows != 1:
            made = torch.ops.mkl._mkl_linear(input, self._packed, self._columns.T, bias, rows)
            return made if added is None else made.add_(added)
        more = added if bias is None else bias if added is None else added + bias
        row = input.reshape(1, -1)
        made = row @ self._columns if more is None else torch.addmm(more.reshape(1, -1), row, self._columns)
        return made.view(shape)


class EightBits:
    """Whole numbers of 8 bits and a scale a row, multiplied in bfloat16."""

    def __init__(self, levels: Tensor, scale: Tensor) -> None:
        self._levels, self._scale = levels, scale.to(torch.bfloat16)

    def product(self, input: Tensor, bias: Tensor | None, added: Tensor | None) -> Tensor:
        """See `Layout`."""
        made = torch.ops.aten._weight_int8pack_mm(_rows(input), self._levels, self._scale)
        return _as_asked(made, input, bias, added)


class FourBits:
    """Whole numbers of 4 bits (n, m), and for each group of them a scale and a least value, multiplied in bfloat16."""

    GROUP = 32
    ROWS = 16  # n must be a multiple

    def __init__(self, levels: Tensor, scale: Tensor, least: Tensor) -> None:
        self._packed = torch.ops.aten._convert_weight_to_int4pack_for_cpu(levels.to(torch.int32), 1)
        middle = least + 8 * scale
        self._scales = torch.stack((scale, middle), dim=-1).transpose(0, 1).to(torch.bfloat16).contiguous()

    def product(self, input: Tensor, bias: Tensor | None, added: Tensor | None) -> Tensor:
        """See `Layout`."""
        made = torch.ops.aten._weight_int4pack_mm_for_cpu(_rows(input), self._packed, self.GROUP, self._scales)
        return _as_asked(made, input, bias, added)


def _rows(input: Tensor) -> Tensor:
    return input.reshape(-1, input.shape[-1]).to(torch.bfloat16).contiguous()


def _as_asked(made: Tensor, input: Tensor, bias: Tensor | None, added: Tensor | None) -> Tensor:
    """Rows of a product in the shape and type of the input, with what is added to them."""
    found = made.view(*input.shape[:-1], -1)
    for more in (bias, added):
        found = found if more is None else found + more  # in the wider of their types
    return found.to(input.dtype)


def laid_out(weight: Tensor) -> Layout:
    """The layout that is fastest here."""
    return Mkl(weight) if _prefers_mkl(weight.dtype) else OneDnn(weight)


def can_lay_out(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether weights of this kind can be laid out anew."""
    has = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    return device.type == "cpu" and dtype in _DTYPES and has


_FASTER = {2: 4, 3: 4, 7: 8}


def filled(span: int, *, rows: int, dtype: torch.dtype) -> int:
    """Tokens a row of a pass, with some that nobody sees where more of them are multiplied in less time.

    Two or three rows of oneDNN's product take 2 to 12 % longer than four, and seven longer than eight.
    """
    wanted = rows * span if _prefers_mkl(dtype) else _FASTER.get(rows * span, rows * span)
    return span if wanted % rows else wanted // rows


def _prefers_mkl(dtype: torch.dtype) -> bool:
    """MKL multiplies floats faster than oneDNN on the processors of its maker, and slower on others."""
    return dtype is torch.float32 and is_intel() and torch.backends.mkl.is_available()
