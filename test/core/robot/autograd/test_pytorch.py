# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Functions of a robot in PyTorch: derivatives in both modes, `vmap`, precision, refusals."""

from __future__ import annotations

import pytest

torch = pytest.importorskip('torch')

from screw_dynamics_ros.core import ArgumentError, Robot, UnknownNameError  # noqa: E402
from screw_dynamics_ros.core.robot.autograd import pytorch  # noqa: E402
from screw_dynamics_ros.core.robot.autograd.functions import FUNCTIONS  # noqa: E402
from support.compilation import close  # noqa: E402
from support.gradient_cases import count, link_options, random_arguments  # noqa: E402
from support.models import random_description  # noqa: E402


@pytest.fixture(scope='module')
def arm():
    """Python code compiles at once; that machine code is the same is shown elsewhere."""
    return Robot(random_description(1, 4, mimic=1), backend='python')


@pytest.fixture(scope='module')
def flying():
    return Robot(random_description(3, 1), floating_base=True, backend='python')


def arguments(robot, name='inverse_dynamics', stack=(), seed=0):
    return [torch.tensor(x) for x in random_arguments(robot, name, stack, seed)]


def function_of(robot, name):
    return lambda *x: getattr(pytorch, name)(robot, *x[: count(name)], *link_options(robot, name))


def test_every_function_is_there():
    assert all(callable(getattr(pytorch, name)) for name in FUNCTIONS)


@pytest.mark.parametrize('name', FUNCTIONS)
@pytest.mark.parametrize('robot', ['arm', 'flying'])
def test_both_modes_against_differences(robot, name, request):
    robot = request.getfixturevalue(robot)
    given = [x.requires_grad_() for x in arguments(robot, name)]
    assert torch.autograd.gradcheck(function_of(robot, name), given, check_forward_ad=True)


@pytest.mark.parametrize('name', ['inverse_dynamics', 'forward_dynamics'])
@pytest.mark.parametrize('transform', [torch.func.jacrev, torch.func.jacfwd])
def test_jacobians_are_those_of_the_robot(arm, name, transform):
    given = arguments(arm, name)
    found = transform(function_of(arm, name), argnums=(0, 1, 2))(*given)
    expected = getattr(arm, f'{name}_derivatives')(*(x.numpy() for x in given))
    for x, D in zip(found, expected):
        close(x.numpy(), D, 1e-10)


@pytest.mark.parametrize('name', FUNCTIONS)
def test_vmap_and_stacks_are_the_loop(flying, name):
    given = arguments(flying, name, (2, 3))
    f = function_of(flying, name)
    assert torch.equal(torch.func.vmap(torch.func.vmap(f))(*given), f(*given))

    def loss(*x):
        return f(*x).square().sum()

    mapped = torch.func.vmap(torch.func.vmap(torch.func.grad(loss)))(*given)
    whole = [x.clone().requires_grad_() for x in given]
    loss(*whole).backward()
    close(mapped.numpy(), whole[0].grad.numpy())
    one = [x[1, 2].clone().requires_grad_() for x in given]
    loss(*one).backward()
    close(mapped[1, 2].numpy(), one[0].grad.numpy(), 1e-11)


def test_vmap_over_some_arguments(arm):
    q, v, a = arguments(arm)
    V = torch.stack([v, 2 * v], dim=1)
    found = torch.func.vmap(pytorch.inverse_dynamics, in_dims=(None, None, 1, None))(arm, q, V, a)
    assert torch.equal(found[1], pytorch.inverse_dynamics(arm, q, 2 * v, a))
    tangents = torch.func.vmap(
        lambda t: torch.func.jvp(lambda x: pytorch.gravity_torques(arm, x), (q,), (t,))[1]
    )(torch.eye(arm.nv, dtype=torch.float64))
    close(tangents.numpy().T, torch.func.jacrev(pytorch.gravity_torques, 1)(arm, q).numpy())


def test_leading_axes_broadcast(arm):
    q, v, a = arguments(arm, stack=(3,))
    one = a[0].clone().requires_grad_()
    tau = pytorch.inverse_dynamics(arm, q[None], v[:, None], one)
    assert tau.shape == (3, 3, arm.nv)
    tau.sum().backward()
    assert one.grad.shape == (arm.nv,)
    close(one.grad.numpy(), 3 * sum(arm.mass_matrix(x).sum(0) for x in q.numpy()), 1e-11)


def test_tensors_that_are_not_contiguous(arm):
    q, v, a = arguments(arm, stack=(5,))
    apart = [torch.stack([x, x], dim=-1)[..., 0] for x in (q, v, a)]
    assert not apart[0].is_contiguous()
    assert torch.equal(
        pytorch.inverse_dynamics(arm, *apart), pytorch.inverse_dynamics(arm, q, v, a)
    )


def test_only_what_needs_a_gradient_gets_one(arm):
    q, v, a = arguments(arm)
    v.requires_grad_()
    assert not pytorch.gravity_torques(arm, q).requires_grad
    pytorch.inverse_dynamics(arm, q, v, a).sum().backward()
    assert q.grad is None
    assert v.grad is not None
    with torch.no_grad():
        assert not pytorch.inverse_dynamics(arm, q, v, a).requires_grad


@pytest.mark.parametrize('kind', [torch.float32, torch.float16])
def test_lower_precision_is_converted_there_and_back(arm, kind):
    q, v, a = (x.to(kind).requires_grad_() for x in arguments(arm))
    tau = pytorch.inverse_dynamics(arm, q, v, a)
    assert tau.dtype == kind
    tau.sum().backward()
    assert q.grad.dtype == kind
    exact = arm.inverse_dynamics(*(x.detach().double().numpy() for x in (q, v, a)))
    close(tau.detach().double().numpy(), exact, 1e-6 if kind == torch.float32 else 2e-3)


def test_whole_numbers_are_numbers(arm):
    q = torch.ones(arm.nv, dtype=torch.int64)
    assert torch.equal(pytorch.gravity_torques(arm, q), pytorch.gravity_torques(arm, q.double()))


def test_second_derivatives_are_refused(arm):
    (q,) = arguments(arm, 'potential_energy')
    q.requires_grad_()
    (gradient,) = torch.autograd.grad(pytorch.potential_energy(arm, q), q, create_graph=True)
    with pytest.raises(NotImplementedError, match='potential_energy: second derivatives are not'):
        gradient.sum().backward()
    with pytest.raises(NotImplementedError, match='second derivatives are not available'):
        torch.func.hessian(lambda x: pytorch.potential_energy(arm, x))(q.detach())


def test_an_argument_changed_in_place_is_noticed(arm):
    q, v, a = arguments(arm)
    a.requires_grad_()
    tau = pytorch.inverse_dynamics(arm, q, v, a)
    q += 1.0
    with pytest.raises(RuntimeError, match='modified by an inplace operation'):
        tau.sum().backward()


def test_nan_gives_nan(arm):
    q = torch.full((arm.nv,), torch.nan, dtype=torch.float64, requires_grad=True)
    pytorch.potential_energy(arm, q).backward()
    assert q.grad.isnan().any()


def test_bad_arguments_are_refused(arm):
    q, v, a = arguments(arm)
    with pytest.raises(ArgumentError, match=r'q must have shape \(\.\.\., 3\), got \(2,\); the or'):
        pytorch.inverse_dynamics(arm, q[:2], v, a)
    with pytest.raises(ArgumentError, match=r'a must have shape \(\.\.\., 3\), got \(\)'):
        pytorch.inverse_dynamics(arm, q, v, a[0])
    with pytest.raises(ArgumentError, match='v must be a tensor, got ndarray'):
        pytorch.inverse_dynamics(arm, q, v.numpy(), a)
    with pytest.raises(ArgumentError, match=r'q must hold real numbers, got torch\.complex128'):
        pytorch.gravity_torques(arm, q.to(torch.complex128))
    with pytest.raises(ArgumentError, match='leading axes must be equal or broadcast'):
        pytorch.inverse_dynamics(arm, q.expand(2, -1), v.expand(3, -1), a)
    with pytest.raises(ArgumentError, match='robot must be a Robot'):
        pytorch.gravity_torques(q, arm)
    with pytest.raises(UnknownNameError, match="no link named 'nowhere'"):
        pytorch.link_pose(arm, q, 'nowhere')


def test_a_robot_is_learned_from_torques(arm):
    """An optimizer finds the accelerations of torques, as forward dynamics has them."""
    q, v, tau = arguments(arm, 'forward_dynamics')
    a = torch.zeros(arm.nv, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([a], max_iter=50, line_search_fn='strong_wolfe')

    def closure():
        optimizer.zero_grad()
        loss = (pytorch.inverse_dynamics(arm, q, v, a) - tau).square().sum()
        loss.backward()
        return loss

    for _ in range(5):
        optimizer.step(closure)
    close(a.detach().numpy(), pytorch.forward_dynamics(arm, q, v, tau).numpy(), 1e-4)
