# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What happens to `bringup` in a soak: subscribers, parameters, descriptions, requests at random.

`python soak_actions.py drive RATE` is a driver whose joint states follow from their stamps alone,
so that every output can be computed again; `python soak_actions.py listen SEED` is another process
with subscribers that come and go until it is killed.
"""

from __future__ import annotations

import importlib
import random
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

URDF = Path(__file__).resolve().parents[2] / 'urdf'
PANDA = (URDF / 'panda.urdf').read_text()
DESCRIPTIONS = {
    'panda': PANDA,
    'heavier panda': PANDA.replace('<mass value="', '<mass value="1'),
    'planar': (URDF / 'planar_2r.urdf').read_text(),
}
REFUSED = {
    'a word': 'robot',
    'no links': '<robot name="x"/>',
    'nothing': '',
    'an unknown parent': PANDA.replace('<parent link="panda_link0"', '<parent link="nobody"', 1),
    'half a file': PANDA[: len(PANDA) // 2],
}

MOST_ASKED = 50  # requests that wait for an answer
PATIENCE = 60.0  # s that they wait

FRAMES = [
    [''],
    ['panda_hand_tcp'],
    ['panda_link4', 'panda_link7'],
    ['tip'],
    ['panda_hand_tcp', 'panda_link3', 'panda_link5'],
]
MARKERS = [
    ['joint_axes', 'twists'],
    [''],
    ['force_ellipsoids'],
    ['joint_axes', 'twists', 'velocity_ellipsoids', 'force_ellipsoids'],
]
COLORS = [[1.0, 0.0, 0.0, 1.0], [0.0, 0.5, 1.0, 0.3]]

#: Values that are accepted, at least for one of the robots.
GOOD: dict[str, dict[str, list[Any]]] = {
    'kinematics': {
        'jacobian_representation': ['hybrid', 'body'],
        'twist_representation': ['hybrid', 'mixed'],
        'publish_tf': [True, False],
        'joint_metric': ['identity', 'inertia'],
        'markers': MARKERS,
        'marker_rate': [5.0, 30.0],
        'singularity_rate': [5.0, 50.0],
        'ellipsoid_limit': [0.1, 0.5],
        'joint_axis_color': COLORS,
        'force_ellipsoid_color': COLORS,
        'axis_length': [0.1, 0.3],
        'singularity_threshold': [0.0, 0.02],
        'characteristic_length': [0.2, 1.0],
    },
    'dynamics': {
        'constraints': [[''], ['panda_hand_tcp'], ['panda_link5: z'], ['tip: x']],
        'constraint_torques': ['measured', 'feedforward'],
        'enabled': [True, False],
        'compensated_terms': [[''], ['gravity'], ['gravity', 'friction']],
        'joints': [[''], ['panda_joint1', 'panda_joint2'], ['joint1']],
        'effort_limit_factor': [0.5, 1.0],
        'on_loss': ['hold', 'stop', 'gravity', 'ramp_to_zero'],
        'blend_time': [0.0, 0.2],
        'limited_joints': [[''], ['panda_joint1']],
        'reference_timeout': [0.1, 0.5],
    },
    'wrench_estimator': {
        'damping': [0.001, 0.1],
        'singularity_threshold': [0.02, 0.0],
        'marker_rate': [5.0, 30.0],
        'characteristic_length': [0.2, 1.0],
        'force_color': COLORS,
        'tare_samples': [20, 100],
        'tare_velocity_limit': [0.05, 0.0],
        'force_scale': [0.02, 0.1],
    },
    'bringup': {
        'gravity': [[0.0, 0.0, -9.81], [0.0, 0.0, 9.81], [1.0, 2.0, 3.0]],
        'payload_link': ['', 'panda_hand', 'link2'],
        'payload_mass': [0.0, 1.5],
        'velocity_policy': ['reject', 'differentiate', 'zero', 'hold'],
        'effort_policy': ['reject', 'zero', 'hold'],
        'position_policy': ['reject', 'hold', 'zero'],
        'state_timeout': [0.2, 0.5],
        'max_delay': [0.02, 0.5],
        'velocity_cutoff': [0.0, 50.0],
        'effort_joints': [[''], ['panda_joint1']],
        'max_stamp_age': [0.0, 1.0],
        'effort_terms': [['gravity', 'coriolis', 'friction', 'inertia', 'payload'], ['coriolis']],
    },
}

#: Values that are refused whatever the robot is.
BAD: dict[str, list[Any]] = {
    'frames': [5, 'panda_hand', ['nose', 'ear'], [1.0]],
    'markers': [['clouds'], 3],
    'joint_axis_color': [[1.0, 2.0], 1.5, [float('nan')] * 4],
    'joint_metric': ['', 7],
    'gravity': [[0.0, 1.0], 1.5, 'down', [float('nan')] * 3],
    'payload_mass': [-1.0, 'x', None],
    'constraints': [['nose'], 4, ['panda_hand: sideways']],
    'enabled': ['yes', 3],
    'velocity_policy': ['guess', 4],
    'damping': [-1.0, float('inf'), None],
    'drive_joints': [['panda_joint1']],
    'robot_description': ['robot', 7],
    'joints': [['nose'], 5],
    'marker_rate': [-1.0, 'often'],
}


def position(count: int, stamp: float) -> np.ndarray:
    """Return positions (count,) at a time [s] [rad, m]; small enough for all joints."""
    return 0.3 * np.sin(0.5 * stamp + np.arange(count))


def joint_names() -> list[str]:
    """Return the joints of all robots."""
    return [*(f'panda_joint{i}' for i in range(1, 8)), 'panda_finger_joint1', 'joint1', 'joint2']


def message_class(name: str) -> type | None:
    """Return the class of 'std_msgs/msg/String', None if it is not installed."""
    package, kind, name = name.split('/')
    try:
        return getattr(importlib.import_module(f'{package}.{kind}'), name)
    except (ImportError, AttributeError):
        return None


class Subscribers:
    """Subscriptions of every kind, which are not read, of a node that is not spun."""

    def __init__(self, node: Any, rng: random.Random, most: int = 16) -> None:
        self._node, self._rng, self._most = node, rng, most
        self._topics: list[tuple[str, type]] = []
        self._looked = 0.0
        self._alive: list[Any] = []

    def change(self) -> str:
        """Begin or end a subscription; return which."""
        if time.monotonic() - self._looked > 1.0:
            self._look()
        rng = self._rng
        if self._alive and (not self._topics or rng.random() < len(self._alive) / self._most):
            subscription = self._alive.pop(rng.randrange(len(self._alive)))
            topic = subscription.topic_name
            self._node.destroy_subscription(subscription)
            return f'end {topic}'
        if not self._topics:
            return 'no topics'
        topic, kind = rng.choice(self._topics)
        profile, text = random_profile(rng)
        if rng.random() < 0.02:
            kind, text = message_class('std_msgs/msg/Empty'), f'{text} of another type'
        try:
            self._alive.append(
                self._node.create_subscription(kind, topic, ignore, profile, raw=rng.random() < 0.5)
            )
        except Exception as error:  # of another type than others of this process
            return f'no {topic} {text}: {error}'
        return f'subscribe {topic} {text}'

    def _look(self) -> None:
        self._looked = time.monotonic()
        found = [
            (topic, message_class(kinds[0]))
            for topic, kinds in self._node.get_topic_names_and_types()
        ]
        self._topics = sorted((topic, kind) for topic, kind in found if kind is not None)


def ignore(_: Any) -> None:
    """Do nothing with a message."""


def random_profile(rng: random.Random) -> tuple[Any, str]:
    """Return a QoS profile, compatible with our outputs or not, and its description."""
    from rclpy.duration import Duration
    from rclpy.qos import DurabilityPolicy, LivelinessPolicy, QoSProfile, ReliabilityPolicy

    durability = rng.choice([DurabilityPolicy.VOLATILE, DurabilityPolicy.TRANSIENT_LOCAL])
    reliability = rng.choice([ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT])
    profile = QoSProfile(
        depth=rng.choice([1, 5, 50]), durability=durability, reliability=reliability
    )
    text = f'{durability.name.lower()} {reliability.name.lower()}'
    if rng.random() < 0.1:
        profile.deadline, text = Duration(nanoseconds=10**7), f'{text} deadline'
    if rng.random() < 0.1:
        profile.liveliness, text = LivelinessPolicy.MANUAL_BY_TOPIC, f'{text} manual liveliness'
    return profile, text


class Actions:
    """Random actions on the nodes, the last of which are remembered.

    Parameters
    ----------
    spun, unspun : rclpy.node.Node
        For requests and for what nobody waits for.
    rng : random.Random
    only : collection of str
        Actions to take, all if there are none.
    """

    def __init__(
        self,
        spun: Any,
        unspun: Any,
        rng: random.Random,
        only: Collection[str] = (),
    ) -> None:
        from rclpy.qos import DurabilityPolicy, QoSProfile
        from std_msgs.msg import String

        self._spun, self._unspun, self._rng = spun, unspun, rng
        self._weights = {
            name: weight for name, weight in WEIGHTS.items() if name in only or not only
        }
        self.last: deque[str] = deque(maxlen=50)
        self.counts: Counter[str] = Counter()
        self.description = 'panda'
        self._String = String
        self._latched = spun.create_publisher(
            String,
            '/robot_description',
            QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL),
        )
        self._subscribers = Subscribers(unspun, rng)
        self._publishers: list[Any] = []
        self._clients: dict[str, Any] = {}
        self._asked: list[tuple[Any, Any, float]] = []
        self._short_lived: deque[tuple[Any, float]] = deque()
        self._began = time.monotonic()

    def act(self) -> None:
        """Do something."""
        (action,) = self._rng.choices(list(self._weights), list(self._weights.values()))
        self._note(action, getattr(self, f'_{action}')())
        while self._short_lived and self._short_lived[0][1] < time.monotonic():
            self._unspun.destroy_client(self._short_lived.popleft()[0])

    def _note(self, action: str, text: str) -> None:
        self.counts[action] += 1
        self.last.append(f'{time.monotonic() - self._began:9.3f} {action}: {text}')

    # --- actions --------------------------------------------------------------------------------

    def _subscriber(self) -> str:
        return self._subscribers.change()

    def _frames(self) -> str:
        node, value = self._rng.choice(['kinematics', 'wrench_estimator']), self._rng.choice(FRAMES)
        self.set(node, {'frames': value})
        return f'{node} {value}'

    def _parameter(self) -> str:
        node = self._rng.choice(list(GOOD))
        name = self._rng.choice(list(GOOD[node]))
        value = self._rng.choice(GOOD[node][name])
        self.set(node, {name: value})
        return f'{node} {name} {value}'

    def _bad_parameter(self) -> str:
        node, name = self._rng.choice(list(GOOD)), self._rng.choice(list(BAD))
        value = self._rng.choice(BAD[name])
        self.set(node, {name: value})
        return f'{node} {name} {value}'

    def _parameters_at_once(self) -> str:
        node = self._rng.choice(list(GOOD))
        names = self._rng.sample(list(GOOD[node]), 3)
        values = {name: self._rng.choice(GOOD[node][name]) for name in names}
        if self._rng.random() < 0.5:
            name = self._rng.choice(list(BAD))
            values[name] = self._rng.choice(BAD[name])
        self.set(node, values)
        return f'{node} {values}'

    def _good_description(self) -> str:
        self.describe(self._rng.choice(list(DESCRIPTIONS)))
        return self.description

    def _refused_description(self) -> str:
        name = self._rng.choice(list(REFUSED))
        self._latched.publish(self._String(data=REFUSED[name]))
        return name

    def _request(self) -> str:
        """Ask a service; the client may be gone before the answer comes."""
        service, kind, request = random_request(self._rng)
        if kind is None:
            return f'{service} is not installed'
        if self._rng.random() < 0.2:
            client = self._unspun.create_client(kind, service)
            if client.service_is_ready():
                client.call_async(request)
            self._short_lived.append((client, time.monotonic() + 0.1 * self._rng.random()))
            return f'{service} by a client that does not wait'
        self.ask(kind, service, request)
        return service

    def _input(self) -> str:
        """Begin or end a publisher for an input of the nodes, with some QoS."""
        rng = self._rng
        if self._publishers and rng.random() < 0.5:
            self._unspun.destroy_publisher(publisher := self._publishers.pop(0))
            return f'end {publisher}'
        topic, kind = rng.choice(
            [
                ('/joint_states', 'sensor_msgs/msg/JointState'),
                ('/robot_description', 'std_msgs/msg/String'),
                ('/tf', 'tf2_msgs/msg/TFMessage'),
                ('/dynamics/reference', 'trajectory_msgs/msg/JointTrajectory'),
                ('/joint_states', 'std_msgs/msg/String'),
            ]
        )
        cls = message_class(kind)
        if cls is None:
            return f'{kind} is not installed'
        profile, text = random_profile(rng)
        try:
            publisher = self._unspun.create_publisher(cls, topic, profile)
        except Exception as error:  # of another type than others of this process
            return f'no {topic} as {kind}: {error}'
        self._publishers.append(publisher)
        if topic != '/robot_description':
            publisher.publish(cls())
        return f'publish {topic} as {kind} {text}'

    # --- what actions are made of ---------------------------------------------------------------

    def describe(self, name: str) -> None:
        """Publish a description."""
        self.description = name
        self._latched.publish(self._String(data=DESCRIPTIONS[name]))

    def set(self, node: str, values: dict[str, Any]) -> Any:
        """Set parameters of a node, at once if there are several; return the future or None."""
        from rcl_interfaces.srv import SetParameters, SetParametersAtomically
        from rclpy.parameter import Parameter

        messages = [
            Parameter(name, value=value).to_parameter_msg() for name, value in values.items()
        ]
        kind, name = (
            (SetParameters, 'set_parameters')
            if len(values) == 1
            else (SetParametersAtomically, 'set_parameters_atomically')
        )
        return self.ask(kind, f'/{node}/{name}', kind.Request(parameters=messages))

    def ask(self, kind: type, service: str, request: Any) -> Any:
        """Send a request; return the future, None if nobody is there."""
        if service not in self._clients:
            self._clients[service] = self._spun.create_client(kind, service)
        client = self._clients[service]
        self._forget()
        if not client.service_is_ready() or len(self._asked) > MOST_ASKED:
            self.counts['not asked'] += 1
            return None
        future = client.call_async(request)
        self._asked.append((client, future, time.monotonic()))
        return future

    def _forget(self) -> None:
        """Forget requests that are answered, or will not be: the process has died meanwhile."""
        waiting, oldest = self._asked, time.monotonic() - PATIENCE
        self._asked = []
        for client, future, since in waiting:
            if not future.done() and since > oldest:
                self._asked.append((client, future, since))
                continue
            self.counts['answers' if future.done() else 'requests without answer'] += 1
            client.remove_pending_request(future)


#: How often each action is taken.
WEIGHTS = {
    'subscriber': 60,
    'frames': 6,
    'parameter': 6,
    'bad_parameter': 3,
    'parameters_at_once': 2,
    'good_description': 1,
    'refused_description': 0.5,
    'request': 4,
    'input': 2,
}


def random_request(rng: random.Random) -> tuple[str, Any, Any]:
    """Return name and type of a service, None if it is not installed, and a request."""
    name, kind, fill = rng.choice(REQUESTS)
    cls = message_class(kind)
    if cls is None:
        return name, None, None
    request = cls.Request()
    fill(request, rng)
    return name, cls, request


def framed(request: Any, rng: random.Random) -> None:
    """Name a link, which need not exist."""
    frame = rng.choice(['panda_hand_tcp', 'tip', 'nose', ''])
    if hasattr(request, 'frames'):
        request.frames = [frame]
    else:
        request.frame = frame


def posed(request: Any, rng: random.Random) -> None:
    """Ask for a pose, within reach or not."""
    framed(request, rng)
    from geometry_msgs.msg import PoseStamped

    target = PoseStamped()
    target.pose.position.x, target.pose.position.z = rng.choice([0.4, 3.0, float('nan')]), 0.5
    request.targets = [target]
    request.timeout.nanosec = 10**8
    request.method = rng.choice([request.NUMERIC, request.ALL, request.NEAREST])


def pushed(request: Any, rng: random.Random) -> None:
    """Ask what a contact leaves of a twist, of an invalid length, too."""
    from geometry_msgs.msg import WrenchStamped

    wrench = WrenchStamped()
    wrench.wrench.force.z, request.twist.twist.linear.z = 1.0, rng.uniform(-1.0, 1.0)
    request.wrenches, request.unilateral = [wrench], rng.random() < 0.5
    request.length = rng.choice([0.1, 0.0, float('nan')])


def bare(request: Any, rng: random.Random) -> None:
    """Ask as it is."""


REQUESTS: Sequence[tuple[str, str, Callable[[Any, random.Random], None]]] = (
    ('/kinematics/forward_kinematics', 'screw_dynamics_msgs/srv/ForwardKinematics', framed),
    ('/kinematics/jacobian', 'screw_dynamics_msgs/srv/Jacobian', framed),
    ('/kinematics/inverse_kinematics', 'screw_dynamics_msgs/srv/InverseKinematics', posed),
    ('/kinematics/filter_twist', 'screw_dynamics_msgs/srv/FilterTwist', pushed),
    ('/dynamics/mass_matrix', 'screw_dynamics_msgs/srv/MassMatrix', bare),
    ('/dynamics/inverse_dynamics', 'screw_dynamics_msgs/srv/InverseDynamics', bare),
    ('/dynamics/payload_capacity', 'screw_dynamics_msgs/srv/PayloadCapacity', framed),
    ('/wrench_estimator/tare', 'std_srvs/srv/Trigger', bare),
    ('/wrench_estimator/reset', 'std_srvs/srv/Trigger', bare),
    ('/dynamics/enable', 'std_srvs/srv/SetBool', bare),
)


def drive(rate: float) -> None:
    """Publish joint states for ever; what a busy machine delays is not made up for."""
    import rclpy
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import JointState

    rclpy.init()
    node = rclpy.create_node('driver', start_parameter_services=False)
    publisher = node.create_publisher(JointState, '/joint_states', qos_profile_sensor_data)
    message, count = JointState(name=joint_names()), len(joint_names())
    message.effort = [0.0] * count
    due = time.monotonic()
    while True:
        now = time.time_ns()
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(now, 10**9)
        message.position = position(count, now * 1e-9).tolist()
        message.velocity = (0.15 * np.cos(0.5e-9 * now + np.arange(count))).tolist()
        publisher.publish(message)
        due = max(due + 1.0 / rate, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))


def listen(seed: int) -> None:
    """Let subscriptions come and go for ever."""
    import rclpy

    rclpy.init()
    node = rclpy.create_node(
        f'listener_{seed}', start_parameter_services=False, enable_rosout=False
    )
    subscribers = Subscribers(node, random.Random(seed))
    while True:
        subscribers.change()
        time.sleep(0.05)


if __name__ == '__main__':
    {'drive': drive, 'listen': listen}[sys.argv[1]](int(sys.argv[2]))
