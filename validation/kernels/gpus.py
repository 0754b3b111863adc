"""The GPUs of the measured tables."""

from __future__ import annotations

from dataclasses import dataclass

from specsim import checks


@dataclass(frozen=True, kw_only=True, slots=True)
class Gpu:
    """A GPU with tables.

    Parameters
    ----------
    folder : str
        Its folder in the tables.
    name : str
        Its name in the catalogue.
    processors : int
        Streaming multiprocessors that are switched on: white papers of A100, H100, Ada and RTX PRO Blackwell, what
        devices report for the others; Xe cores on Intel's. Only scales of coefficients depend on it [1].
    """

    folder: str
    name: str
    processors: int


GPUS = {
    gpu.folder: gpu
    for gpu in (
        Gpu(folder="a100_sxm", name="A100-SXM-80GB", processors=108),
        Gpu(folder="h100_sxm", name="H100-SXM", processors=132),
        Gpu(folder="h200_sxm", name="H200-SXM", processors=132),
        Gpu(folder="b200_sxm", name="B200-SXM", processors=148),
        Gpu(folder="b300_sxm", name="B300-SXM", processors=148),
        Gpu(folder="gb200", name="GB200-NVL72", processors=152),
        Gpu(folder="gb300", name="GB300-NVL72", processors=152),
        Gpu(folder="l40s", name="L40S", processors=142),
        Gpu(folder="rtx_pro_6000_server", name="RTX-PRO-6000-Server", processors=188),
        Gpu(folder="b60", name="Arc-Pro-B60", processors=20),
    )
}
ENGINES = ("vllm", "sglang", "trtllm")


def gpu(name: str) -> Gpu:
    """A GPU by its folder or its catalogue name.

    Raises
    ------
    InputError
        An unknown name; the message lists the known ones.

    Examples
    --------
    >>> gpu("H100-SXM").folder, gpu("h100_sxm").processors
    ('h100_sxm', 132)
    """
    folders = {each.name: each.folder for each in GPUS.values()}
    known = {**dict(zip(GPUS, GPUS, strict=True)), **folders}
    return GPUS[known[checks.one_of("GPU with kernel tables", name, known)]]
