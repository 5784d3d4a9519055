# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The node `controller`: torques of laws, references, gains, and laws that change on disk."""

import os
import re

import numpy as np
import pytest
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from screw_dynamics_ros.core import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.law import LAWS
from screw_dynamics_ros.core.motion.laws.law_source import LawSource
from screw_dynamics_ros.ros.status import Level
from support.controlled import MS, TOOL, URDF
from support.host_bench import Bench
from support.loop_bench import LoopBench
from support.messages import pose_message, wrench_message
from support.robots import urdf_path

FILE = """
from screw_dynamics_ros.core.law import JOINTS, Parameter, control_law

@control_law({'gain': Parameter(2.0, minimum=0.0, maximum=9.0)}, {'count': 1})
def mine(robot, state, reference, parameters, memory):
    return FACTOR * parameters.gain * (reference.q - state.q), {'count': memory.count + 1.0}
"""


def expected(made, law, link=None, **reference):
    """Return the torques that the law has outside of the node."""
    on = LAWS[law].on(made.robot, **({'link': link} if link else {}))
    return on.step(made.q, made.v, reference=reference)[0]


def test_torques_and_gains(control):
    made = control('gravity_compensation')
    made.torque()  # the first one is zero
    np.testing.assert_allclose(made.torque(), expected(made, 'gravity_compensation'), rtol=1e-12)
    assert made.set(gains__damping=[3.0]).successful
    found = made.torque()
    np.testing.assert_allclose(found, made.robot.gravity_torques(made.q) - 3.0 * made.v)
    each = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert made.set(gains__damping=each).successful
    found = made.torque()
    np.testing.assert_allclose(found, made.robot.gravity_torques(made.q) - each * made.v)
    for wrong, reason in (([1.0, 2.0], 'one number or 6'), ([-1.0], 'gains.damping')):
        result = made.set(gains__damping=wrong)
        assert not result.successful
        assert reason in result.reason
    np.testing.assert_array_equal(made.torque(), found)


def test_limits_of_commands_hold(control):
    made = control('joint_impedance', effort_limit_factor=0.1)
    made.torque()
    message = JointTrajectory(joint_names=list(made.joints))
    message.points.append(JointTrajectoryPoint(positions=(made.q + 3.0).tolist()))
    made.part.reference.receive(message)
    limits = 0.1 * made.robot.limits.effort
    assert (np.abs(made.torque()) <= limits).all()
    assert np.isclose(np.abs(made.torque()), limits).any()


def test_the_robot_is_held_where_it_was_enabled(control):
    made = control('joint_impedance', enabled=False)
    made.torque(made.q + 1.0)
    assert made.set(enabled=True).successful
    start = made.q.copy()
    made.torque()
    made.q = made.q + 0.05
    found = made.torque()
    wanted = expected(made, 'joint_impedance', q=start)
    np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_references_of_joints_and_of_the_tool(control):
    made = control('cartesian_impedance', law_options=[f'link={TOOL}'])
    made.torque()
    start = made.robot.link_pose(made.q, TOOL)
    held = made.q.copy()
    made.q = made.q + 0.02
    found = made.torque()
    np.testing.assert_allclose(
        found, expected(made, 'cartesian_impedance', TOOL, q=held, pose=start), atol=1e-9
    )
    target = start.copy()
    target[:3, 3] += [0.1, 0.0, -0.05]
    made.part._targets.receive_pose(pose_message(target, made.root))
    np.testing.assert_allclose(
        made.torque(), expected(made, 'cartesian_impedance', TOOL, q=held, pose=target), atol=1e-9
    )
    other = JointTrajectory(joint_names=[made.joints[0]])
    other.points.append(JointTrajectoryPoint(positions=[0.9]))
    made.part.reference.receive(other)
    posture = np.array([0.9, *held[1:]])
    np.testing.assert_allclose(
        made.torque(),
        expected(made, 'cartesian_impedance', TOOL, q=posture, pose=target),
        atol=1e-9,
    )


def test_bad_targets_are_refused(control):
    made = control('cartesian_impedance', law_options=[f'link={TOOL}'])
    made.torque()
    before = made.torque()
    made.part._targets.receive_pose(pose_message(np.eye(4), 'map'))
    assert f"frame_id must be '{made.root}'" in made.summary()[1]
    message = pose_message(np.eye(4), made.root)
    message.pose.position.x = np.nan
    made.part._targets.receive_pose(message)
    assert 'not finite' in made.summary()[1]
    np.testing.assert_allclose(made.torque(), before, atol=1e-12)


def test_laws_that_read_a_sensor_wait_for_it(control):
    made = control('admittance', law_options=[f'link={TOOL}'], on_loss='stop', age_limit=0.05)
    made.torque()
    assert 'no wrench on ~/wrench' in made.part.commands.status().summary
    message = wrench_message(force=[0.0, 0.0, 20.0])
    made.part.receive_wrench(message)
    first = made.torque()
    assert first is not None
    for _ in range(5):
        made.part.receive_wrench(message)
        last = made.torque()
    memory = made.part._adopted.plan.inputs['law_memory']
    assert np.linalg.norm(memory[:3]) > 1e-3
    assert not np.allclose(first, last)
    made.set(enabled=False)
    made.part.receive_wrench(message)
    made.torque()
    assert np.linalg.norm(memory[:3]) < 1e-3  # it begins again


def test_laws_are_added(control):
    made = control('gravity_compensation + joint_limit_repulsion')
    q = made.robot.limits.upper - 0.02
    made.q = q
    assert made.set(**{'gains__joint_limit_repulsion.stiffness': 50.0}).successful
    both = LAWS['gravity_compensation'] + LAWS['joint_limit_repulsion']
    law = both.on(made.robot)
    made.torque()
    values = law.values_of({'joint_limit_repulsion.stiffness': 50.0})
    np.testing.assert_allclose(made.torque(), law.step(q, made.v, parameters=values)[0])


def write(path, factor):
    path.write_text(FILE.replace('FACTOR', repr(factor)))
    os.utime(path, ns=(0, 10**9 * round(1e3 * abs(factor))))


def test_a_law_that_changes_on_disk(control, tmp_path):
    path = tmp_path / 'laws.py'
    write(path, 1.0)
    made = control(f'{path}:mine')
    start = made.q.copy()
    made.torque()
    made.q = made.q - 0.1
    np.testing.assert_allclose(made.torque(), 2.0 * (start - made.q), atol=1e-12)
    write(path, 5.0)
    made.load()
    made.torque(start)
    np.testing.assert_allclose(made.torque(), 10.0 * (start - made.q), atol=1e-12)


@pytest.mark.parametrize(
    ('change', 'reason'),
    [
        (lambda text: text.replace('return', 'if state.q[0] > 0: return'), 'laws.py:6: if state'),
        (lambda text: text.replace('gain', 'force'), 'it has other parameters'),
        (lambda text: text + '\n  x', 'IndentationError'),
        (lambda text: text.replace('def mine', 'def other'), "has no law 'mine'"),
    ],
)
def test_a_faulty_change_is_refused_and_the_law_stays(control, tmp_path, change, reason):
    path = tmp_path / 'laws.py'
    write(path, 1.0)
    made = control(f'{path}:mine')
    made.torque()
    path.write_text(change(path.read_text()))
    os.utime(path, ns=(0, 10**9))
    made.load()
    level, summary = made.summary()
    assert level == Level.ERROR
    assert reason in summary
    start = made.q.copy()
    made.q = made.q - 0.1
    assert made.torque() is not None
    np.testing.assert_allclose(made.torque(), 2.0 * (start - made.q), atol=1e-12)
    write(path, 3.0)
    made.load()
    assert made.summary()[0] == Level.OK


def test_files_that_others_may_write_are_not_loaded(tmp_path):
    path = tmp_path / 'laws.py'
    write(path, 1.0)
    assert LawSource(f'{path}:mine').law.name == 'mine'
    path.chmod(0o666)
    with pytest.raises(ArgumentError, match='is not executed: others may write'):
        LawSource(f'{path}:mine')
    path.chmod(0o600)
    link = tmp_path / 'link.py'
    link.symlink_to(path)
    assert LawSource(f'{link}:mine').law.name == 'mine'
    tmp_path.chmod(0o777)
    with pytest.raises(ArgumentError, match='others may write in'):
        LawSource(f'{path}:mine')
    with pytest.raises(UnknownNameError, match="no law 'magic'; there are gravity_compensation"):
        LawSource('magic')
    with pytest.raises(ArgumentError, match="there is no module 'nowhere'"):
        LawSource('nowhere:law')


@pytest.mark.parametrize('law', ['joint_impedance', 'admittance', 'remembering'])
def test_the_loop_commands_what_python_commands(control, tmp_path, law):
    """The same bits for random states, wrenches, gaps, references and ends of the torques."""
    path = tmp_path / 'laws.py'
    write(path, 1.0)
    text = FILE.replace('FACTOR *', 'state.tau +').replace("'count': 1", "'count': 6")
    path.write_text(text.replace('memory.count + 1.0', 'memory.count + state.tau * state.dt'))
    tool = {'law_options': [f'link={TOOL}'], 'wrench_timeout': 0.035}
    options = tool if law == 'admittance' else {}
    name = f'{path}:mine' if law == 'remembering' else law
    pair = [
        control(name, bench=kind, data_path=how, backend='native', on_loss='stop', **options)
        for kind, how in ((LoopBench, 'compiled'), (Bench, 'python'))
    ]
    loop, plain = pair
    plain.stamp = loop.stamp
    for each in pair:
        each.host.states.look_for_drivers = lambda: None
    rng = np.random.default_rng(11)
    for k in range(120):
        event = rng.choice(['state'] * 8 + ['wrench'] * 2 + ['gap', 'enable', 'reference', 'gain'])
        q, v, tau = plain.q + rng.normal(scale=0.1, size=6), *rng.normal(size=(2, 6))
        numbers = rng.normal(size=6)
        for made in pair:
            if event == 'wrench':
                made.part.receive_wrench(wrench_message(force=numbers[:3]))
            elif event == 'gap':
                made.stamp += 400 * MS
                made.bench.clock.offset += 0.4
            elif event == 'enable':
                made.set(enabled=bool(numbers[0] > -1.0))
            elif event == 'reference' and k > 80:  # from then on each state needs Python
                message = JointTrajectory(joint_names=[made.joints[0]])
                message.points.append(JointTrajectoryPoint(positions=[numbers[0]]))
                made.part.reference.receive(message)
            elif event == 'gain' and law == 'joint_impedance':
                assert made.set(gains__stiffness=[abs(numbers[0])]).successful
        found, wanted = loop.torque(q, v, tau), plain.torque(q, v, tau)
        assert (found is None) == (wanted is None), event
        if found is not None:
            np.testing.assert_array_equal(found, wanted, err_msg=event)
        np.testing.assert_array_equal(
            loop.part._adopted.plan.inputs.get('law_memory', 0),
            plain.part._adopted.plan.inputs.get('law_memory', 0),
        )
    assert loop.bench.outcomes.count('done') > 5


def test_memory_begins_again(control, tmp_path):
    """After a pause, and until torques are enabled."""
    path = tmp_path / 'laws.py'
    write(path, 1.0)
    made = control(f'{path}:mine')
    memory = made.part._adopted.plan.inputs['law_memory']
    counts = []
    for pause in (0, 0, 0, 5, 0):
        made.stamp += pause * 10**9
        made.bench.clock.offset += pause
        made.torque()
        counts.append(memory[0])
    made.set(enabled=False)
    for _ in range(2):
        made.torque()
        counts.append(memory[0])
    assert counts == [1.0, 2.0, 3.0, 1.0, 2.0, 1.0, 1.0]


def test_rates_of_a_reference(control):
    made = control('computed_torque')
    made.torque()
    held = made.q.copy()
    message = JointTrajectory(joint_names=list(made.joints[:2]))
    point = JointTrajectoryPoint(positions=[0.5, -1.0], velocities=[0.4, 0.3])
    point.accelerations = [1.0, -2.0]
    message.points.append(point)
    made.part.reference.receive(message)
    rates, accelerations = np.zeros(6), np.zeros(6)
    rates[:2], accelerations[:2] = point.velocities, point.accelerations
    made.q[0] += 0.01
    reference = {'q': [0.5, -1.0, *held[2:]], 'v': rates, 'a': accelerations}
    limits = made.robot.limits.effort
    wanted = np.clip(expected(made, 'computed_torque', **reference), -limits, limits)
    np.testing.assert_allclose(made.torque(), wanted, atol=1e-9)


def test_memory_and_law_stay_while_the_model_is_built_again(control, tmp_path):
    path = tmp_path / 'laws.py'
    write(path, 1.0)
    made = control(f'{path}:mine')
    made.torque()
    made.torque()
    made.host.reload()
    made.bench.finish()
    made.torque()
    assert made.part._adopted.plan.inputs['law_memory'].tolist() == [3.0]


def test_gains_of_another_robot_are_refused(control):
    made = control('gravity_compensation')
    made.torque()
    assert made.set(gains__damping=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).successful
    made.bench.describe(urdf_path('planar_2r').read_text())
    reason = made.host.source.descriptions.reason
    assert 'gains.damping has 6 numbers, the robot 2 joints' in reason
    assert made.torque() is not None  # the UR5 goes on


def test_the_robot_is_held_where_it_was_while_the_model_is_built_again(control):
    made = control('cartesian_impedance', law_options=[f'link={TOOL}'])
    made.torque()
    held, pose = made.q.copy(), made.robot.link_pose(made.q, TOOL)
    made.q = made.q + 0.02
    made.torque()
    made.host.reload()
    made.bench.finish()
    made.torque()
    wanted = expected(made, 'cartesian_impedance', TOOL, q=held, pose=pose)
    np.testing.assert_allclose(made.torque(), wanted, atol=1e-9)


def test_a_payload_is_carried(control):
    made = control('gravity_compensation')
    made.torque()
    without = made.torque()
    load = {'payload_link': TOOL, 'payload_mass': 2.0, 'payload_center_of_mass': [0.0, 0.1, 0.2]}
    assert made.set(**load).successful
    made.bench.finish()
    body = RigidBody(2.0, [0.0, 0.1, 0.2], np.zeros((3, 3)))
    values = made.robot.payload_parameters({TOOL: body})
    carried = made.robot.payload_torques(made.q, made.v, np.zeros(6), values)
    made.torque()
    np.testing.assert_allclose(made.torque() - without, carried, atol=1e-9)
    assert np.abs(carried).max() > 1.0


@pytest.mark.parametrize('kind', [Bench, LoopBench])
@pytest.mark.parametrize(
    ('tau', 'count', 'reason'),
    [
        (
            'state.q * np.nan',
            '1.0',
            'the torques of shoulder_pan_joint, shoulder_lift_joint, elbow',
        ),
        (
            'np.where(np.arange(6.0) == 2.0, np.inf, state.v)',
            '1.0',
            'the torques of elbow_joint are',
        ),
        ('state.v', 'np.nan * state.v[:1]', 'the memory count is not finite'),
        ('1e308 + 0.0 * state.v', '1.0', 'its results are too large'),
    ],
)
def test_results_of_a_law_that_are_not_finite(control, tmp_path, kind, tau, count, reason):
    """The state is not blamed, and the reaction does not wait until the last torques are old."""
    path = tmp_path / 'laws.py'
    write(path, 1.0)
    first = path.read_text()
    made = control(f'{path}:mine', bench=kind, on_loss='stop', backend='native')
    made.torque()
    assert made.torque() is not None
    text = first.replace('1.0 * parameters.gain * (reference.q - state.q)', tau)
    path.write_text(
        'import numpy as np\n' + text.replace('memory.count + 1.0', f'{count} + memory.count')
    )
    made.load()
    assert made.summary()[0] == Level.OK
    lost = next((k for k in range(5) if made.torque() is None), None)
    assert lost is not None
    assert f'law mine: {reason}' in made.part.commands.status().summary
    assert made.host.joint_state_status().level == Level.OK
    path.write_text(first)
    made.load()
    assert made.torque() is not None


@pytest.mark.usefixtures('control')
def test_before_the_first_description(monkeypatch):
    from screw_dynamics_ros.nodes.outputs.control import controller

    bench = Bench(monkeypatch, controller.Controller, 'controller', law='joint_impedance')
    status = bench.part.status()
    assert (status.level, status.values['law']) == (Level.OK, 'joint_impedance')
    bench.close()


def test_a_bad_law_does_not_refuse_descriptions(control, tmp_path):
    """Neither this one, for which torques end, nor the next one, for which the old law is built."""
    path = tmp_path / 'laws.py'
    write(path, 1.0)
    text = path.read_text()
    made = control(f'{path}:mine', on_refused_description='ramp_to_zero')
    start = made.q.copy()
    made.torque()
    made.q = made.q - 0.1
    for k, result in enumerate(('"text"', '1j * state.q')):
        path.write_text(text.replace('1.0 * parameters.gain * (reference.q - state.q)', result))
        os.utime(path, ns=(0, k))
        made.load()
        level, summary = made.summary()
        assert level == Level.ERROR
        assert re.search(r'laws.py:[46]', summary), summary
        assert made.host.source.descriptions.reason == ''
        np.testing.assert_allclose(made.torque(), 2.0 * (start - made.q), atol=1e-12)
    other = URDF.replace('name="ur5"', 'name="other"')
    assert other != URDF
    made.describe(other)
    assert made.host.source.descriptions.reason == ''
    assert made.host.model.robot.description.name == 'other'
    held = made.q.copy()
    made.torque()
    made.q = made.q - 0.1
    np.testing.assert_allclose(made.torque(), 2.0 * (held - made.q), atol=1e-12)
    path.write_text(text.replace('1.0 * parameters', '4.0 * parameters'))
    made.load()
    np.testing.assert_allclose(made.torque(), 8.0 * (held - made.q), atol=1e-12)
    assert made.summary()[0] == Level.OK


def test_a_robot_beyond_a_limit_is_led_back(control):
    """But not further out."""
    made = control('joint_impedance')
    upper = float(made.robot.limits.upper[2])
    made.q[2] = upper + 0.01
    made.torque()
    for last in (upper - 0.1, upper + 0.02):
        message = JointTrajectory(joint_names=[made.joints[2]])
        for k, position in enumerate((upper + 0.01, last)):
            message.points.append(JointTrajectoryPoint(positions=[position]))
            message.points[-1].time_from_start.sec = k
        made.part.reference.receive(message)
        refused = 'reference refused: positions of joint ' in made.summary()[1]
        assert refused == (last > upper)
    for _ in range(120):
        torque = made.torque()
    wanted = expected(made, 'joint_impedance', q=[*made.q[:2], upper - 0.1, *made.q[3:]])
    np.testing.assert_allclose(torque, wanted, atol=1e-9)
    held = expected(made, 'joint_impedance', q=made.q)
    assert torque[2] < held[2] - 5.0  # toward the inside
