# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters that can be estimated from what a running robot says.

What the data do not tell keeps its default and is named with what would tell it: a wrong sign or a
term too many moves a robot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from screw_dynamics_ros.cli.doctor.effort_suggestions import suggest_efforts
from screw_dynamics_ros.cli.doctor.section import Section
from screw_dynamics_ros.cli.doctor.session_data import SessionData
from screw_dynamics_ros.cli.doctor.suggestion import (
    BRINGUP,
    DYNAMICS,
    KINEMATICS,
    SHARED,
    WRENCHES,
    Suggestion,
)
from screw_dynamics_ros.ros.drivers import Driver, presets, read_driver, recognized
from screw_dynamics_ros.ros.names import shorten

STATE_TIMEOUT = 0.5  # s, of the nodes
DEFAULT_AGE_LIMIT_S = 0.1  # s, gap between joint states at which torques end by default (age_limit)
TF_PUBLISHERS = ('/bringup', '/kinematics')  # nodes that send /tf themselves
CONTROLLER_STATE = 'control_msgs/msg/JointTrajectoryControllerState'
COMMANDS = 'std_msgs/msg/Float64MultiArray'


def suggest(heard: SessionData, sections: Sequence[Section] = ()) -> Suggestion:
    """Return what can be estimated; `sections` are the report, whose warnings become notes."""
    made = Suggestion()
    joints, links = heard.robot.joint_names, heard.robot.link_names
    found = recognized(joints, links, [read_driver(path) for path in presets().values()])
    driver, prefix = found or (None, '')
    if driver is not None:
        made.notes.append(
            f'joints and frames are those of the driver preset {driver.name} (doc/start/drivers.md)'
            + (f', with the prefix {prefix}' if prefix else '')
        )
    suggest_velocities(made, heard)
    suggest_timeout(made, heard)
    are_torques = suggest_efforts(made, heard, driver)
    made.set(
        BRINGUP,
        'nodes',
        ['kinematics', 'dynamics', *(['wrench_estimator'] if are_torques else [])],
        'efforts at rest are the torques of the model'
        if are_torques
        else 'without wrench_estimator: it is not known that efforts are torques (see above)',
    )
    suggest_transforms(made, heard)
    suggest_names(made, heard, driver, prefix, with_wrenches=are_torques)
    suggest_controllers(made, heard)
    suggest_compensation(made, driver)
    note_degrees(made, heard)
    made.notes += [
        f'{section.title}: {finding.subject}: {finding.message}'
        for section in sections
        for finding in section.findings
        if finding.severity in ('error', 'warning')
    ]
    return made


def suggest_velocities(made: Suggestion, heard: SessionData) -> None:
    """Set the policy of velocities by how many there are."""
    messages, lacking = len(heard.arrivals), heard.lacking.get('velocity', Counter())
    never = [joint for joint, count in lacking.items() if count == messages]
    if not messages:
        made.leave('velocity_policy', 'no joint state arrived')
    elif never:
        made.set(
            SHARED,
            'velocity_policy',
            'differentiate',
            f'in none of {messages} joint states a velocity of {shorten(sorted(never))}: from '
            'positions. With noisy positions set velocity_cutoff',
        )
    else:
        count = max(lacking.values(), default=0)
        made.set(
            SHARED,
            'velocity_policy',
            'differentiate',
            f'{messages - count} of {messages} joint states have all velocities; where one is '
            'missing it is taken from positions',
        )


def suggest_timeout(made: Suggestion, heard: SessionData) -> None:
    """Set the age at which states are out of date, if the driver is slower than the default."""
    gaps = np.diff(heard.arrivals)
    if len(gaps) < 5:
        made.leave('state_timeout', f'{len(heard.arrivals)} joint states do not tell a rate')
        return
    longest, rate = float(gaps.max()), 1.0 / float(gaps.mean())
    if longest > 0.5 * STATE_TIMEOUT:
        made.set(
            SHARED,
            'state_timeout',
            round(2.0 * longest, 2),
            f'joint states come at {rate:.3g} Hz with gaps of up to {longest:.3g} s',
        )
    if longest > DEFAULT_AGE_LIMIT_S:
        made.notes.append(
            f'gaps between joint states of up to {longest:.3g} s: too slow to command torques, '
            'which end after age_limit (0.1 s)'
        )


def suggest_transforms(made: Suggestion, heard: SessionData) -> None:
    """Leave transforms to the node that sends them."""
    if heard.nodes is None or heard.transform_senders is None:
        made.leave('publish_tf', 'a recording does not show which nodes send /tf')
        return
    others = [
        name
        for name in (*heard.nodes, *heard.transform_senders)
        if name.rpartition('/')[2] == 'robot_state_publisher'
    ]
    if others:
        made.set(KINEMATICS, 'publish_tf', False, f'{shorten(sorted(set(others)))} sends /tf')
        return
    senders = [name for name in heard.transform_senders if not name.endswith(TF_PUBLISHERS)]
    if not senders:
        made.set(KINEMATICS, 'publish_tf', True, 'no other node sends /tf')
    else:
        made.leave(
            'publish_tf',
            f'/tf comes from {shorten(senders)}; whether these are frames of this '
            'robot is not known here. While they are, the nodes send none',
        )


def suggest_names(
    made: Suggestion, heard: SessionData, driver: Driver | None, prefix: str, *, with_wrenches: bool
) -> None:
    """Set joints and frames of a known driver."""
    if driver is None:
        made.leave('joints, frames', 'the joints are of no driver that is known here')
        return
    joints = [prefix + name for name in driver.facts.joints]
    there = [name for name in joints if name in heard.robot.joint_names]
    made.set(
        DYNAMICS, 'joints', there, f'in the order of the controllers of the driver {driver.name}'
    )
    frame = prefix + driver.facts.tool_frame
    for section in (KINEMATICS, *((WRENCHES,) if with_wrenches else ())):
        made.set(section, 'frames', [frame], f'the flange or tool of the driver {driver.name}')


def suggest_controllers(made: Suggestion, heard: SessionData) -> None:
    """Follow the one trajectory controller; name the topics that commands can go to."""
    states = [name for name, types in heard.topics.items() if CONTROLLER_STATE in types]
    states = [name for name in states if not name.endswith('/state')] or states
    if len(states) == 1:
        made.set(
            DYNAMICS,
            'controller_state_topic',
            states[0],
            'the only trajectory controller: the feedforward follows its reference',
        )
    elif states:
        made.leave('controller_state_topic', f'there are {shorten(sorted(states))}')
    for topic, types in sorted(heard.topics.items()):
        if COMMANDS in types and topic.endswith('/commands') and 'effort' in topic:
            made.notes.append(
                f'{topic} may be that of an effort controller: remap ~/commands of dynamics to it'
            )


def suggest_compensation(made: Suggestion, driver: Driver | None) -> None:
    """Set what the robot adds to torque commands, which only its documentation tells."""
    name = 'compensated_terms'
    if driver is not None and driver.name != 'generic':
        terms = driver.terms(DYNAMICS, name)
        made.set(DYNAMICS, name, list(terms), f'by the documentation of the driver {driver.name}')
    else:
        made.leave(
            name,
            'what the robot adds to torque commands by itself does not show in its joint states; '
            'see its documentation: gravity that is added twice lifts the arm',
        )


def note_degrees(made: Suggestion, heard: SessionData) -> None:
    """Say that positions may be in degrees, if they are beyond limits then only."""
    limits = heard.robot.limits
    if not heard.mapper.accepted or len(limits.lower) != len(heard.mapper.joints):
        return
    q = heard.mapper.state[0]
    beyond = (q < limits.lower - 0.5) | (q > limits.upper + 0.5)
    in_degrees = np.radians(q)
    fits = (in_degrees >= limits.lower - 0.01) & (in_degrees <= limits.upper + 0.01)
    if beyond.any() and fits.all():
        names = [name for name, each in zip(heard.mapper.joints, beyond) if each]
        made.notes.append(
            f'positions of {shorten(names)} are beyond the limits, and within them if they are in '
            'degrees: joint states must be in rad'
        )
