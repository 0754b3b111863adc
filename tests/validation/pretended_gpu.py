"""A pretended GPU: tensors that say they are on cuda:0 and are computed on the CPU, as strict about devices as a GPU.

What it shows is that no step mixes devices, takes a tensor to numpy from the GPU, or asks for an option that only a
CPU has. It says nothing of memory, speed, rounding or CUDA graphs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils import backend_registration
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map_only, tree_unflatten

NAME = "Pretended GPU"
CAN_PRETEND = hasattr(backend_registration, "_setup_privateuseone_for_python_backend") and not torch.cuda.is_available()
"""Whether this torch lets a device be written in Python, and there is no real one that it would stand before."""
SHOWN, CPU = torch.device("cuda:0"), torch.device("cpu")
_aten = torch.ops.aten
_WITH_CPU = {_aten.to, _aten._to_copy, _aten.copy_}
"""Kernels of a GPU that take a tensor of the CPU beside one of theirs."""
_INDEXED = {_aten.index, _aten.index_put, _aten.index_put_}
"""Those whose indices, and nothing else, may be on the CPU."""
_IN_PLACE = {_aten.copy_, _aten.index_put_}
_INNER = torch.device("privateuseone:0")
"""The backend that torch dispatches here."""
_SHOWS = {Tensor.device.__get__: SHOWN, Tensor.is_cuda.__get__: True}

if CAN_PRETEND:  # when imported, since autograd counts the devices at a process's first backward pass, and never again

    class _Module(backend_registration._DummyBackendModule):  # type: ignore[misc]
        """Counts no device, so that nothing else in the process takes this one for an accelerator."""

        def is_available(self) -> bool:
            return False

        def device_count(self) -> int:
            return 0

    class _Hook(backend_registration._DummyPrivateUse1Hook):  # type: ignore[misc]
        def is_available(self) -> bool:
            return False

    backend_registration._setup_privateuseone_for_python_backend("pretended", backend_module=_Module(), hook=_Hook())


@contextmanager
def pretended_gpu() -> Iterator[None]:
    """Everything that is put on "cuda" meanwhile is on the pretended one."""
    swapped = torch.__future__.get_swap_module_params_on_conversion()
    cuda = patch.multiple(
        torch.cuda, is_available=lambda: True, is_bf16_supported=lambda: True, get_device_name=lambda: NAME
    )
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        with cuda, _Names(), _Kernels():
            yield
    finally:
        torch.__future__.set_swap_module_params_on_conversion(swapped)


class _OnGpu(Tensor):
    """Stands for `held`, a tensor on the CPU."""

    held: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, held: Tensor) -> _OnGpu:
        with torch.inference_mode(False):  # views of it may be made in either mode
            made = Tensor._make_wrapper_subclass(
                cls,
                held.size(),
                strides=held.stride(),
                storage_offset=held.storage_offset(),
                dtype=held.dtype,
                device=_INNER,
                requires_grad=held.requires_grad,
            )
        made.held = held
        return made

    @classmethod
    def __torch_dispatch__(cls, kernel: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(kernel, args, kwargs or {})


class _Kernels(TorchDispatchMode):
    def __torch_dispatch__(self, kernel: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(kernel, args, kwargs or {})


class _Names(TorchFunctionMode):
    """Says cuda:0 where torch knows a backend by another name."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = {key: self._place(value) if key == "device" else value for key, value in (kwargs or {}).items()}
        if function in (torch.tensor, torch.as_tensor) and kwargs.get("device") == _INNER:
            return function(*args, **kwargs | {"device": CPU}).to(_INNER)
        if function is Tensor.to:
            args = tuple(map(self._place, args))
        if not args or not isinstance(args[0], _OnGpu):
            return function(*args, **kwargs)
        if function in _SHOWS:
            return _SHOWS[function]
        if function is Tensor.numpy:
            raise TypeError("can't convert cuda:0 device type tensor to numpy")
        if function is Tensor.tolist:
            return args[0].held.tolist()
        if function in (Tensor.__getitem__, Tensor.__setitem__):
            args = (args[0], _as_tensors(args[1]), *args[2:])
        return function(*args, **kwargs)

    def _place(self, value: Any) -> Any:
        is_cuda = isinstance(value, str | torch.device) and str(value).startswith("cuda")
        return _INNER if is_cuda else value


def _run(kernel: Any, args: Any, kwargs: Any) -> Any:
    """The CPU's kernel over what is held, once it is sure that a GPU could have run it."""
    leaves, shape = tree_flatten((args, kwargs))
    given = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    places = [leaf for leaf in leaves if isinstance(leaf, torch.device)]
    ours, name = [tensor for tensor in given if isinstance(tensor, _OnGpu)], kernel.overloadpacket
    if not ours and _INNER not in places:
        return kernel(*args, **kwargs)
    together = [tensor for tensor in (args[0], *args[2:3]) if isinstance(tensor, Tensor)] if name in _INDEXED else given
    if name in _INDEXED and not isinstance(args[0], _OnGpu):
        raise RuntimeError("indices should be on the same device as the indexed tensor (cpu)")
    if ours and name not in _WITH_CPU and any(one.dim() for one in together if not isinstance(one, _OnGpu)):
        raise RuntimeError(f"Expected all tensors to be on the same device, got cuda:0 and cpu in {kernel}")
    stays = isinstance(args[0], _OnGpu) if name in _IN_PLACE else not places or places[0] == _INNER
    inner_args, inner_kwargs = tree_unflatten([_inner(leaf) for leaf in leaves], shape)
    found = kernel(*inner_args, **inner_kwargs)
    if not stays:
        return found
    known = {id(tensor.held): tensor for tensor in ours}
    return tree_map_only(Tensor, lambda one: known[id(one)] if id(one) in known else _OnGpu(one), found)


def _inner(leaf: Any) -> Any:
    if isinstance(leaf, _OnGpu):
        return leaf.held
    return CPU if isinstance(leaf, torch.device) else leaf


def _as_tensors(places: Any) -> Any:
    if isinstance(places, tuple):
        return tuple(map(_as_tensors, places))
    return torch.tensor(places) if isinstance(places, list) else places
