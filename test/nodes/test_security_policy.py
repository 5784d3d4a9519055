# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The policy of SROS 2 allows each process of this package what it does, and no other topic."""

from __future__ import annotations

from fnmatch import fnmatchcase
from xml.etree import ElementTree

import pytest

from support.paths import ROOT
from support.robots import urdf_path

PROFILES = {
    profile.get('node'): profile
    for profile in ElementTree.parse(ROOT / 'config/security/policy.xml').iter('profile')
}
SPACE = '/policy'
HOSTED = ('kinematics', 'dynamics', 'wrench_estimator')

#: Parameters with which a process has all kinds of endpoints; a simulator publishes the robot.
PROCESSES = {
    'simulator': {'urdf': str(urdf_path('panda')), 'clock': 'publish'},
    'bringup': {'gravity_frame': 'panda_link0'},
    'wrist_sensor': {'sensor_frame': 'panda_hand'},
    'trajectory_proxy': {},
    'mechanism_simulator': {},
    'odometry': {
        'wheel_radius': 0.1,
        'wheel_separation': 0.5,
        'left_wheel_names': "['left']",
        'right_wheel_names': "['right']",
        'publish_limited_velocity': True,
    },
    'parallel_robot': {'publish_tf': True},
}
#: How the graph calls what a policy allows.
RIGHTS = {
    ('topic', 'publish'): 'get_publisher_names_and_types_by_node',
    ('topic', 'subscribe'): 'get_subscriber_names_and_types_by_node',
    ('service', 'reply'): 'get_service_names_and_types_by_node',
    ('service', 'request'): 'get_client_names_and_types_by_node',
}
ACTION = {
    ('topic', 'publish'): 'execute', ('service', 'reply'): 'execute',
    ('topic', 'subscribe'): 'call', ('service', 'request'): 'call',
}  # fmt: skip


def allowed(process: str, kind: str, right: str, name: str) -> bool:
    """Return whether a process may use a topic or service, or one that belongs to an action."""
    action, _, of_action = name.partition('/_action/')
    if of_action:
        kind, right, name = 'action', ACTION[kind, right], action
    patterns = (
        (item.text or '').replace('~', process)
        for group in PROFILES[process].findall(f'{kind}s')
        if group.get(right) == 'ALLOW'
        for item in group
    )
    return any(
        fnmatchcase(name, pattern if pattern.startswith('/') else f'{SPACE}/{pattern}')
        for pattern in patterns
    )


def test_every_process_has_a_profile():
    assert set(PROFILES) == set(PROCESSES)


def test_nothing_else_is_allowed():
    for process in PROCESSES:
        for right in ('publish', 'subscribe'):
            for topic in ('/cmd_vel', f'{SPACE}/other/commands', f'{SPACE}/{process}_2/twist'):
                assert not allowed(process, 'topic', right, topic)
    assert not allowed('bringup', 'topic', 'publish', f'{SPACE}/joint_states')


#: What a process publishes when it has begun.
BEGUN = {
    'simulator': 'simulator/energy',
    'bringup': 'dynamics/gravity',
    'wrist_sensor': 'wrist_sensor/wrench',
    'trajectory_proxy': 'trajectory_proxy/follow_joint_trajectory/_action/status',
    'mechanism_simulator': 'mechanism_simulator/energy',
    'odometry': 'odometry/odom',
    'parallel_robot': 'parallel_robot/pose',
}


@pytest.mark.parametrize('process', PROCESSES)
def test_everything_that_a_process_does_is_allowed(start, connect, process):
    """Each endpoint of its nodes, hidden ones too."""
    client = connect('watcher')
    mine = {process, *HOSTED} if process == 'bringup' else {process}
    if process in ('bringup', 'wrist_sensor', 'trajectory_proxy'):
        start('simulator', PROCESSES['simulator'], ['-r', f'__ns:={SPACE}'])
    start(process, PROCESSES[process], ['-r', f'__ns:={SPACE}'])
    client.wait(lambda: client.node.count_publishers(f'{SPACE}/{BEGUN[process]}'), what=process)
    begin = f'{SPACE[1:]}/{process}: '
    client.wait(lambda: any(each.startswith(begin) for each in client.diagnostics), what=begin)

    def nodes():
        return [
            (name, space)
            for name, space in client.node.get_node_names_and_namespaces()
            if space == SPACE and (process == 'simulator' or name != 'simulator')
        ]

    client.wait(lambda: mine <= {name for name, _ in nodes()}, what='the nodes')
    assert {name for name, _ in nodes() if not name.startswith('_')} == mine
    for name, space in nodes():
        for (kind, right), ask in RIGHTS.items():
            for endpoint, _ in getattr(client.node, ask)(name, space):
                assert allowed(process, kind, right, endpoint), (name, kind, right)
