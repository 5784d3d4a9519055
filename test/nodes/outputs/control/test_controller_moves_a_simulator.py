# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The node `controller` and the node `simulator` over DDS: nothing moves without a command.

The simulator waits for a command after each joint state while torques are enabled, so that the
motion does not depend on the speed of the machine.
"""

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.ros.messages.trajectories import set_duration
from support.robots import urdf_path
from support.ros_harness import OK, stamp_of

UR5 = urdf_path('ur5_robot')
JOINTS = list(Robot.from_urdf(UR5).joint_names)
START = [0.3, -1.2, 1.1, -0.4, 0.8, 0.2]
RATE = 250.0  # Hz
# s for which the simulator waits for a command: twelve of the second are a lost command
WITHOUT_COMMANDS, WITH_COMMANDS = 0.01, 0.3
MAX_DISPLACEMENT = 1e-3  # rad
REST_VELOCITY = 1e-5  # rad/s
OUTPUTS, COMMANDS = 'moved/controller: outputs', 'moved/controller: commands'
LAWS = {
    'joint_impedance': {
        'gains.stiffness': '[300.0, 300.0, 150.0, 15.0, 15.0, 15.0]',
        'gains.damping': '[80.0, 80.0, 40.0, 3.0, 3.0, 3.0]',
    },
    'computed_torque': {},
    'gravity_compensation': {'ramp_time': 0.3},
}
DRIVES = {
    'impedance_joints': str(JOINTS),
    'impedance_stiffness': '[300.0, 300.0, 150.0, 15.0, 15.0, 15.0]',
    'impedance_damping': '[40.0, 40.0, 20.0, 1.0, 1.0, 1.0]',
}


class Moved:
    """Both nodes, and what comes of the arm."""

    enabled = 'holds where it was enabled'

    def __init__(self, start, connect, law, drives=None):
        space = ['-r', '__ns:=/moved']
        topics = 'commands:=simulator/effort_commands'
        if drives:
            topics = 'impedance_command:=simulator/impedance_commands'
        self.simulator = start(
            'simulator',
            {
                'urdf': str(UR5),
                'rate': RATE,
                'clock': 'lock_step',
                'real_time_factor': 0.0,
                'lock_step_timeout': WITHOUT_COMMANDS,
                'command_timeout': 0.05,
                'motion_amplitude': 0.0,
                'initial_joints': str(JOINTS),
                'initial_positions': str(START),
                **(drives or {}),
            },
            space,
        )
        start(
            'controller',
            {
                'law': law,
                'use_sim_time': True,
                'ramp_time': 0.0,
                **LAWS[law],
                **(drives or {}),
                'blend_time': 0.05,
                'effort_rate_factor': 1e6,
                'age_limit': 10.0,
                'max_delay': 0.0,
                'max_stamp_age': 0.0,
            },
            [*space, '-r', f'controller/{topics}'],
        )
        self.client = connect('moved')
        self.states = []
        self.client.node.create_subscription(JointState, 'joint_states', self.states.append, 500)
        self.sender = self.client.publisher(JointTrajectory, 'controller/reference', 1)
        self.pass_states(5)

    @property
    def q(self):
        return np.array(self.states[-1].position)

    def pass_states(self, count):
        """Let joint states come; return the largest displacement from the first one [rad]."""
        begin = len(self.states)
        self.client.wait(lambda: len(self.states) > begin + count, what=f'{count} states')
        positions = np.array([each.position for each in self.states[begin:]])
        return np.abs(positions - positions[0]).max()

    def enable(self, wanted):
        """Enable or disable; the simulator waits for each command meanwhile.

        It does so before torques are enabled: the first command may be late on a busy machine.
        """
        self.wait_for_commands(WITH_COMMANDS if wanted else WITHOUT_COMMANDS)
        self.client.call(SetBool, 'controller/enable', SetBool.Request(data=wanted))
        self.until(self.enabled if wanted else 'measured state: torques are off')

    def wait_for_commands(self, seconds):
        result = self.client.set_parameter('simulator', 'lock_step_timeout', seconds)
        assert result.successful, result.reason

    def follow(self, q, *seconds):
        """Send a trajectory to `q`; it arrives at the first time and stays until the last."""
        message = JointTrajectory(joint_names=JOINTS)
        for positions, time in ((self.q, 0.01), *((q, each) for each in seconds)):
            point = JointTrajectoryPoint(positions=np.asarray(positions).tolist())
            set_duration(point.time_from_start, time)
            message.points.append(point)
        self.sender.publish(message)

    def until(self, text):
        """Wait until the law follows something."""
        self.client.wait(lambda: self.outputs[2].get('reference') == text, what=text)

    @property
    def outputs(self):
        """Level, summary and values of the last status of the outputs."""
        return self.client.diagnostics.get(OUTPUTS, (0, '', {}))

    def come_to_rest(self):
        def is_at_rest():
            return all(np.abs(each.velocity).max() < REST_VELOCITY for each in self.states[-20:])

        self.pass_states(20)
        self.client.wait(is_at_rest, what='rest')


@pytest.fixture(params=['computed_torque', 'joint_impedance'])
def moved(request, start, connect):
    return Moved(start, connect, request.param)


def test_enabled_moved_and_enabled_again(moved):
    moved.client.expect(OUTPUTS, OK)

    def is_refused():
        moved.follow(np.array(START) + 0.3, 0.5)
        return 'reference refused: torques are not enabled' in moved.outputs[1]

    moved.client.wait(is_refused, what='a refusal')
    moved.come_to_rest()
    begin = moved.q
    moved.enable(True)
    moved.pass_states(200)
    assert np.abs(moved.q - begin).max() <= MAX_DISPLACEMENT

    goal = np.array(START) + [0.2, 0.1, -0.2, 0.1, 0.0, 0.3]
    moved.follow(goal, 0.4)
    moved.until('holds where the reference ended')
    moved.come_to_rest()
    assert np.abs(moved.q - goal).max() <= 3e-3
    assert moved.pass_states(500) <= MAX_DISPLACEMENT  # 2 s

    moved.enable(False)
    moved.come_to_rest()  # the simulator holds it
    begin = moved.q
    moved.enable(True)
    moved.pass_states(200)
    assert np.abs(moved.q - begin).max() <= MAX_DISPLACEMENT
    stamps = [stamp_of(each) for each in moved.states]
    assert stamps == sorted(stamps)


def test_impedance_drives_do_not_sink(start, connect):
    """Torques begin with the weight, although they are ramped; the drives follow a trajectory."""
    pytest.importorskip('screw_dynamics_msgs.msg._impedance_command')
    moved = Moved(start, connect, 'gravity_compensation', DRIVES)
    moved.enabled = 'none: the law gravity_compensation reads neither positions nor a pose'
    moved.enable(True)
    assert moved.pass_states(round(0.5 * RATE)) < MAX_DISPLACEMENT
    goal = moved.q + 0.1
    moved.follow(goal, 0.5, 1000.0)  # drives have no stiffness after its end
    moved.client.wait(lambda: np.abs(moved.q - goal).max() < 5e-3, what='the goal')
