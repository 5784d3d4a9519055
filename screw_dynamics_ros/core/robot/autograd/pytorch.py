# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Functions of a robot on PyTorch tensors, with exact derivatives.

Vectors are tensors (size,) or (..., size); leading axes are samples, and broadcast. Both modes of
differentiation, `torch.func` and `torch.vmap` work; all samples are one call. Values are computed
in float64 on the CPU, and have the precision and the device of q: what comes in other precisions or
from other devices is converted there and back. Derivatives of derivatives are refused.

Configurations with free bodies: see `functions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

try:
    import torch
    from torch import Tensor
    from torch.autograd import Function
except ImportError as error:
    raise ImportError(
        'screw_dynamics_ros.core.robot.autograd.pytorch needs PyTorch, '
        'which cannot be imported: install '
        'it with "pip install torch"'
    ) from error

from ...errors import ArgumentError
from ...types import Array
from ..robot import Robot
from .functions import DifferentiableFunction, differentiable


def inverse_dynamics(robot: Robot, q: Tensor, v: Tensor, a: Tensor) -> Tensor:
    """Return the torques of a motion, (..., nv) [N m, N]; see `Robot.inverse_dynamics`."""
    return _evaluated(robot, 'inverse_dynamics', (), q, v, a)


def forward_dynamics(robot: Robot, q: Tensor, v: Tensor, tau: Tensor) -> Tensor:
    """Return the accelerations under torques, (..., nv) [rad/s^2, m/s^2]."""
    return _evaluated(robot, 'forward_dynamics', (), q, v, tau)


def gravity_torques(robot: Robot, q: Tensor) -> Tensor:
    """Return g(q), (..., nv): the torques that hold the robot still [N m, N]."""
    return _evaluated(robot, 'gravity_torques', (), q)


def coriolis_torques(robot: Robot, q: Tensor, v: Tensor) -> Tensor:
    """Return C(q, v) v, (..., nv): the centrifugal and Coriolis torques [N m, N]."""
    return _evaluated(robot, 'coriolis_torques', (), q, v)


def mass_matrix(robot: Robot, q: Tensor) -> Tensor:
    """Return M(q), (..., nv, nv) [kg m^2, kg m, kg]."""
    return _evaluated(robot, 'mass_matrix', (), q)


def kinetic_energy(robot: Robot, q: Tensor, v: Tensor) -> Tensor:
    """Return the kinetic energy, (...) [J]."""
    return _evaluated(robot, 'kinetic_energy', (), q, v)


def potential_energy(robot: Robot, q: Tensor) -> Tensor:
    """Return the potential energy in gravity, (...) [J]."""
    return _evaluated(robot, 'potential_energy', (), q)


def center_of_mass(robot: Robot, q: Tensor) -> Tensor:
    """Return the center of mass of all links in the root frame, (..., 3) [m]."""
    return _evaluated(robot, 'center_of_mass', (), q)


def link_pose(robot: Robot, q: Tensor, link: str) -> Tensor:
    """Return the pose of a link in the root frame, (..., 4, 4) [m]."""
    return _evaluated(robot, 'link_pose', (link,), q)


def jacobian(robot: Robot, q: Tensor, link: str, representation: str = 'hybrid') -> Tensor:
    """Return the Jacobian of a link, (..., 6, nv), angular rows first; see `Robot.jacobian`."""
    return _evaluated(robot, 'jacobian', (link, representation), q)


def velocity(
    robot: Robot, q: Tensor, v: Tensor, link: str, representation: str = 'hybrid'
) -> Tensor:
    """Return the twist (omega, v) of a link, (..., 6) [rad/s, m/s]; see `Robot.velocity`."""
    return _evaluated(robot, 'velocity', (link, representation), q, v)


def _evaluated(robot: Robot, name: str, options: tuple[str, ...], *given: Tensor) -> Tensor:
    """Return a function of a robot; checks and converts tensors if they are not as expected."""
    function = differentiable(robot, name, *options)
    first = given[0]
    if (
        all(type(x) is Tensor and x.dtype is torch.float64 and x.is_cpu for x in given)
        and all(x.shape[-1:] == (size,) for x, size in zip(given, function.sizes))
        and all(x.shape[:-1] == first.shape[:-1] for x in given)
    ):
        return (_Transformed if _transforming() else _Value).apply(function, *given)
    for name, x in zip(function.arguments, given):
        if not isinstance(x, Tensor):
            raise ArgumentError(f'{function.name}: {name} must be a tensor, got {type(x).__name__}')
        if x.is_complex():
            raise ArgumentError(f'{function.name}: {name} must hold real numbers, got {x.dtype}')
    function.check_shapes([tuple(x.shape) for x in given])
    try:
        batch = torch.broadcast_shapes(*(x.shape[:-1] for x in given))
    except RuntimeError:
        shapes = ', '.join(f'{n}: {tuple(x.shape)}' for n, x in zip(function.arguments, given))
        raise ArgumentError(
            f'{function.name}: leading axes must be equal or broadcast, got {shapes}'
        ) from None
    exact = [x.to(device='cpu', dtype=torch.float64).expand(*batch, x.shape[-1]) for x in given]
    found = (_Transformed if _transforming() else _Value).apply(function, *exact)
    kind = first.dtype if first.is_floating_point() else torch.float64
    return found.to(device=first.device, dtype=kind)


def _arrays(tensors: Sequence[Tensor]) -> list[Array]:
    """Return tensors as arrays that share their memory where they are contiguous."""
    return [np.ascontiguousarray(x.detach().numpy()) for x in tensors]


def _stacked(info: Any, places: Sequence[int | None], tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return tensors with the axis that is mapped over in front, repeated in those without it."""
    return [
        x.expand(info.batch_size, *x.shape) if at is None else x.movedim(at, 0)
        for at, x in zip(places, tensors)
    ]


def _always() -> bool:
    return True


#: Whether a transform of `torch.func` is at work. A class for these has a signature that PyTorch
#: examines at each call, which takes longer than all else; PyTorch asks the same function.
_transforming = getattr(torch._C, '_are_functorch_transforms_active', _always)


class _Derivatives(Function):
    """Both modes of differentiation of a value; `ctx` has the function and its arguments."""

    @staticmethod
    def backward(ctx: Any, cotangent: Tensor) -> tuple[Tensor | None, ...]:
        arguments = ctx.saved_tensors
        if _transforming() or torch.is_grad_enabled():
            return None, *_Cotangents.apply(ctx.function, cotangent, *arguments)
        return None, *_cotangents(ctx.function, cotangent, arguments)

    @staticmethod
    def jvp(ctx: Any, _: None, *rates: Tensor | None) -> Tensor:
        arguments = ctx.saved_tensors
        known = [torch.zeros_like(x) if r is None else r for x, r in zip(arguments, rates)]
        return _Tangent.apply(ctx.function, *arguments, *known)


class _Value(_Derivatives):
    """The value of a function."""

    @staticmethod
    def forward(ctx: Any, function: DifferentiableFunction, *arguments: Tensor) -> Tensor:
        ctx.function = function
        ctx.save_for_backward(*arguments)
        ctx.save_for_forward(*arguments)
        return torch.from_numpy(function.value(_arrays(arguments)))


class _Transformed(_Derivatives):
    """The value of a function, within transforms of `torch.func`."""

    @staticmethod
    def forward(function: DifferentiableFunction, *arguments: Tensor) -> Tensor:
        return torch.from_numpy(function.value(_arrays(arguments)))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.function, *arguments = inputs
        ctx.save_for_backward(*arguments)
        ctx.save_for_forward(*arguments)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> tuple[Tensor, int]:
        function, *arguments = inputs
        return _Transformed.apply(function, *_stacked(info, in_dims[1:], arguments)), 0


def _cotangents(
    function: DifferentiableFunction, cotangent: Tensor, arguments: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """Return the cotangents of the arguments."""
    found = function.cotangents(_arrays(arguments), *_arrays([cotangent]))
    return tuple([torch.from_numpy(x) for x in found])


class _Once(Function):
    """A derivative, which is not differentiated again."""

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.function = inputs[0]

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> tuple[Tensor | None, ...]:
        raise refusal(ctx.function)

    @staticmethod
    def jvp(ctx: Any, *rates: Any) -> Any:
        raise refusal(ctx.function)


class _Cotangents(_Once):
    """The cotangents of the arguments, for the cotangent of the value."""

    @staticmethod
    def forward(
        function: DifferentiableFunction, cotangent: Tensor, *arguments: Tensor
    ) -> tuple[Tensor, ...]:
        return _cotangents(function, cotangent, arguments)

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], *inputs: Any
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        function, *tensors = inputs
        found = _Cotangents.apply(function, *_stacked(info, in_dims[1:], tensors))
        return found, (0,) * len(found)


class _Tangent(_Once):
    """The rate of the value, for rates of the arguments."""

    @staticmethod
    def forward(function: DifferentiableFunction, *arguments_and_rates: Tensor) -> Tensor:
        arrays, count = _arrays(arguments_and_rates), len(function.arguments)
        return torch.from_numpy(function.tangent(arrays[:count], arrays[count:]))

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> tuple[Tensor, int]:
        function, *tensors = inputs
        return _Tangent.apply(function, *_stacked(info, in_dims[1:], tensors)), 0


def refusal(function: DifferentiableFunction) -> Exception:
    """Return the error for a second derivative."""
    return NotImplementedError(
        f'{function.name}: second derivatives are not available; differentiate once, or detach '
        'values that are not to be differentiated again'
    )
