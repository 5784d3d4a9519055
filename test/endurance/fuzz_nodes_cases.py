# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The nodes that `fuzz_nodes` attacks: parameters, good input, and what must come of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import yaml
from fuzz_joint_states import ROOT, restore

from support.garbage import NUMBERS, SECOND

CONTROLLER = '/joint_trajectory_controller/follow_joint_trajectory'
PLATFORM = ROOT / 'config' / 'parallel' / 'stewart_gough.yaml'
RADIUS = 0.1  # m, of wheels
TOLERANCE = 1e-6
MANY = 100_001  # points of a goal


class Names:
    """Joints and links for garbage where there is no robot description."""

    def __init__(self, joints: Sequence[str], links: Sequence[str]) -> None:
        self.joint_names, self.link_names = tuple(joints), tuple(links)


def panda() -> Any:
    """Return the robot of the nodes that need a description."""
    from screw_dynamics_ros.core import Robot

    return Robot.from_urdf(ROOT / 'urdf' / 'panda.urdf', backend='reference')


def describe(attack: Any) -> None:
    """Publish its description."""
    from node_latency import publish_description

    publish_description(attack.node)


def joint_state(attack: Any, names: Sequence[str], q: Any, v: Any = ()) -> int:
    """Send a good joint state with a new stamp; return the stamp."""
    from sensor_msgs.msg import JointState

    attack.near = max(attack.near + SECOND // 100, time.time_ns())
    message = JointState(name=list(names), position=np.asarray(q).tolist())
    message.velocity = np.asarray(v, dtype=float).tolist()
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(attack.near, SECOND)
    attack.send('/joint_states', message)
    attack.spin(0.01)
    return int(attack.near)


def trigger(attack: Any, name: str) -> None:
    """Call a std_srvs/Trigger that must succeed."""
    from std_srvs.srv import Trigger

    response = attack.call(name, Trigger.Request(), Trigger)
    if response is None or not response.success:
        attack.violations.note(f'{name} refused', str(response))


def stamped(attack: Any, topic: str, stamps: Sequence[int]) -> Any:
    """Return the newest message on a topic with one of some stamps, None without one."""
    for message in reversed(attack.received[topic]):
        stamp = message.header.stamp
        if stamp.sec * SECOND + stamp.nanosec in stamps:
            return message
    return None


def compare(attack: Any, what: str, found: Any, expected: Any, tolerance: float) -> None:
    """Note a wrong result."""
    if not np.allclose(found, expected, rtol=0.0, atol=tolerance):
        attack.violations.note(f'wrong {what}', f'{found} instead of {expected}')


# --- what must come of good input -----------------------------------------------------------------


def rolls(attack: Any, _: Any) -> None:
    """Check that a platform whose wheels turn equally moves straight ahead by radius x angle."""
    trigger(attack, '/odometry/reset')
    angle, stamps = 0.0, {}

    def moved() -> Any:
        nonlocal angle
        angle += 0.01
        stamps[joint_state(attack, ('right', 'left'), (angle, angle))] = angle
        found = [
            m for m in attack.received['/odometry/odom']
            if m.header.stamp.sec * SECOND + m.header.stamp.nanosec in stamps
        ]  # fmt: skip
        return len(found) > 3 and found

    found = attack.until(moved, 'odometry of good states')
    if found:
        first, last = (
            (m.pose.pose.position.x, m.pose.pose.position.y,
             stamps[m.header.stamp.sec * SECOND + m.header.stamp.nanosec])
            for m in (found[0], found[-1])
        )  # fmt: skip
        expected = RADIUS * (last[2] - first[2]), 0.0
        compare(attack, 'path', np.subtract(last[:2], first[:2]), expected, TOLERANCE)


def stands_on_legs(attack: Any, _: Any) -> None:
    """Check the position of a platform that is shifted without rotation."""
    trigger(attack, '/parallel_robot/reset')
    entries = yaml.safe_load(PLATFORM.read_text())
    shift = np.array(entries['home']['position']) + [0.01, -0.02, 0.03]
    lengths = [
        np.linalg.norm(shift + leg['platform'] - np.array(leg['base'])) for leg in entries['legs']
    ]
    names, stamps = [leg['name'] for leg in entries['legs']], set()

    def found() -> Any:
        stamps.add(joint_state(attack, names, lengths))
        return stamped(attack, '/parallel_robot/pose', stamps)

    message = attack.until(found, 'pose of good leg lengths')
    if message is not None:
        position = message.pose.position
        compare(attack, 'pose', (position.x, position.y, position.z), shift, TOLERANCE)


def keeps_energy(attack: Any, _: Any) -> None:
    """Check that the energy of a heavy top without loads is constant."""
    from std_srvs.srv import SetBool

    attack.call('/mechanism_simulator/pause', SetBool.Request(data=False), SetBool)
    trigger(attack, '/mechanism_simulator/reset')
    attack.spin(1.0)
    energies = attack.received['/mechanism_simulator/energy']
    energies.clear()
    if attack.until(lambda: len(energies) > 50, 'energies'):
        totals = [sum(message.data) for message in energies]
        compare(attack, 'energy', totals[-1], totals[0], 1e-3 * abs(totals[0]))


def passes_wrench(attack: Any, _: Any) -> None:
    """Check that the wrench of a sensor without a tool is published unchanged."""
    from geometry_msgs.msg import WrenchStamped

    attack.set_parameters(
        'wrist_sensor', {'sensor_frame': 'panda_hand'}
    )  # instead of that of the first message
    robot, stamps = attack.robot, set()
    q = 0.5 * (robot.limits.lower + robot.limits.upper)

    def found() -> Any:
        stamp = joint_state(attack, robot.joint_names, q, np.zeros(robot.nv))
        message = WrenchStamped()
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, SECOND)
        message.header.frame_id = 'panda_hand'
        message.wrench.force.x, message.wrench.torque.y = 3.0, -0.5
        attack.send('/wrench', message)
        stamps.add(stamp)
        return stamped(attack, '/wrist_sensor/wrench', stamps)

    message = attack.until(found, 'wrench of a good sensor message')
    if message is not None:
        wrench = message.wrench
        compare(attack, 'wrench', (wrench.force.x, wrench.torque.y), (3.0, -0.5), TOLERANCE)


def pulls_down(attack: Any, _: Any) -> None:
    """Check gravity torques."""
    from screw_dynamics_msgs.srv import ClearPayload

    robot, stamps = attack.robot, set()
    restore('bringup', attack.node, attack.executor, robot.link_names)
    attack.call('/bringup/clear_payload', ClearPayload.Request(), ClearPayload)
    q = 0.5 * (robot.limits.lower + robot.limits.upper)

    def found() -> Any:
        stamps.add(joint_state(attack, robot.joint_names, q, np.zeros(robot.nv)))
        return stamped(attack, '/dynamics/gravity', stamps)

    message = attack.until(found, 'gravity torques')
    if message is not None:
        compare(attack, 'torques', message.effort, robot.gravity_torques(q), TOLERANCE)


def compensates(attack: Any, _: Any) -> None:
    """Check that a law of two commands gravity torques at rest."""
    from screw_dynamics_msgs.srv import ClearPayload

    robot, stamps = attack.robot, set()
    restore('controller', attack.node, attack.executor, robot.link_names)
    attack.call('/controller/clear_payload', ClearPayload.Request(), ClearPayload)
    attack.set_parameters('controller', {'enabled': True})
    q = 0.5 * (robot.limits.lower + robot.limits.upper)

    def found() -> Any:
        stamps.add(joint_state(attack, robot.joint_names, q, np.zeros(robot.nv)))
        message = stamped(attack, '/controller/feedforward', stamps)
        is_reached = message is not None and np.allclose(
            message.effort, robot.gravity_torques(q), atol=TOLERANCE
        )
        return message if is_reached else None

    attack.until(found, 'gravity torques of the law')


def moves(attack: Any, _: Any) -> None:
    """Check that a simulated robot is at its initial positions after a reset."""
    from std_srvs.srv import SetBool

    attack.call('/simulator/freeze_commands', SetBool.Request(data=False), SetBool)
    attack.call('/simulator/pause', SetBool.Request(data=False), SetBool)
    trigger(attack, '/simulator/clear_faults')
    trigger(attack, '/simulator/reset')
    states = attack.received['/joint_states']
    states.clear()
    if attack.until(lambda: len(states) > 20, 'joint states'):
        stamps = [(m.header.stamp.sec, m.header.stamp.nanosec) for m in states]
        if stamps != sorted(stamps):
            attack.violations.note('joint states out of order')
        compare(attack, 'positions', states[-1].position, 0.0, 0.5)


def holds(attack: Any, goals: Any) -> None:
    """Check that a goal at rest reaches the controller with gravity torques, and succeeds."""
    robot = attack.robot
    q = 0.5 * (robot.limits.lower + robot.limits.upper)
    restore('trajectory_proxy', attack.node, attack.executor, robot.link_names)
    goals.revive()
    joint_state(attack, robot.joint_names, q, np.zeros(robot.nv))
    goal = goals.goal(q)
    count = len(goals.controller.goals)
    handle = goals.send(goal)
    if attack.until(lambda: len(goals.controller.goals) > count, 'goal at the controller'):
        attack.spin(0.2)
        efforts = goals.controller.goals[-1].trajectory.points[-1].effort
        compare(attack, 'efforts', efforts, robot.gravity_torques(q), TOLERANCE)
        goals.controller.end()
        result = handle.result().get_result_async()
        if attack.until(result.done, 'result') and result.result().result.error_code:
            attack.violations.note('a good goal failed', str(result.result().result))


class Goals:
    """Goals of every kind for `trajectory_proxy`, and a controller that fails in every way."""

    def __init__(self, attack: Any) -> None:
        from control_msgs.action import FollowJointTrajectory
        from rclpy.action import ActionClient

        self._attack, self._kind = attack, FollowJointTrajectory
        self._client = ActionClient(
            attack.node, FollowJointTrajectory, '/trajectory_proxy/follow_joint_trajectory'
        )
        self._sent: list[Any] = []
        self.controller: Any = None
        self.revive()
        attack.until(self._client.server_is_ready, 'action server')
        q = 0.5 * (attack.robot.limits.lower + attack.robot.limits.upper)
        joint_state(attack, attack.robot.joint_names, q, np.zeros(attack.robot.nv))

    def revive(self) -> None:
        """Start a controller that accepts goals, unless one runs."""
        from support.recording_controller import RecordingController

        if self.controller is None:
            self.controller = RecordingController(self._attack.node, CONTROLLER)
        self.controller.accepts, self.controller.forgets = True, False
        attempts = self._attack.node
        self._attack.until(
            lambda: attempts.count_publishers(f'{CONTROLLER}/_action/status'), 'controller'
        )

    def goal(self, q: Any) -> Any:
        """Return a good goal: rest at a configuration."""
        from trajectory_msgs.msg import JointTrajectoryPoint

        goal, robot = self._kind.Goal(), self._attack.robot
        goal.trajectory.joint_names = list(robot.joint_names)
        for second in (1, 2):
            point = JointTrajectoryPoint(positions=np.asarray(q).tolist())
            point.velocities = [0.0] * robot.nv
            point.time_from_start.sec = second
            goal.trajectory.points.append(point)
        return goal

    def send(self, goal: Any) -> Any:
        """Send a goal; return the future of its handle, when that is known."""
        future = self._client.send_goal_async(goal)
        self._attack.until(future.done, 'response to a goal')
        return future

    def act(self) -> None:
        """Send a bad goal, or cancel one, or let the controller fail."""
        garbage, attack = self._attack.garbage, self._attack
        robot = attack.robot
        q = robot.limits.lower + garbage.random.random(robot.nv) * (
            robot.limits.upper - robot.limits.lower
        )
        goal, way = self.goal(q), int(garbage.random.integers(12))
        if way < 3:
            goal = garbage.changed(goal, garbage.pick([0.03, 0.3]))
        elif way == 3:
            order = garbage.random.permutation(robot.nv)
            goal.trajectory.joint_names = [robot.joint_names[k] for k in order]
        elif way == 4:
            goal.trajectory.points[-1].positions[0] = garbage.pick(NUMBERS)
        elif way == 5:
            goal.trajectory.header.stamp.sec = int(garbage.pick([1, 2**31 - 1, time.time()]))
        elif way == 6:
            goal.trajectory.points *= garbage.pick([0, 2, 5001])
        elif attack.counts['goals'] in (2, 5):  # later, memory would be compared with theirs
            goal.trajectory.points *= MANY // 2 + 1
            attack.counts['goals with 1e5 points'] += 1
        elif way == 8:
            goal = garbage.message(self._kind.Goal, 0.1)
        attack.counts['goals'] += 1
        future = self.send(goal)
        if future.done() and future.result().accepted:
            self._sent.append(future.result())
            if garbage.chance(0.3):
                for _ in range(2):
                    self._sent[-1].cancel_goal_async()
        if self._sent and garbage.chance(0.2):
            garbage.pick(self._sent).cancel_goal_async()
        self._fail()

    def _fail(self) -> None:
        """Let the controller do something."""
        garbage, way = self._attack.garbage, int(self._attack.garbage.random.integers(10))
        if self.controller is None:
            if way < 5:
                self.revive()
            return
        if way == 0:
            self.controller.server.destroy()
            self.controller = None
        elif way == 1:
            self.controller.accepts = not self.controller.accepts
        elif way == 2:
            self.controller.forgets = not self.controller.forgets
        elif way < 5 and self.controller.running is not None:
            from screw_dynamics_ros.nodes.trajectory.goal_relay import ABORTED, SUCCEEDED

            status = garbage.pick([SUCCEEDED, ABORTED])
            self.controller.end(status, int(garbage.pick([0, -1, -5, 2**31 - 1])), 'x' * 5000)


@dataclass(frozen=True)
class Case:
    """A node, with others in its process: parameters, garbage, and the check of good input."""

    parameters: dict[str, Any]
    check: Callable[[Any, Any], None]
    robot: Callable[[], Any] = panda
    begin: Callable[[Any], None] = describe
    frames: tuple[str, ...] = ()
    has_goals: bool = False
    hosted: tuple[str, ...] = ()


def nothing(attack: Any) -> None:
    """Begin without a description."""


WHEELS = {
    'wheel_radius': RADIUS,
    'wheel_separation': 0.5,
    'left_wheel_names': "['left']",
    'right_wheel_names': "['right']",
    'publish_rate': 1000.0,
}
LEGS = tuple(f'leg_{k}' for k in range(1, 7))
CASES = {
    'odometry': Case(
        {**WHEELS, 'publish_limited_velocity': True},
        rolls,
        lambda: Names(('right', 'left'), ('odom', 'base_link')),
        nothing,
        ('odom', 'base_link'),
    ),
    'parallel_robot': Case(
        {'mechanism': PLATFORM},
        stands_on_legs,
        lambda: Names(LEGS, ('base', 'platform')),
        nothing,
        ('base', 'platform'),
    ),
    'mechanism_simulator': Case(
        {'example': 'heavy_top'}, keeps_energy, lambda: Names(('joint',), ('top',)), nothing,
        ('top', 'body'),
    ),
    'simulator': Case(
        {
            'urdf': ROOT / 'urdf' / 'planar_2r.urdf', 'motion_amplitude': 0.0,
            'impedance_joints': '[joint2]', 'impedance_stiffness': '[200.0]',
            'impedance_damping': '[5.0]',
        }, moves,
        lambda: Names(('joint1', 'joint2'), ('base', 'link1', 'link2', 'tip')), nothing, ('tip',),
    ),
    'bringup': Case(
        {'max_delay': 0.0},
        pulls_down,
        hosted=('kinematics', 'dynamics', 'wrench_estimator'),
    ),
    'wrist_sensor': Case({'max_delay': 0.0}, passes_wrench, frames=('panda_hand',)),
    'controller': Case(
        {
            'max_delay': 0.0, 'law': 'gravity_compensation+joint_limit_repulsion', 'enabled': True,
            'leader_topic': '/leader/joint_states', 'leader_torque_topic': '/leader/torque',
        }, compensates, frames=('panda_hand',),
    ),
    'trajectory_proxy': Case(
        {'max_delay': 0.0}, holds, hosted=('_trajectory_proxy_actions',), has_goals=True
    ),
}  # fmt: skip
