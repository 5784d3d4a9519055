# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bodies in absolute coordinates: cost against the number of bodies, and beside joint coordinates.

An evaluation is that of the accelerations of index 1. Dense solving takes the same rows, puts them
into the full matrix of 6 n + m equations and gives the same accelerations.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from figures import Figure, compared
from scipy.linalg import block_diag
from timing import Times, loop, measure, ratio

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.urdf import read_urdf
from screw_dynamics_ros.core.integration import RungeKutta
from screw_dynamics_ros.core.mechanisms.absolute_coordinates import (
    GROUND,
    REVOLUTE,
    AbsoluteBody,
    AbsoluteSystem,
    ConstraintJoint,
    frame,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.body_equations import (
    BodyEquations,
    JointEquations,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.example_systems import box
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.from_description import absolute_system
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.system import MAX_RECORDED_BODIES
from support.robots import urdf_path

LENGTHS = (1, 10, 32, 100, 300, 1000)
MOST_COMPILED, MOST_DENSE = 32, 300
#: Time of 1000 bodies over that of 100: ten if the growth is linear.
NEAR_LINEAR = 15.0
GROUP = 'Accelerations in absolute coordinates'


def figures(quick: bool) -> Iterator[Figure]:
    """Measure chains of bodies on revolute joints, and steps of an arm."""
    for n in LENGTHS[:4] if quick else LENGTHS:
        system = chain(n, 'sparse')
        q, v = system.configuration, np.random.default_rng(1).uniform(-1.0, 1.0, 6 * n)
        call = 'system.forward_dynamics(q, v)'
        runs = {'sparse': loop(call, system=system, q=q, v=v)}
        if n <= MOST_COMPILED:
            runs['compiled'] = loop(call, system=chain(n, 'native'), q=q, v=v)
        if n <= MOST_DENSE:
            dense, expected = Dense(system), system.forward_dynamics(q, v)
            np.testing.assert_allclose(dense(q, v), expected, atol=1e-8 * np.abs(expected).max())
            runs['dense'] = loop('dense(q, v)', dense=dense, q=q, v=v)
        times = measure(runs, repeats=15 if quick else 40)
        yield from compared_ways(f'{n} bodies' if n > 1 else '1 body', times, n)
    if not quick:
        yield growth(100)
    yield from steps_of_an_arm(15 if quick else 40)


def compared_ways(what: str, times: dict[str, Times], n: int) -> Iterator[Figure]:
    """Compare what 'auto' takes with dense solving, and the other way with what 'auto' takes."""
    ways = {'compiled': 'compiled', 'sparse': 'sparse matrices'}
    chosen = 'compiled' if n <= MAX_RECORDED_BODIES else 'sparse'
    for way, name in ways.items():
        if way not in times:
            continue
        peers = {'numpy.linalg.solve, same rows': 'dense'}
        if way != chosen:
            peers = {f'ours, {ways[chosen]}': chosen}
        if way == chosen and 'dense' not in times:
            yield Figure(GROUP, what, name, 1e6 * times[way].median, 1e6 * times[way].p99)
            continue
        pairs = {'ours': times[way]} | {peer: times[key] for peer, key in peers.items()}
        yield from compared(GROUP, what, name, pairs)


def chain(n: int, backend: str) -> AbsoluteSystem:
    """Return n boxes in a row on revolute joints with arbitrary axes, the first on the ground."""
    axes = np.random.default_rng(5).normal(size=(n, 3))
    q = np.zeros((n, 7))
    q[:, 0], q[:, 6] = 0.1 + 0.2 * np.arange(n), 1.0
    bodies = [AbsoluteBody(f'body {k}', box((0.2, 0.1, 0.05))) for k in range(n)]
    joints = [
        ConstraintJoint(
            f'joint {k}',
            REVOLUTE,
            f'body {k - 1}' if k else GROUND,
            f'body {k}',
            frame((0.1, 0.0, 0.0) if k else (0.0, 0.0, 0.0), axis),
            frame((-0.1, 0.0, 0.0), axis),
        )
        for k, axis in enumerate(axes)
    ]
    return AbsoluteSystem(bodies, joints, configuration=q.reshape(-1), backend=backend)


class Dense:
    """The same equations, solved as a dense matrix: what there is without elimination by bodies."""

    def __init__(self, system: AbsoluteSystem) -> None:
        self.bodies = BodyEquations(system.bodies)
        self.joints = JointEquations(system.bodies, system.joints, ())
        self.gravity = system.gravity
        n, m = system.nv, system.constraint_count
        self.n, self.rows = n, np.arange(m)[:, None]
        self.columns = (6 * self.joints.bodies[..., None] + np.arange(6)).reshape(m, -1)
        self.J = np.zeros((m, n + 6))  # the last six columns are those of the ground
        self.matrix = np.zeros((n + m, n + m))
        self.matrix[:n, :n] = block_diag(*self.bodies.M)

    def __call__(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the accelerations (6 n,) of bodies in SE(3)."""
        motion, n = self.bodies.motion(q, v), self.n
        forces = self.bodies.velocity_forces(motion) + self.bodies.weights(motion, self.gravity)
        blocks, eta = self.joints.rows(motion)
        self.J[self.rows, self.columns] = blocks.reshape(len(blocks), -1)
        self.matrix[n:, :n], self.matrix[:n, n:] = self.J[:, :n], self.J[:, :n].T
        return np.linalg.solve(self.matrix, np.concatenate([forces.reshape(-1), eta]))[:n]


def growth(repeats: int) -> Figure:
    """Return how many times longer 1000 bodies take than 100, measured in turns."""
    runs = {}
    for n in (1000, 100):
        system = chain(n, 'sparse')
        q, v = system.configuration, np.zeros(system.nv)
        runs[f'{n}'] = loop('system.forward_dynamics(q, v)', system=system, q=q, v=v)
    times = measure(runs, repeats=repeats)
    found = ratio(times['100'], times['1000'])
    return Figure(
        GROUP,
        '1000 bodies',
        'growth from 100 bodies, sparse matrices',
        1e6 * times['1000'].median,
        1e6 * times['1000'].p99,
        'ours, 100 bodies',
        1e6 * times['100'].median,
        1e6 * times['100'].p99,
        'us',
        found.median,
        found.low,
        found.high,
        NEAR_LINEAR,
        'ratio at most',
        note=f'with the {np.log10(found.median):.2f}th power of the number of bodies',
    )


def steps_of_an_arm(repeats: int) -> Iterator[Figure]:
    """Compare a step of an arm in joint coordinates with one in absolute coordinates."""
    description = read_urdf(urdf_path('panda'))
    robot, system = Robot(description), absolute_system(description)
    call = 'integrator.step(q, v, tau, 1e-3)'
    times = measure(
        {
            'ours': loop(
                call,
                integrator=RungeKutta(system),
                q=system.configuration,
                v=np.zeros(system.nv),
                tau=np.zeros(system.nv),
            ),
            'ours, joint coordinates': loop(
                call,
                integrator=RungeKutta(robot),
                q=robot.neutral(),
                v=np.zeros(robot.nv),
                tau=np.zeros(robot.nv),
            ),
        },
        repeats=repeats,
    )
    bodies = f'{len(system.bodies)} bodies, {system.constraint_count} constraints'
    yield from compared('Steps', 'Panda', 'step of order 4', times, note=bodies)
