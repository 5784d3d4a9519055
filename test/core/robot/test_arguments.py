# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bad input through the whole facade: a named error, never a number and never a foreign exception.

Every function of the state, on single samples and stacks; what else functions take; `test_robot.py`
has the messages of the everyday ones.
"""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot, ScrewDynamicsError, UnknownNameError
from screw_dynamics_ros.core.constraints.motion_constraint import (
    MotionConstraint,
    fixed_point,
    friction_pyramid,
)
from screw_dynamics_ros.core.dynamics.payload import payload_parameters
from screw_dynamics_ros.core.motion.trajectory.motion import sampled_motion
from screw_dynamics_ros.core.robot.functions import FUNCTIONS
from screw_dynamics_ros.core.simulation.simulated_robot import SimulatedRobot
from screw_dynamics_ros.core.textbook.constraints.projection import project_configuration
from support.compilation import NATIVE
from support.models import random_configuration, random_description

HOLD = fixed_point('link3', [(1, 0, 0)])
TARGET = fixed_point('link3', target=np.eye(4))
STATE = {'q', 'v', 'a', 'tau', 'jerk', 'snap'}

#: What stands for the options of a function.
OPTIONS = {'link': 'link3', 'representation': 'body', 'orientation': 'xyz', 'prescribed': 'joint1'}

#: Arguments of the facade that are not inputs of the compiled function.
OTHERS = {
    'constrained_dynamics': ('q', 'v', 'tau', HOLD),
    'payload_torques': ('q', 'v', 'a', {}),
    'geometric_sensitivity': ('q', 'v', 'a', 'joint1'),
    'linearized': ('q', 'v', 'tau'),
}


def calls() -> dict[str, tuple[object, ...]]:
    """Return what each function takes: names of vectors, or the argument itself."""
    found = {
        name: (*(x for x in f.inputs if x in STATE), *(OPTIONS[kind] for kind in f.options))
        for name, f in FUNCTIONS.items()
        if hasattr(Robot, name)
        and set(f.inputs) <= STATE | {'gravity'}
        and not name.startswith('spatial_momen')  # of floating bases only
    }
    return {**found, **OTHERS}


def build(backend: str, floating: bool) -> tuple[Robot, dict[str, np.ndarray]]:
    robot = Robot(random_description(1, 3), floating_base=floating, backend=backend)
    rng = np.random.default_rng(0)
    state = {name: rng.uniform(-1, 1, robot.nv) for name in STATE - {'q'}}
    return robot, {**state, 'q': random_configuration(robot, rng)}


def is_vector(argument: object) -> bool:
    return isinstance(argument, str) and argument in STATE


def filled(wanted: tuple[object, ...], state: dict[str, object]) -> list[object]:
    """Return arguments of a function."""
    return [state[x] if is_vector(x) else x for x in wanted]


def flat(result: object) -> np.ndarray:
    """Return all numbers of a result."""
    if hasattr(result, 'A'):
        result = result.A, result.B
    return np.concatenate(
        [np.ravel(x) for x in (result if isinstance(result, tuple) else [result])]
    )


def read_only(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.flags.writeable = False
    return x


def bad(x: np.ndarray) -> list[object]:
    """Return what no function takes for the vector x."""
    n = len(x)
    return [
        None, 1.0, np.array(1.0), [], x[:-1], np.append(x, 0.0), x[None, None], x[:, None],
        'abc', ['1'] * n, b'12', x + 1j, {'a': 1}, {1, 2}, object(), len, [[1, 2], [3]],
        [None] * n, [10**400] * n, np.zeros(n, 'M8[s]'), np.zeros((2, n + 1)), np.zeros((0, n + 1)),
    ]  # fmt: skip


CASES = pytest.mark.parametrize(
    ('backend', 'floating', 'names'),
    [
        ('reference', True, tuple(calls())),
        pytest.param(
            *NATIVE.values,
            False,
            ('inverse_dynamics', 'mass_matrix', 'link_pose', 'constrained_dynamics'),
            marks=NATIVE.marks,
        ),
    ],
)


@CASES
def test_vectors(backend, floating, names):
    """Each vector of each function in turn, before and after the first good call."""
    robot, state = build(backend, floating)
    for name in names:
        function, wanted = getattr(robot, name), calls()[name]
        good = filled(wanted, state)
        for _ in range(2):
            for k, x in enumerate(wanted):
                if is_vector(x):
                    for value in bad(state[x]):
                        with pytest.raises(ScrewDynamicsError, match=r'must h|shape'):
                            function(*good[:k], value, *good[k + 1 :])
            function(*good)


@CASES
def test_same_numbers_in_another_form(backend, floating, names):
    """Lists, NumPy's other types, other orders in memory: bitwise equal results."""
    robot, state = build(backend, floating)
    for name in names:
        wanted = calls()[name]

        def result(convert, name=name, wanted=wanted):
            vectors = {x: convert(values) for x, values in state.items()}
            return flat(getattr(robot, name)(*filled(wanted, vectors)))

        expected = result(np.copy)
        for convert in (
            np.ndarray.tolist,
            tuple,
            read_only,
            lambda x: x.astype(object),
            lambda x: x.astype('>f8'),
            lambda x: np.repeat(x, 2)[::2],
            lambda x: x[::-1].copy()[::-1],
        ):
            np.testing.assert_array_equal(result(convert), expected, name)


@pytest.mark.filterwarnings('ignore::RuntimeWarning')
@pytest.mark.parametrize('value', [np.nan, np.inf])
def test_not_finite_in_not_finite_out(value):
    """Of the first or last element of a vector, unless the result does not depend on it."""
    robot, state = build('reference', True)
    for name, wanted in calls().items():
        for x in set(filter(is_vector, wanted)):
            for k in (0, len(state[x]) - 1):
                results = []
                for element in (value, state[x][k] + 0.3):
                    changed = {**state, x: state[x].copy()}
                    changed[x][k] = element
                    results.append(flat(getattr(robot, name)(*filled(wanted, changed))))
                if np.isfinite(results[0]).all():
                    np.testing.assert_allclose(*results, rtol=1e-10, atol=1e-10, err_msg=name)


NO_WRENCHES = [
    0, [], [1, 2], 'x', {'nope': np.zeros(6)}, {3: np.zeros(6)}, {('link1',): np.zeros(6)},
    {'link1': None}, {'link1': 'push'}, {'link1': np.zeros(5)}, {'link1': np.zeros((2, 5))},
    {'link1': np.zeros((2, 3, 6))},
]  # fmt: skip


@pytest.mark.parametrize('value', NO_WRENCHES, ids=str)
def test_external_wrenches(value):
    robot, state = build('reference', False)
    q, v, a, tau = (state[x] for x in ('q', 'v', 'a', 'tau'))
    for call in (
        lambda: robot.inverse_dynamics(q, v, a, value),
        lambda: robot.forward_dynamics_derivatives(q, v, tau, value),
        lambda: robot.hybrid_dynamics(q, v, a, tau, ['joint1'], value),
        lambda: robot.constrained_dynamics(q, v, tau, HOLD, value),
    ):
        with pytest.raises(ScrewDynamicsError):
            call()


@pytest.mark.parametrize(
    ('fields', 'error', 'message'),
    [
        ({'link': ['link3']}, UnknownNameError, "no link named .'link3'."),
        ({'other': ['link1']}, UnknownNameError, "no link named .'link1'."),
        ({'expressed_in': 3}, UnknownNameError, 'no link named 3'),
        ({'name': 3}, ArgumentError, 'name of a constraint must be a text, got 3'),
        ({'unilateral': 'yes'}, ArgumentError, "unilateral must be a bool, got 'yes'"),
        ({'unilateral': []}, ArgumentError, 'unilateral must be a bool'),
        ({'acceleration': None}, ArgumentError, 'acceleration of .* real numbers'),
        ({'point': [0, 0, np.nan]}, ArgumentError, 'wrenches and point must be finite'),
        ({'wrenches': np.full((6, 1), np.inf)}, ArgumentError, 'wrenches and point must be finite'),
        ({'beta': np.zeros(2)}, ArgumentError, 'beta must be a finite number >= 0'),
        ({'alpha': [1.0]}, ArgumentError, r'alpha must be a finite number >= 0, got \[1.0\]'),
        ({'compliance': 10**400}, ArgumentError, 'compliance must be a finite number'),
    ],
)
def test_constraints(fields, error, message):
    with pytest.raises(error, match=message):
        MotionConstraint(**{'link': 'link3', 'wrenches': np.eye(6)[:, :1], **fields})


def test_numbers_of_numpy_are_numbers():
    made = MotionConstraint('link3', np.eye(6), alpha=np.float32(2.0), compliance=np.int64(1))
    assert (made.alpha, made.compliance) == (2.0, 1)


OTHER_ARGUMENTS = {
    'edges': lambda r, s: friction_pyramid('link3', [0, 0, 1], 0.5, 2.5),
    'few edges': lambda r, s: friction_pyramid('link3', [0, 0, 1], 0.5, 2),
    'coefficient': lambda r, s: friction_pyramid('link3', [0, 0, 1], 'rough'),
    'joint': lambda r, s: r.geometric_sensitivity(s['q'], s['v'], s['a'], ['joint1']),
    'stacks': lambda r, s: r.linearized(np.tile(s['q'], (2, 1)), s['v'], s['tau']),
    'step': lambda r, s: r.linearized(s['q'], s['v'], s['tau']).discretized('x'),
    'samples': lambda r, s: r.base_parameters(-1),
    'whole samples': lambda r, s: r.base_parameters(2.5),
    'seed': lambda r, s: r.base_parameters(seed='x'),
    'payloads': lambda r, s: r.payload_parameters([1]),
    'no payload': lambda r, s: payload_parameters(r.tree, None),
    'factor': lambda r, s: sampled_motion(r, [0, 1], np.zeros((2, 3))).faster('x'),
    'no link': lambda r, s: r.inverse_kinematics(np.eye(4), None),
    'tolerance': lambda r, s: r.inverse_kinematics(np.eye(4), 'link3', tolerance=np.nan),
    'damping': lambda r, s: r.inverse_kinematics(np.eye(4), 'link3', damping=None),
    'iterations': lambda r, s: r.inverse_kinematics(np.eye(4), 'link3', max_iterations='x'),
    'restarts': lambda r, s: r.inverse_kinematics(np.eye(4), 'link3', restarts=None),
    'text': lambda r, s: r.inverse_velocity(s['q'], np.ones(6), 'link3', damping='x'),
    'cutoff': lambda r, s: r.inverse_velocity(s['q'], np.ones(6), 'link3', cutoff=np.nan),
    'length': lambda r, s: r.singularity(s['q'], 'link3', length=None),
    'dt': lambda r, s: r.joint_limited_velocity(s['q'], np.ones(6), 'link3', 'x'),
    'tasks': lambda r, s: r.prioritized_velocity(s['q'], [3]),
    'no tasks': lambda r, s: r.prioritized_velocity(s['q'], None),
    'sampling time': lambda r, s: r.closed_loop('link3', s['q'], None),
    'closures': lambda r, s: r.closed_loop('link3', s['q'], 0.01, closures=[3]),
    'output': lambda r, s: r.fuse(3),
    'source': lambda r, s: r.fuse(r.substitute('mass_matrix', q=3)),
    'parameters': lambda r, s: r.fuse('mass_matrix', parameters=3),
    'size': lambda r, s: r.fuse('mass_matrix', parameters={'x': -1}),
    'projection': lambda r, s: project_configuration(r, s['q'], TARGET, max_iterations='x'),
    'no tolerance': lambda r, s: project_configuration(r, s['q'], TARGET, tolerance=None),
    'time step': lambda r, s: SimulatedRobot(r).step(s['tau'], np.nan),
    'torques': lambda r, s: SimulatedRobot(r).step(s['tau'][:2], 0.01),
    'start': lambda r, s: SimulatedRobot(r, s['q'][:2]),
    'wrench': lambda r, s: SimulatedRobot(r).step(s['tau'], 0.01, {'link3': [1.0]}),
    'gravity': lambda r, s: setattr(r, 'gravity', [10**400] * 3),
}


@pytest.mark.parametrize('case', OTHER_ARGUMENTS)
def test_other_arguments(case):
    with pytest.raises((ArgumentError, UnknownNameError)):
        OTHER_ARGUMENTS[case](*build('reference', False))
