# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joints with impedance drives: the torque of every step against the formula of the drive."""

from types import SimpleNamespace

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core.description.ros2_control import impedance_gains, read_ros2_control
from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.nodes.simulation import command_topics
from screw_dynamics_ros.nodes.simulation.command_messages import read_impedance
from screw_dynamics_ros.nodes.simulation.joint_targets import command_of
from screw_dynamics_ros.nodes.simulation.outputs import SimulationReport
from screw_dynamics_ros.nodes.simulation.plant import (
    MAX_DECAY,
    MAX_PARTS,
    AppliedWrenches,
    Plant,
    Timeouts,
)
from screw_dynamics_ros.nodes.simulation.simulation_time import RunState, SimulationTime
from screw_dynamics_ros.ros.ros2_control import with_simulated_hardware
from screw_dynamics_ros.ros.status import Level
from support.commanded_arm import Commanded, impedance_command, path
from support.robots import urdf_path
from support.simulated_motors import DT, DrivenArm

JOINTS = ('joint1', 'joint2')
KP, KD = np.array([30.0, 20.0]), np.array([2.0, 1.5])
TIMEOUTS = Timeouts(command=0.1, wrench=0.1)
EXPIRED = 51  # steps of 2 ms
NAN = float('nan')


class Driven(Commanded):
    """A planar arm with impedance drives, one step of the integration in each tick."""

    def __init__(self, gains=(KP, KD), text='<robot name="x"><link name="a"/></robot>'):
        super().__init__(text, np.array(gains), rate=1.0 / DT)

    def step(self, count=1):
        """Move on; return the torques with which the last step begins, and keep its state."""
        for _ in range(count):
            self.q, self.v = self.plant.positions, self.plant.velocities
            tau = self.plant.torques(self.time.stamp, TIMEOUTS)
            self.plant.advance(self.time.stamp, TIMEOUTS, 1)
            self.time.tick += 1
        return tau

    def follows(self, position, velocity=0.0, effort=0.0, kp=KP, kd=KD):
        """Check the next step against the formula of the drive."""
        tau = self.step()
        law = kp * (np.array(position) - self.q) + kd * (velocity - self.v) + effort
        np.testing.assert_allclose(tau, law, rtol=0.0, atol=1e-12)

    @property
    def complaints(self):
        """Reports, but that the type of frames is absent."""
        texts = self.status.texts
        return [text for text in texts if not text.startswith('no ~/impedance_commands: the pack')]

    def command(self, **arrays):
        """Send numbers of both joints on joint_commands."""
        self.send('joint_commands', JointState(name=list(JOINTS), **arrays))

    def frame(self, names=JOINTS, stamp=0, **arrays):
        """Send a frame for drives."""
        message = impedance_command(joint_names=list(names))
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        for field, values in arrays.items():
            setattr(message, field, list(values))
        self.send('~/impedance_commands', message)


@pytest.fixture
def driven():
    return Driven()


def test_position_and_effort_of_a_trajectory_controller_step_by_step():
    """The messages of the component of a generated description, which our reader resolves.

    joint_trajectory_controller with the command interfaces position and effort sends both of the
    trajectory, without a loop of its own; NaN before it is active.
    """
    tagged = with_simulated_hardware(
        urdf_path('planar_2r').read_text(), 'position+effort', '/joint_commands', '/states'
    ).text
    (component,) = read_ros2_control(tagged)
    assert [each.command_interfaces for each in component.joints] == [('position', 'effort')] * 2
    names = [each.name for each in component.joints]
    driven = Driven(text=tagged)
    message = JointState(name=names, position=[NAN] * 2, effort=[NAN] * 2)
    driven.send('joint_commands', message)
    assert 'no command for joint1, joint2: all numbers are NaN' in driven.status.summary
    driven.step(3)
    for k in range(200):
        angle = 0.03 * k
        position = np.array([0.3 * np.sin(angle), 0.5 * (1.0 - np.cos(angle))])
        effort = np.array([5.0 * np.cos(angle), -2.0])
        driven.command(position=position.tolist(), effort=effort.tolist())
        driven.follows(position, effort=effort)
    assert driven.complaints == []
    assert np.abs(driven.v).max() > 0.1
    message = JointState(name=names, position=position.tolist(), effort=[NAN] * 2)
    driven.send('joint_commands', message)
    driven.follows(position)


def test_what_is_not_in_a_message_is_not_commanded(driven):
    """A position alone has no feedforward, an effort alone no gains, a velocity no stiffness."""
    driven.command(position=[0.1, 0.2], velocity=[0.3, -0.4], effort=[1.0, 2.0])
    driven.follows([0.1, 0.2], [0.3, -0.4], [1.0, 2.0])
    driven.command(position=[0.2, 0.1])
    driven.follows([0.2, 0.1])
    driven.command(velocity=[0.5, 0.5], effort=[1.0, NAN])
    driven.follows([0.0, 0.0], 0.5, [1.0, 0.0], kp=0.0)
    driven.command(effort=[1.0, 2.0])
    driven.follows([9.0, 9.0], 9.0, [1.0, 2.0], kp=0.0, kd=0.0)


def test_the_three_topics_are_parts_of_one_command(driven):
    """Each interface keeps its newest value; an effort without a position is torque control."""
    driven.numbers('effort', 3.0, -1.0)
    driven.follows([0.0, 0.0], 0.0, [3.0, -1.0], kp=0.0, kd=0.0)
    driven.numbers('position', 0.4, -0.3)
    driven.follows([0.4, -0.3], 0.0, [3.0, -1.0])
    driven.numbers('velocity', 0.1, 0.2)
    driven.follows([0.4, -0.3], [0.1, 0.2], [3.0, -1.0])
    driven.numbers('effort', 0.0, 1.0)
    driven.follows([0.4, -0.3], [0.1, 0.2], [0.0, 1.0])
    assert (
        driven.arm.targets.sources
        == ['~/position_commands with ~/velocity_commands with ~/effort_commands'] * 2
    )


def test_each_interface_ends_by_itself(driven):
    """A dead peer of the efforts; positions are still sent, and held at last."""
    driven.numbers('effort', 3.0, -1.0)
    driven.step(30)
    driven.numbers('position', 0.4, -0.3)
    driven.step(EXPIRED - 31)
    driven.follows([0.4, -0.3], 0.0, [3.0, -1.0])
    driven.follows([0.4, -0.3])
    driven.step(500)
    driven.follows([0.4, -0.3])


def test_without_a_position_the_present_one_is_held(driven):
    driven.command(velocity=[0.5, 0.5], effort=[20.0, 2.0])
    driven.step(EXPIRED)
    before = driven.plant.positions
    driven.follows(before)
    driven.follows(before)
    driven.step(100)
    driven.follows(before)
    assert driven.arm.targets.sources == ['', '']
    assert not driven.arm.targets.is_idle


def test_before_the_first_command_the_arm_is_held_without_the_drives(driven):
    """As without drives, against gravity; also after a reset."""
    q = driven.plant.positions.copy()
    for _ in range(2):
        tau = driven.step(20)
        np.testing.assert_allclose(tau, driven.arm.robot.gravity_torques(q), atol=1e-6)
        driven.command(effort=[30.0, 0.0])
        driven.step(20)
        driven.plant.reset()


def test_targets_beyond_limits_are_clipped():
    arm = DrivenArm('panda', gains=np.array([np.full(8, 50.0), np.full(8, 5.0)]))
    limits = arm.robot.limits
    beyond = command_of([3, 5], position=[9.0, -9.0], velocity=[-99.0, 1.0], effort=[1.0, 2.0])
    said = arm.targets.command(beyond, 'test', 0)
    assert said == 'position 9 of panda_joint4 is beyond its limit and was clipped to -0.0698'
    tau = arm.motors.torques(0, 1.0, arm.simulated.q, arm.simulated.v)
    error = np.array([limits.upper[3], limits.lower[5]]) - arm.simulated.q[[3, 5]]
    law = 50.0 * error + 5.0 * np.array([-limits.velocity[3], 1.0]) + [1.0, 2.0]
    expected = np.clip(law, -limits.effort[[3, 5]], limits.effort[[3, 5]])
    np.testing.assert_allclose(tau[[3, 5]], expected, rtol=0.0, atol=1e-12)


def test_torques_are_within_the_limits_of_the_description(driven):
    limit = driven.arm.robot.limits.effort
    driven.command(position=[0.0, 0.0], effort=[1e300, -1e300])
    np.testing.assert_array_equal(driven.step(), [limit[0], -limit[1]])
    largest = np.finfo(float).max
    driven.command(position=[largest, -largest], velocity=[-largest, largest])
    np.testing.assert_array_equal(driven.step(), [limit[0], -limit[1]])


def test_a_trajectory_with_efforts(driven):
    """They are linear between the points, from the present ones on, and stay at the end."""
    driven.command(effort=[4.0, 2.0])
    driven.step()
    start, begin = driven.plant.positions, driven.time.stamp
    message = path(JOINTS[::-1], (0.2, [0.3, 0.4], [1.0, 6.0]), (0.4, [0.3, 0.4], [3.0, 6.0]))
    driven.send('~/joint_trajectory', message)
    goal = np.array([0.4, 0.3])
    for _ in range(300):
        t = (driven.time.stamp - begin) * 1e-9
        s = min(t / 0.2, 1.0)
        second = np.interp(t, [0.2, 0.4], [1.0, 3.0]) if s == 1.0 else 2.0 - s
        velocity = (goal - start) / 0.2 if 0.0 < t < 0.2 else np.zeros(2)
        driven.follows(start + s * (goal - start), velocity, [4.0 + 2.0 * s, second])
    assert driven.complaints == []


def test_efforts_of_another_source_beside_a_trajectory(driven):
    """The efforts of the trajectory have been replaced; the path is followed further."""
    begin = driven.time.stamp
    message = path(JOINTS, (0.0, [0.0, 0.0], [9.0, 9.0]), (1.0, [0.5, 0.5], [9.0, 9.0]))
    driven.send('~/joint_trajectory', message)
    driven.step(10)
    driven.numbers('effort', 1.0, 2.0)
    t = (driven.time.stamp - begin) * 1e-9
    driven.follows([0.5 * t] * 2, 0.5, [1.0, 2.0])
    driven.step(EXPIRED - 1)
    t = (driven.time.stamp - begin) * 1e-9
    driven.follows([0.5 * t] * 2, 0.5)


@pytest.mark.parametrize('interface', ['position', 'velocity'])
def test_a_position_or_velocity_ends_a_trajectory(driven, interface):
    """All of it: nothing remains of a path that is not followed."""
    message = path(JOINTS, (0.0, [0.0, 0.0], [9.0, 9.0]), (1.0, [0.5, 0.5], [9.0, 9.0]))
    driven.send('~/joint_trajectory', message)
    driven.step(10)
    driven.numbers(interface, 0.25, 0.5)
    is_position = interface == 'position'
    driven.follows([0.25, 0.5], 0.0) if is_position else driven.follows(0.0, [0.25, 0.5], kp=0.0)


def test_efforts_of_ideal_servos_are_ignored_and_named():
    made = Commanded()
    names = list(JOINTS)
    made.send('joint_commands', JointState(name=names, position=[0.1, 0.2], effort=[NAN, 1.0]))
    status = made.status
    assert status.level == Level.WARN
    assert 'the effort of joint2 beside its position' in status.summary
    assert 'list it in impedance_joints' in status.summary
    made.send('joint_commands', JointState(name=names, position=[0.1, 0.2], effort=[NAN, NAN]))
    assert made.status.summary == 'ok'
    made.send('~/joint_trajectory', path(names, (1.0, [0.1, 0.2], [1.0, 2.0])))
    assert '~/joint_trajectory: the effort of joint1' in made.status.summary
    assert made.targets.modes == ['position', 'position']


def test_without_the_type_of_frames_there_is_a_warning(monkeypatch):
    """If there are drives; the other topics are as ever."""
    monkeypatch.setattr(command_topics, 'ImpedanceCommand', None)
    driven, made = Driven(), Commanded()
    assert driven.status.summary.startswith('no ~/impedance_commands: the package screw_dynamics')
    assert made.status.summary == 'ok'
    driven.command(position=[0.1, 0.2])
    driven.follows([0.1, 0.2])


# --- whole frames ---------------------------------------------------------------------------------


def test_whole_frames_step_by_step(driven):
    rng = np.random.default_rng(5)
    for _ in range(100):
        position, velocity, effort = rng.uniform(-0.5, 0.5, (3, 2))
        kp, kd = rng.uniform(0.0, [[50.0] * 2, [3.0] * 2])
        driven.frame(position=position, velocity=velocity, effort=effort, stiffness=kp, damping=kd)
        driven.follows(position, velocity, effort, kp, kd)
    assert driven.complaints == []
    assert driven.answers == [0] * 100


def test_empty_arrays_of_frames(driven):
    driven.frame(position=[0.1, 0.2])
    driven.follows([0.1, 0.2])
    driven.frame(stiffness=[0.0, 0.0])
    driven.follows([9.0, 9.0], kp=0.0)
    driven.frame(stiffness=[0.0, 0.0], damping=[0.0, 0.5], effort=[1.0, 2.0])
    driven.follows([9.0, 9.0], 0.0, [1.0, 2.0], 0.0, np.array([0.0, 0.5]))
    driven.frame(['joint2'], position=[0.3], damping=[3.0])
    driven.follows([9.0, 0.3], 0.0, [1.0, 0.0], KP * [0.0, 1.0], np.array([0.0, 3.0]))


def test_a_frame_that_ends_leaves_the_gains_of_the_drive(driven):
    """A position that came with gains is not held with others: it may be far away."""
    driven.frame(position=[0.9, -0.9], stiffness=[1.0, 1.0], damping=[0.5, 0.5])
    driven.step(EXPIRED)
    before = driven.plant.positions
    driven.follows(before)
    driven.frame(position=[0.9, -0.9], effort=[1.0, 1.0])
    driven.step(EXPIRED)
    driven.follows([0.9, -0.9])


@pytest.mark.parametrize(
    ('arrays', 'reason'),
    [
        ({'position': [1.0]}, '1 numbers of position for 2 joint_names'),
        ({'position': [0.0, 0.0], 'effort': [1.0] * 3}, '3 numbers of effort'),
        ({'position': [0.0, NAN]}, 'position of joint joint2 is nan'),
        ({'position': [0.0, 0.0], 'effort': [np.inf, 0.0]}, 'effort of joint joint1 is inf'),
        ({'position': [0.0, 0.0], 'stiffness': [1.0, -1.0]}, 'stiffness of joint joint2 is -1'),
        ({'position': [0.0, 0.0], 'damping': [-1e-9, 0.0]}, 'damping of joint joint1 is -1e-09'),
        ({'position': [0.0, 0.0], 'velocity': [2e12, 0.0]}, 'velocity of joint joint1'),
        ({'effort': [1.0, 1.0]}, 'position is empty, and the stiffness of joint joint1 is 30'),
        ({'stiffness': [0.0, 5.0]}, 'position is empty, and the stiffness of joint joint2 is 5'),
    ],
)
def test_frames_that_are_refused(driven, arrays, reason):
    driven.frame(position=[0.1, 0.2], effort=[1.0, 1.0])
    driven.frame(**arrays)
    assert f'refused ~/impedance_commands: {reason}' in driven.status.summary
    driven.follows([0.1, 0.2], 0.0, [1.0, 1.0])
    assert driven.answers == [0]


@pytest.mark.parametrize(
    ('names', 'drives', 'reason'),
    [
        (['joint1', 'nose'], {'joint1': 1.0}, "'nose'"),
        (['joint1', 'joint1'], {'joint1': 1.0}, 'twice'),
        (['joint1', 'joint2'], {'joint1': 1.0}, 'joint2 has an ideal servo and no impedance drive'),
        (['tip'], {'joint1': 1.0}, 'names no joint that can be commanded'),
        ([], {}, 'names no joint that can be commanded'),
    ],
)
def test_names_of_frames_that_are_refused(names, drives, reason):
    numbers = [0.0] * len(names)
    message = SimpleNamespace(
        joint_names=names, position=numbers, velocity=[], stiffness=[], damping=[], effort=[]
    )
    with pytest.raises(ScrewDynamicsError) as raised:
        read_impedance(message, JOINTS, {'tip'}, drives)
    assert reason in str(raised.value)


@pytest.mark.parametrize('offset', [-0.2, -0.1, 0.0, 0.1, 0.2])
def test_frames_of_another_time_are_refused(driven, offset):
    """Late, of a clock that is ahead, or of the time of the system."""
    driven.step(200)
    stamp = driven.time.stamp + round(offset * 1e9)
    driven.frame(position=[0.1, 0.2], stamp=stamp)
    if abs(offset) > 0.1:
        assert f'differs from the time of the simulation by {offset:g} s' in driven.status.summary
        assert driven.arm.targets.is_idle
    else:
        driven.follows([0.1, 0.2])
        assert driven.answers == [stamp]


# --- gains ----------------------------------------------------------------------------------------


def test_gains_in_the_description():
    text = (
        '<robot name="x"><link name="a"/><ros2_control name="arm" type="system">'
        '<joint name="j"><param name="kp">{}</param>{}</joint><joint name="k"/></ros2_control>'
        '</robot>'
    )
    damping = '<param name="kd">0.5</param>'
    assert impedance_gains(read_ros2_control(text.format('7e1', damping))) == {'j': (70.0, 0.5)}
    for kp, kd in (('7', ''), ('-1', damping), ('nan', damping), ('${kp}', damping), ('', damping)):
        with pytest.raises(ScrewDynamicsError, match=r"parameter k[pd] of joint 'j' is .*neither"):
            impedance_gains(read_ros2_control(text.format(kp, kd)))


# --- stability ------------------------------------------------------------------------------------


def wrist_with(decay):
    """Return a Panda at rest, whose last joint has kd = decay m / dt, and its plant.

    With a constant torque in each step, more than 2 is unstable.
    """
    arm = DrivenArm('panda')
    kp, kd = np.full((2, 8), np.nan)
    kp[6] = 5.0
    kd[6] = decay / (DT * arm.robot.inverse_mass_matrix(arm.simulated.q)[6, 6])
    arm = DrivenArm('panda', gains=np.array([kp, kd]))
    plant = Plant(arm.simulated, arm.joints, arm.motors, AppliedWrenches(arm.robot, True), DT)
    arm.command('position', arm.simulated.q)
    v = np.zeros(8)
    v[6] = 0.5
    arm.simulated.set_state(arm.simulated.q, v)
    return arm, plant


@pytest.mark.parametrize('decay', [1.9, 2.1, 7.9])
def test_a_stiff_drive_of_a_light_joint_is_stable(decay):
    arm, plant = wrist_with(decay)
    plant.advance(0, Timeouts(1e3, 1e3), 100)
    assert np.abs(arm.simulated.v).max() < 0.01
    assert arm.motors.excess == ''


def test_without_parts_it_is_unstable(monkeypatch):
    arm, plant = wrist_with(2.1)
    monkeypatch.setattr(arm.motors, 'parts', lambda q, dt: 1)
    plant.advance(0, Timeouts(1e3, 1e3), 100)
    assert np.abs(arm.simulated.v).max() > 0.5


def test_drives_that_are_too_stiff_for_the_step_are_named():
    arm, plant = wrist_with(2.0 * MAX_PARTS * MAX_DECAY)
    plant.advance(0, Timeouts(1e3, 1e3), 1)
    assert 'joint panda_joint7 is too stiff for steps of 0.002 s' in arm.motors.excess
    assert 'set step to 0.001, or lower its gains' in arm.motors.excess
    report = SimulationReport(plant, arm.targets, RunState(), SimulationTime(500.0), DT)
    assert arm.motors.excess in report.status(TIMEOUTS).texts


@pytest.mark.parametrize('seed', range(5))
def test_storms_of_commands_keep_torques_within_limits(seed):
    """Of all topics, with wild numbers; the state stays finite and within the stops."""
    rng = np.random.default_rng(seed)
    driven = Driven()
    limits = driven.arm.robot.limits

    def wild(low=-1.0):
        size = 10.0 ** rng.uniform(-3.0, 13.0 if rng.random() < 0.8 else 307.0)
        return [NAN if rng.random() < 0.1 else x for x in size * rng.uniform(low, 1.0, 2)]

    for _ in range(300):
        way = rng.integers(5)
        if way < 3:
            driven.numbers(('position', 'velocity', 'effort')[way], *wild())
        elif way == 3:
            fields = ('position', 'velocity', 'effort')
            driven.command(**{field: wild() for field in fields if rng.random() < 0.7})
        else:
            gains = {'stiffness': wild(0.0), 'damping': wild(0.0)}
            driven.frame(position=wild(), effort=wild(), **gains)
        for _ in range(rng.integers(4)):
            tau = driven.step()
            assert (np.abs(tau) <= limits.effort).all()
            assert np.isfinite(driven.plant.velocities).all()
            assert (driven.plant.positions >= limits.lower - 1e-9).all()
            assert (driven.plant.positions <= limits.upper + 1e-9).all()
