# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Control laws: what they read and return, sums, errors with the line at fault, backends."""

import inspect
import re

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.errors import ArgumentError, NotRecordableError, UnknownNameError
from screw_dynamics_ros.core.law import (
    JOINTS,
    LAWS,
    Parameter,
    control_law,
    solve_positive_definite,
)
from screw_dynamics_ros.core.motion.laws.law_source import LawSource, options_of
from screw_dynamics_ros.core.robot.fused_kernel import INERTIA_CHANGES
from screw_dynamics_ros.core.tree.examples import planar_arm_description
from support.robots import urdf_path

GRAVITY = 9.81


@pytest.fixture(scope='module')
def arm():
    """Two joints about z, with point masses of 1 kg at the ends of links of 1 m."""
    return Robot(planar_arm_description(), gravity=(0.0, -GRAVITY, 0.0))


@control_law(
    {
        'gain': Parameter(2.0, 'N m/rad', minimum=0.0, maximum=10.0),
        'weights': Parameter(1.0, size=JOINTS),
        'offset': Parameter(0.5, 'N m', size=3),
    },
    {'integral': JOINTS, 'steps': 1},
)
def integrator(robot, state, reference, parameters, memory, *, axis=2, factor=1.0):
    """A sum over time, and a number of steps."""
    integral = memory.integral + state.dt * (reference.q - state.q)
    tau = factor * parameters.gain * parameters.weights * integral + parameters.offset[axis]
    return tau, {'integral': integral, 'steps': memory.steps + 1.0}


@control_law({'gain': Parameter(3.0)})
def damper(robot, state, reference, parameters, memory):
    return -parameters.gain * state.v


@control_law(memory={'last': JOINTS})
def keeper(robot, state, reference, parameters, memory):
    """Return its memory as it is."""
    return state.v + memory.last, memory


# --- inputs and outputs ---------------------------------------------------------------------------


def test_a_memory_is_carried_from_step_to_step(arm):
    law, target = integrator.on(arm, factor=2.0), {'q': [1.0, -2.0]}
    assert law.sizes == {
        'law_state': 1,
        'law_reference': 2,
        'law_parameters': 6,
        'law_memory': 3,
    }
    given = law.values_of({'gain': 3.0, 'weights': [1.0, 10.0], 'offset': [0.0, 0.0, 7.0]})
    np.testing.assert_array_equal(law.defaults, [2.0, 1.0, 1.0, 0.5, 0.5, 0.5])
    memory = None
    for k in range(1, 4):
        tau, memory = law.step(
            [0.0, 0.0], [9.0, 9.0], dt=0.5, reference=target, parameters=given, memory=memory
        )
        np.testing.assert_allclose(memory, [0.5 * k, -1.0 * k, k], rtol=1e-15)
        np.testing.assert_allclose(tau, [3.0 * k + 7.0, -60.0 * k + 7.0], rtol=1e-15)
    _, first = law.step([0.0, 0.0], [9.0, 9.0], reference=target)  # dt = 0
    np.testing.assert_array_equal(first, [0.0, 0.0, 1.0])


def test_only_fields_that_are_read_are_inputs(arm):
    sizes = {'state': {'tau': (2,), 'dt': (), 'wrench': (6,)}}
    sizes['reference'] = {'q': (2,), 'v': (2,), 'a': (2,), 'pose': (4, 4), 'twist': (6,)}
    sizes['reference']['wrench'] = (6,)
    for group, fields in sizes.items():
        for name, shape in fields.items():

            @control_law()
            def reader(robot, state, reference, parameters, memory):
                read = getattr({'state': state, 'reference': reference}[group], name)  # noqa: B023
                return state.q + np.sum(read)

            law = reader.on(arm)
            layouts = {'state': law.state.shapes, 'reference': law.reference.shapes}
            assert layouts == {'state': {}, 'reference': {}, group: {name: shape}}


def test_parameters_keep_their_bounds_and_shapes(arm):
    law = integrator.on(arm)
    np.testing.assert_array_equal(law.values_of({'gain': 10.0})[:1], 10.0)
    for given, reason in (
        ({'gain': 10.5}, r'gain must be in \[0.0, 10.0\], got 10.5'),
        ({'gain': -0.1}, 'gain must be in'),
        ({'gain': np.nan}, 'gain must be in'),
        ({'weights': [1.0, 2.0, 3.0]}, r'weights must have shape \(2,\), not \(3,\)'),
        ({'gian': 1.0}, "there is no 'gian'; there is gain, weights, offset"),
    ):
        with pytest.raises((ArgumentError, UnknownNameError), match=reason):
            law.values_of(given)
    for values in ({'default': 3.0, 'maximum': 2.0}, {'default': np.inf}):
        with pytest.raises(ArgumentError, match='it must be finite and in'):
            Parameter(**values)


@pytest.mark.parametrize(
    ('given', 'reason'),
    [
        ({'reference': {}}, 'integrator reads reference.q, which is not given'),
        ({'reference': {'q': [0.0]}}, r'reference: q must have shape \(2,\)'),
        ({'reference': {'q': [0, 0], 'v': [0, 0]}}, "reference: there is no 'v'; there is q"),
        ({'state': {'wrench': np.zeros(6)}}, "state: there is no 'wrench'; there is dt"),
        ({'memory': [0.0]}, 'memory must'),
        ({'parameters': [0.0]}, 'parameters must'),
    ],
)
def test_wrong_inputs_of_a_step(arm, given, reason):
    given = {'reference': {'q': [0.0, 0.0]}, **given}
    with pytest.raises((ArgumentError, UnknownNameError), match=reason):
        integrator.on(arm).step([0.0, 0.0], [0.0, 0.0], **given)


def test_declarations_are_checked():
    for parameters, memory in (
        ({'_gain': Parameter(1.0)}, {}),
        ({'a b': Parameter(1.0)}, {}),
        ({'gain': Parameter(1.0, size='links')}, {}),
        ({}, {'last': 0}),
    ):
        with pytest.raises(ArgumentError, match=r'cannot be the name|a size must be'):
            control_law(parameters, memory)(lambda *_: 0.0)


def test_options_are_those_of_the_law(arm):
    with pytest.raises(UnknownNameError, match="there is no 'lnk'; there is axis, factor"):
        integrator.on(arm, lnk='tip')
    with pytest.raises(ArgumentError, match='payload_compensation needs the option link'):
        LAWS['payload_compensation'].on(arm)
    assert options_of(['link=tip', '']) == {'link': 'tip'}
    with pytest.raises(ArgumentError, match="'link' is not name=value"):
        options_of(['link'])


# --- sums -----------------------------------------------------------------------------------------


def test_sums_add_torques_and_keep_names_apart(arm):
    law = (integrator + damper + keeper).on(arm, factor=3.0)
    assert law.law.name == 'integrator+damper+keeper'
    assert list(law.parameters.shapes)[-2:] == ['integrator.offset', 'damper.gain']
    assert list(law.memory.shapes) == ['integrator.integral', 'integrator.steps', 'keeper.last']
    tau, memory = law.step(
        [0.0, 0.0],
        [1.0, 2.0],
        dt=1.0,
        reference={'q': [1.0, 1.0]},
        parameters=law.values_of({'damper.gain': 5.0, 'integrator.gain': 1.0}),
        memory=[0.0, 0.0, 4.0, 10.0, 20.0],
    )
    np.testing.assert_allclose(tau, [3.0 + 0.5 - 5.0 + 11.0, 3.0 + 0.5 - 10.0 + 22.0])
    np.testing.assert_allclose(memory, [1.0, 1.0, 5.0, 10.0, 20.0])
    with pytest.raises(ArgumentError, match='the same name: damper, keeper, damper'):
        damper + keeper + damper


# --- faults ---------------------------------------------------------------------------------------


def two_arguments(robot, state):
    return state.q


def branch(robot, state, reference, parameters, memory):
    if state.q[0] > 0.0:  # at fault
        return state.v
    return -state.v


def exponential(robot, state, reference, parameters, memory):
    return np.exp(state.q)  # at fault


def unknown_state(robot, state, reference, parameters, memory):
    return state.qd  # at fault


def unknown_reference(robot, state, reference, parameters, memory):
    return reference.position  # at fault


def unknown_parameter(robot, state, reference, parameters, memory):
    return parameters.gain * state.q  # at fault


def unknown_memory(robot, state, reference, parameters, memory):
    return memory.integral  # at fault


def set_memory(robot, state, reference, parameters, memory):
    memory.last = state.q  # at fault
    return state.q


def unknown_function(robot, state, reference, parameters, memory):
    return robot.forward(state.q)  # at fault


def unknown_link(robot, state, reference, parameters, memory):
    return robot.jacobian(state.q, 'nose').T @ np.ones(6)  # at fault


def unknown_option(robot, state, reference, parameters, memory):
    return robot.jacobian(state.q, 'tip', frame='body').T @ np.ones(6)  # at fault


def missing_option(robot, state, reference, parameters, memory):
    return robot.jacobian(state.q).T @ np.ones(6)  # at fault


def surplus_argument(robot, state, reference, parameters, memory):
    return robot.gravity_torques(state.q, 'tip')  # at fault


def missing_argument(robot, state, reference, parameters, memory):
    return robot.coriolis_torques(state.q)  # at fault


def wrong_sizes(robot, state, reference, parameters, memory):
    return robot.gravity + state.q  # at fault


def changed_state(robot, state, reference, parameters, memory):
    q = state.q
    q -= 1.0  # at fault
    return q


REASONS = {
    branch: 'a decision about values: use np.where',
    exponential: 'np.exp cannot be recorded',
    unknown_state: "state has no 'qd'; it has q, v, tau, dt, wrench",
    unknown_reference: "reference has no 'position'; it has q, v, a, pose, twist, wrench",
    unknown_parameter: "parameters has no 'gain'; it has nothing",
    unknown_memory: "memory has no 'integral'; it has nothing",
    set_memory: 'memory.last cannot be set; return the new memory as a dict',
    unknown_function: 'a law cannot use robot.forward; it can use gravity,',
    unknown_link: "no link named 'nose'",
    unknown_option: 'robot.jacobian in a law takes q, link, representation',
    missing_option: 'robot.jacobian in a law takes q, link, representation',
    surplus_argument: 'robot.gravity_torques in a law takes q',
    missing_argument: 'robot.coriolis_torques needs q, v',
    wrong_sizes: 'operands could not be broadcast',
    changed_state: 'output array is read-only',
}


@pytest.mark.parametrize('function', REASONS, ids=lambda function: function.__name__)
def test_errors_name_the_line_at_fault(arm, function):
    lines, first = inspect.getsourcelines(function)
    (place,) = [k for k, line in enumerate(lines) if 'at fault' in line]
    expected = f'test_law.py:{first + place}: {lines[place].strip()}: {REASONS[function]}'
    for law in (control_law()(function), damper + control_law()(function)):
        with pytest.raises(NotRecordableError, match=re.escape(expected)):
            law.on(arm)


def test_a_free_base_is_the_reason_of_a_difference_of_positions():
    robot = Robot.from_urdf(urdf_path('planar_2r'), floating_base=True)
    with pytest.raises(NotRecordableError, match=r'library\.py:.*broadcast.*; q is longer than v'):
        LAWS['computed_torque'].on(robot)
    assert "RobotLaw('damper', robot=" in repr(damper.on(robot))


@pytest.mark.parametrize(
    ('result', 'reason'),
    [
        (lambda q: q[:1], r'returns torques of shape \(1,\); it must be \(2,\)'),
        (lambda q: (q, {'last': q[:1]}), r'returns last of shape \(1,\); it must be \(2,\)'),
        (lambda q: (q, {'lst': q}), r"returns the memory \['lst'\]; it has \['last'\]"),
        (lambda q: q, r"returns the memory \[\]; it has \['last'\]"),
        (lambda q: (q, q), r'a law returns torques, or torques and a dict of its memory'),
        (lambda q: (q, {'last': q}, q), r'a law returns torques, or torques and a dict'),
    ],
)
def test_errors_about_results_name_the_law(arm, result, reason):
    @control_law(memory={'last': JOINTS})
    def faulty(robot, state, reference, parameters, memory):
        return result(state.q)

    line = faulty.function.__code__.co_firstlineno
    with pytest.raises(NotRecordableError, match=rf'faulty \(test_law.py:{line}\):? {reason}'):
        faulty.on(arm)


def test_a_function_with_other_arguments_is_refused(arm):
    for law in (control_law()(lambda robot, state: state.q), damper + control_law()(two_arguments)):
        with pytest.raises(NotRecordableError, match=r'\(.*test_law.py:\d+\): .* positional arg'):
            law.on(arm)


# --- files ----------------------------------------------------------------------------------------

FILE = """
import numpy as np
from screw_dynamics_ros.core.law import control_law

@control_law()
def own(robot, state, reference, parameters, memory):
    return FACTOR * state.v
"""


def test_a_law_in_a_file_is_read_again_when_it_changes(arm, tmp_path):
    path = tmp_path / 'laws.py'
    path.touch(mode=0o600)
    path.write_text(FILE.replace('FACTOR', '2.0'))
    source = LawSource(f'gravity_compensation + {path}:own')
    law = source.law.on(arm)
    tau, _ = law.step([0.0, 0.0], [1.0, 1.0])
    np.testing.assert_allclose(tau, arm.gravity_torques([0.0, 0.0]) + 1.0)
    assert source.changed() is None
    path.write_text(FILE.replace('FACTOR', '-30.0'))
    tau, _ = source.changed().on(arm).step([0.0, 0.0], [1.0, 1.0])
    np.testing.assert_allclose(tau, arm.gravity_torques([0.0, 0.0]) - 31.0)
    for fault in ('exp', 'cbrt'):
        path.write_text(FILE.replace('FACTOR', f'np.{fault}(state.q)'))
        line = rf'laws.py:7: return np.{fault}\(state.q\) \* state.v: np.{fault} cannot'
        with pytest.raises(NotRecordableError, match=line):
            source.changed().on(arm)
    path.write_text(FILE.replace('FACTOR *', 'FACTOR ('))
    with pytest.raises(ArgumentError, match=r'law file laws\.py: SyntaxError'):
        source.changed()
    path.chmod(0o666)
    with pytest.raises(ArgumentError, match='not executed: others may write'):
        LawSource(f'{path}:own')


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('gravity', "there is no law 'gravity'; there are gravity_compensation"),
        ('no_such_module:law', "there is no module 'no_such_module'"),
        ('/no/such/file.py:law', 'law file file.py: No such file'),
        ('missing.py:law', 'law file missing.py: No such file'),
        (':law', "law ':law'"),
        ('screw_dynamics_ros.core.law:Law', "law.py has no law 'Law'"),
    ],
)
def test_laws_that_do_not_exist(text, reason):
    with pytest.raises((ArgumentError, UnknownNameError), match=reason):
        LawSource(text)


# --- programs -------------------------------------------------------------------------------------


@control_law({'stiffness': Parameter(50.0)}, {'filtered': JOINTS})
def everything(robot, state, reference, parameters, memory, *, link):
    """Functions of the robot, choices, and a solution."""
    J = robot.jacobian(state.q, link, 'hybrid')
    M = robot.mass_matrix(state.q)
    filtered = np.where(state.dt > 0.0, 0.9 * memory.filtered + 0.1 * state.tau, state.tau)
    pull = np.clip(parameters.stiffness * (reference.pose[:3, 3] - J[3:] @ state.v), -5.0, 5.0)
    tau = J[3:].T @ pull + solve_positive_definite(M, np.minimum(filtered, 1.0))
    held = robot.inverse_dynamics(state.q, state.v, 0.0 * state.v, gravity=np.zeros(3))
    return tau + held + np.linalg.norm(J) * np.sign(state.v), {'filtered': filtered}


def inputs_of(robot, rng):
    q, v, tau = rng.uniform(-1.0, 1.0, (3, robot.nv))
    given = {
        'state': {'tau': tau},
        'dt': 0.01,
        'reference': {'pose': rng.uniform(-1.0, 1.0, (4, 4))},
        'memory': rng.uniform(-1.0, 1.0, robot.nv),
    }
    return (q, v), given


def test_backends_agree():
    robots = [
        Robot.from_urdf(urdf_path('urdf/panda'), backend=backend)
        for backend in ('reference', 'python', 'native')
    ]
    laws = [everything.on(robot, link='panda_hand_tcp') for robot in robots]
    rng = np.random.default_rng(0)
    for _ in range(3):
        state, given = inputs_of(robots[0], rng)
        expected, *others = (law.step(*state, **given) for law in laws)
        for found in others:
            for x, y in zip(found, expected):
                np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)


def test_gravity_may_be_given_and_is_otherwise_that_of_the_robot(arm):
    @control_law()
    def both(robot, state, reference, parameters, memory):
        weightless = robot.inverse_dynamics(state.q, state.v, state.v, gravity=np.zeros(3))
        return weightless + robot.gravity_torques(state.q)

    q, v = [0.3, -0.8], [1.0, 2.0]
    tau, _ = both.on(arm).step(q, v)
    np.testing.assert_allclose(tau, arm.inverse_dynamics(q, v, v), rtol=1e-13)


@control_law()
def weight(robot, state, reference, parameters, memory):
    return robot.total_mass * np.ones(robot.nv)


def test_a_law_shares_a_program_with_other_outputs_and_changed_inertias(arm):
    """A mass at the tip, given as changed inertias, reaches the law."""
    law = (LAWS['gravity_compensation'] + weight).on(arm)
    point = RigidBody(1.0, np.array([1.0, 0.0, 0.0]), np.zeros((3, 3)))
    change = arm.payload_parameters({'lower': point})
    kernel = arm.fuse(
        'mass_matrix', law.torques, parameters={**law.sizes, INERTIA_CHANGES: change.size}
    )
    values = {
        'q': np.zeros(2),
        'v': np.zeros(2),
        'gravity': arm.gravity,
        'law_parameters': law.defaults,
        INERTIA_CHANGES: change,
    }
    M, tau = kernel(*(values[name] for name in kernel.inputs))
    np.testing.assert_allclose(tau, [5.0 * GRAVITY + 3.0, 2.0 * GRAVITY + 3.0])
    np.testing.assert_allclose(M, [[9.0, 4.0], [4.0, 2.0]])
