# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint states at 500 Hz beside requests that take long, and beside rviz: `bringup`, one robot.

The time from the joint state to the last of the outputs made of it, while nothing else happens,
while a client asks for poses out of reach without pause, and while markers and singularity measures
have subscribers. The times are those at which the middleware sent the messages, so that only the
node counts and not who listens. The conditions take turns on the same running processes: what else
the machine does meets all of them. Driver, node and recorder have real-time priority where that is
permitted, as next to a controller manager; who asks and who looks at markers have not.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from figures import Figure
from node_endurance import PRIORITY, permitted
from node_latency import PATIENCE, publish_description

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

RATE = 500.0  # Hz
MOST = 2.0  # required ratio of the 99th percentile to that of an idle node
GROUP = 'Joint states at 500 Hz, state to last output; ratio of 99th percentiles'
OUTPUTS = (
    '/tf',
    '/kinematics/twist/panda_hand_tcp',
    '/dynamics/feedforward',
    '/wrench_estimator/external_torque',
)

#: What happens beside the joint states: name, and what this program is started with for it.
BESIDE = {
    'nothing': (),
    'poses out of reach, 1 s each': ('ask', '0'),
    'poses out of reach, 10 ms each': ('ask', '10000000'),
    'markers and singularities listened to': ('look',),
}


def figures(quick: bool) -> Iterator[Figure]:
    """Run the processes on a DDS domain of their own."""
    try:
        import rclpy  # noqa: F401

        from screw_dynamics_msgs.srv import InverseKinematics  # noqa: F401
        from screw_dynamics_ros.ros.process.children import Children, free_domain
    except ImportError as error:
        print(f'joint states beside requests are not measured: {error}', file=sys.stderr)
        return
    os.environ.update(
        {
            'ROS_DOMAIN_ID': str(free_domain()),
            'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
            'PYTHONPATH': os.pathsep.join(
                [str(ROOT), str(ROOT / 'test'), str(HERE), os.environ.get('PYTHONPATH', '')]
            ),
        }
    )
    rounds, seconds = (2, 3.0) if quick else (5, 10.0)
    delays: dict[str, list[float]] = {what: [] for what in BESIDE}
    priority = PRIORITY if permitted() else 0
    arguments = ['--ros-args', '-p', f'realtime_priority:={priority}']
    with Children() as children:
        children.start(
            'bringup', 'screw_dynamics_ros', ['bringup', *arguments, '-p', 'enabled:=true']
        )
        recorder = Recorder()
        children.start(
            'simulator', 'screw_dynamics_ros', ['simulator', *arguments, '-p', f'rate:={RATE}']
        )
        recorder.wait_for_outputs(priority)
        for _ in range(rounds):
            for what, program in BESIDE.items():
                with Beside(program):
                    delays[what] += recorder.record(seconds)
    idle = summary(delays.pop('nothing'))
    for what, values in delays.items():
        median, tail, largest = summary(values)
        yield Figure(
            GROUP,
            'Panda',
            f'beside {what}',
            median,
            tail,
            'ours, nothing beside',
            idle[0],
            idle[1],
            unit='us',
            ratio=tail / idle[1],
            required=MOST,
            meaning='ratio at most',
            note=f'{len(values)} states, {values.count(np.inf)} without '
            f'an output, longest {largest / 1e3:.1f} ms',
        )


def summary(delays: Sequence[float]) -> tuple[float, float, float]:
    """Return median, 99th percentile and maximum [us]; lost outputs count but for the maximum."""
    median, tail = np.quantile(delays, [0.5, 0.99], method='higher') * 1e6
    return float(median), float(tail), max(delay for delay in delays if delay < np.inf) * 1e6


class Beside:
    """Something that happens in another process while the `with` block lasts."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._arguments = arguments

    def __enter__(self) -> None:
        self._process = None
        if self._arguments:
            from screw_dynamics_ros.ros.process.children import end_with_parent

            self._process = subprocess.Popen(
                [sys.executable, __file__, *self._arguments],
                stdout=subprocess.PIPE,
                text=True,
                preexec_fn=end_with_parent,
            )
            self._process.stdout.readline()  # it is under way

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()


class Recorder:
    """Takes joint states and outputs with the times at which they were sent."""

    def __init__(self) -> None:
        import rclpy

        rclpy.init()
        self.node = rclpy.create_node('beside_requests')
        publish_description(self.node)

    def wait_for_outputs(self, priority: int) -> None:
        """Subscribe, with the priority for what receives, and wait until all outputs come."""
        from geometry_msgs.msg import TwistStamped
        from rclpy.qos import QoSProfile
        from sensor_msgs.msg import JointState
        from tf2_msgs.msg import TFMessage

        from screw_dynamics_ros.ros.process.scheduling import use_ordinary_time, use_real_time

        kinds = (TFMessage, TwistStamped, JointState, JointState)
        self.subscriptions = {
            topic: self.node.create_subscription(
                kind, topic, print, QoSProfile(depth=5000), raw=True
            )
            for topic, kind in (('/joint_states', JointState), *zip(OUTPUTS, kinds))
        }
        if priority:
            use_real_time(priority)
            use_ordinary_time()
        end = time.monotonic() + PATIENCE
        while np.count_nonzero(np.isfinite(self.record(1.0))) < 0.7 * RATE:
            if time.monotonic() > end:
                raise RuntimeError('the outputs do not come')

    def record(self, seconds: float) -> list[float]:
        """Return the times from joint states to their last outputs, inf if one is lost [s]."""
        self._take_all()
        begin = time.time_ns()
        times: dict[str, dict[bytes, int]] = {topic: {} for topic in self.subscriptions}
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.02)
            for topic, taken in self._take_all().items():
                times[topic].update(taken)
        states = times.pop('/joint_states')
        last = max(states.values(), default=0) - 2 * 10**8  # later outputs may be under way still
        return [
            (max(of_topic.get(stamp, np.inf) for of_topic in times.values()) - sent) * 1e-9
            for stamp, sent in states.items()
            if begin < sent < last
        ]

    def _take_all(self) -> dict[str, dict[bytes, int]]:
        """Return when the messages that have come were sent [ns], by their stamps."""
        times: dict[str, dict[bytes, int]] = {}
        for topic, subscription in self.subscriptions.items():
            start = 8 if topic == '/tf' else 4  # after the header, and the number of transforms
            taken = times[topic] = {}
            while message := subscription.handle.take_message(subscription.msg_type, True):
                taken[message[0][start : start + 8]] = message[1]['source_timestamp']
        return times


def ask(timeout: int) -> None:
    """Ask for a pose out of reach, again and again, with a timeout [ns]."""
    import rclpy

    from screw_dynamics_msgs.srv import InverseKinematics

    rclpy.init()
    node = rclpy.create_node('asks')
    client = node.create_client(InverseKinematics, '/kinematics/inverse_kinematics')
    client.wait_for_service(PATIENCE)
    request = InverseKinematics.Request(frames=['panda_hand_tcp'])
    request.targets = [pose_out_of_reach()]
    request.timeout.nanosec = 1_000_000
    for _ in range(3):
        answer(node, client, request)  # the solver is compiled now
    request.timeout.nanosec = timeout
    print('asking', flush=True)
    while True:
        answer(node, client, request)


def pose_out_of_reach() -> Any:
    """Return a geometry_msgs/PoseStamped."""
    from geometry_msgs.msg import PoseStamped

    target = PoseStamped()
    target.pose.position.x = 3.0
    return target


def answer(node: Any, client: Any, request: Any) -> None:
    """Wait for the answer to a request, which is no."""
    import rclpy

    future = client.call_async(request)
    rclpy.spin_until_future_complete(node, future)
    if future.result().success:
        raise RuntimeError('a pose 3 m away is in reach')


def look() -> None:
    """Listen to everything that is drawn or measured in Python."""
    import rclpy
    from rclpy.qos import QoSProfile
    from std_msgs.msg import Float64MultiArray
    from visualization_msgs.msg import MarkerArray

    rclpy.init()
    node, came = rclpy.create_node('looks'), []
    topics = {
        '/kinematics/markers': MarkerArray,
        '/wrench_estimator/markers': MarkerArray,
        '/kinematics/singularity/panda_hand_tcp': Float64MultiArray,
    }
    for topic, kind in topics.items():
        node.create_subscription(kind, topic, came.append, QoSProfile(depth=10), raw=True)
    while not came:
        rclpy.spin_once(node)
    print('looking', flush=True)
    rclpy.spin(node)


if __name__ == '__main__':
    if sys.argv[1:2] == ['ask']:
        ask(int(sys.argv[2]))
    elif sys.argv[1:2] == ['look']:
        look()
    else:
        print(json.dumps([figure.as_dict() for figure in figures('--quick' in sys.argv)], indent=1))
