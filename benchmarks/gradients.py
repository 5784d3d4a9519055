# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Gradients through PyTorch and JAX, beside frax, which is written in JAX, and beside differences.

The robot is frax's own 7-joint Panda. frax and our functions of JAX run in one process, in float64,
with the settings that frax recommends for processors, compiled by `jax.jit`. What is missing
(`requirements/learning.txt`) is left out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from figures import NAN, Figure, compared
from timing import loop, measure

from screw_dynamics_ros.core import Robot

ROBOT, GROUP = 'Panda, 7 dof', 'Gradients'
STACK, STEPS = 4096, 100
FRAX, DIFFERENCES = 'frax', 'central differences of ours'
REQUIRED = {FRAX: 50.0}
FLAGS = (
    '--xla_cpu_multi_thread_eigen=false',
    '--xla_cpu_scheduler_type=CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED',
)


def figures(quick: bool) -> Iterator[Figure]:
    """Measure what is installed."""
    missing = [name for name in ('jax', 'frax') if find_spec(name) is None]
    if missing:
        print(f'gradients: {", ".join(missing)} missing; see requirements/learning.txt')
        return
    os.environ['JAX_ENABLE_X64'] = '1'
    os.environ['XLA_FLAGS'] = ' '.join([os.environ.get('XLA_FLAGS', ''), *FLAGS]).strip()
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
    from frax.assets import FRANKA_ASSETS_DIR
    from frax.robots.franka_panda import load_panda

    robot = Robot.from_urdf(FRANKA_ASSETS_DIR / 'panda.urdf')
    panda = load_panda()
    repeats = 5 if quick else 40
    yield error_of_gradients(robot)
    yield from in_jax(robot, panda, repeats)
    if find_spec('torch') is None:
        print('gradients: torch missing; see requirements/learning.txt', file=sys.stderr)
        return
    yield from in_pytorch(robot, panda, repeats)


def states(robot: Robot, *stack: int) -> list[np.ndarray]:
    """Return [q, v, a] and weights of torques."""
    rng = np.random.default_rng(0)
    return list(rng.uniform(-1.0, 1.0, (4, *stack, robot.nv)))


def frax_torques(panda: Any, robot: Robot) -> Any:
    """Return frax's inverse dynamics, checked against ours."""
    import jax.numpy as jnp

    q, v, a, _ = states(robot)
    expected = robot.inverse_dynamics(q, v, a)
    for gravity in ([0, 0, 9.81, 0, 0, 0], [0, 0, 0, 0, 0, 9.81]):
        for sign in (1.0, -1.0):
            acceleration = sign * jnp.array(gravity, dtype=float)

            def torques(q: Any, v: Any, a: Any, acceleration: Any = acceleration) -> Any:
                return panda.rnea(q, v, a, acceleration, None)

            if np.allclose(torques(*map(jnp.array, (q, v, a))), expected, rtol=1e-6, atol=1e-6):
                return torques
    raise RuntimeError('frax and ours have different torques')


def error_of_gradients(robot: Robot) -> Figure:
    """Return the largest relative error of gradients through JAX, against Pinocchio."""
    import jax
    import jax.numpy as jnp
    import pinocchio as pin
    from frax.assets import FRANKA_ASSETS_DIR

    from screw_dynamics_ros.core.robot.autograd.jax import forward_dynamics, inverse_dynamics

    model = pin.buildModelFromUrdf(str(FRANKA_ASSETS_DIR / 'panda.urdf'))
    data, worst = model.createData(), 0.0
    assert list(model.names)[1:] == list(robot.joint_names)
    jacobians = [
        jax.jit(jax.jacrev(lambda q, v, x, f=f: f(robot, q, v, x), argnums=(0, 1, 2)))
        for f in (inverse_dynamics, forward_dynamics)
    ]
    for q, v, a in zip(*states(robot, 20)[:3]):
        for jacobian, differentiate in zip(
            jacobians, (pin.computeRNEADerivatives, pin.computeABADerivatives)
        ):
            expected = differentiate(model, data, q, v, a)  # in memory that the other one uses too
            for x, D in zip(jacobian(*map(jnp.array, (q, v, a))), expected):
                full = np.triu(D) + np.triu(D, 1).T if not np.tril(D, -1).any() else D
                worst = max(worst, float(np.linalg.norm(x - full) / np.linalg.norm(full)))
    return Figure(
        GROUP,
        ROBOT,
        'largest relative error, against Pinocchio',
        worst,
        unit='',
        required=1e-10,
        meaning='ours at most',
        fails=True,
    )


def in_jax(robot: Robot, panda: Any, repeats: int) -> Iterator[Figure]:
    """Measure programs of JAX that differ in who computes the dynamics."""
    import jax
    import jax.numpy as jnp

    from screw_dynamics_ros.core.robot.autograd.jax import forward_dynamics, inverse_dynamics

    torques = frax_torques(panda, robot)

    def accelerations(q: Any, v: Any, tau: Any) -> Any:
        return panda.forward_dynamics(q, v, tau, None)

    sides = {
        'inverse dynamics': (lambda *x: inverse_dynamics(robot, *x), torques),
        'forward dynamics': (lambda *x: forward_dynamics(robot, *x), accelerations),
    }
    single, stack = ([jnp.array(x) for x in states(robot, *size)] for size in ((), (STACK,)))
    for name, (ours, theirs) in sides.items():

        def gradient(f: Any) -> Any:
            return jax.grad(lambda q, v, x, y: f(q, v, x) @ y, argnums=(0, 1, 2))

        def steps(f: Any) -> Any:
            def step(q: Any, _: None, f: Any = f) -> tuple[Any, None]:
                return q - 1e-6 * gradient(f)(q, *single[1:])[0], None

            return lambda q: jax.lax.scan(step, q, length=STEPS)[:1]

        kinds = [
            ('one sample', gradient, single, 1),
            (f'one of {STEPS} steps in a compiled loop', steps, single[:1], STEPS),
            (f'one of {STACK} samples', lambda f: jax.vmap(gradient(f)), stack, STACK),
        ]
        if name == 'forward dynamics':
            kinds.pop()  # XLA did not finish compiling frax's
        for kind, transform, arguments, count in kinds:
            runs = {'ours': jax.jit(transform(ours)), FRAX: jax.jit(transform(theirs))}
            results = [f(*arguments)[0] for f in runs.values()]
            assert np.allclose(*results, rtol=1e-5, atol=1e-5), (name, kind)
            yield from timed(
                f'JAX: gradient of {name}, {kind}', runs, arguments, count, repeats, REQUIRED
            )
        runs = {
            'ours': jax.jit(jax.jacrev(ours, argnums=(0, 1, 2))),
            FRAX: jax.jit(jax.jacfwd(theirs, argnums=(0, 1, 2))),
        }
        yield from timed(
            f'JAX: derivative matrices of {name}, one sample',
            runs,
            single[:3],
            1,
            repeats,
            REQUIRED,
        )


def timed(
    name: str,
    runs: dict[str, Any],
    arguments: list[Any],
    count: int,
    repeats: int,
    required: dict[str, float],
) -> list[Figure]:
    """Return figures of compiled functions, in microseconds for each of `count` samples."""
    times = measure(
        {
            peer: loop('wait(f(*x))', f=f, x=tuple(arguments), wait=waited)
            for peer, f in runs.items()
        },
        repeats=repeats,
        seconds=2e-3,
    )
    return compared(GROUP, ROBOT, name, times, scale=1e6 / count, required=required)


def waited(outputs: Any) -> None:
    """Wait for the outputs of a function of JAX."""
    outputs[0].block_until_ready()


def in_pytorch(robot: Robot, panda: Any, repeats: int) -> Iterator[Figure]:
    """Measure gradients through PyTorch, beside frax in JAX and differences of our torques."""
    import jax
    import jax.numpy as jnp
    import torch

    from screw_dynamics_ros.core.robot.autograd.pytorch import inverse_dynamics

    torques = frax_torques(panda, robot)
    theirs = jax.grad(lambda q, v, x, y: torques(q, v, x) @ y, argnums=(0, 1, 2))
    for kind, size, f in (
        ('one sample', (), jax.jit(theirs)),
        (f'one of {STACK} samples', (STACK,), jax.jit(jax.vmap(theirs))),
    ):
        arrays = states(robot, *size)
        given = tuple(torch.tensor(x, requires_grad=True) for x in arrays[:3])
        y = torch.tensor(arrays[3])

        def gradient(given: Any = given, y: Any = y) -> Any:
            return torch.autograd.grad(inverse_dynamics(robot, *given), given, y)

        def engine(given: Any = given, y: Any = y) -> Any:
            return torch.autograd.grad(given[0] + given[1] + given[2], given, y)

        def differences(arrays: Any = arrays) -> Any:
            return difference_gradient(robot, arrays)

        close = np.allclose(gradient()[0], differences()[0], rtol=1e-5, atol=1e-5)
        assert close, kind
        times = measure(
            {
                'ours': loop('f()', f=gradient),
                FRAX: loop('wait(f(*x))', f=f, x=tuple(map(jnp.array, arrays)), wait=waited),
                DIFFERENCES: loop('f()', f=differences),
                'ours: gradient of a sum in PyTorch': loop('f()', f=engine),
            },
            repeats=repeats,
            seconds=2e-3,
        )
        count = size[0] if size else 1
        required = {**REQUIRED, DIFFERENCES: NAN}
        name = f'PyTorch: gradient of inverse dynamics, {kind}'
        yield from compared(GROUP, ROBOT, name, times, scale=1e6 / count, required=required)


def difference_gradient(robot: Robot, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Return the gradient of weighted torques by central differences, one call for each array."""
    *given, y = arrays
    h, n = 1e-6, robot.nv
    steps = np.concatenate([h * np.eye(n), -h * np.eye(n)])
    found = []
    for k in range(len(given)):
        moved = [np.repeat(x[..., None, :], 2 * n, axis=-2) for x in given]
        moved[k] = moved[k] + steps
        tau = robot.inverse_dynamics(*(x.reshape(-1, n) for x in moved))
        values = (tau.reshape(*y.shape[:-1], 2 * n, n) @ y[..., None])[..., 0]
        found.append((values[..., :n] - values[..., n:]) / (2.0 * h))
    return found
