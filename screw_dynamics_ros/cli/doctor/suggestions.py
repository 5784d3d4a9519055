# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters determined from the topics of a running robot.

Undetermined parameters keep their defaults and are reported with a way to determine them, because a
wrong sign or term moves a robot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from screw_dynamics_ros.ros.drivers import Driver, presets, read_driver, recognized
from screw_dynamics_ros.ros.names import shorten

from .effort_suggestions import suggest_efforts
from .section import Section
from .session_data import SessionData
from .suggestion import BRINGUP, DYNAMICS, KINEMATICS, SHARED, WRENCHES, Suggestion

STATE_TIMEOUT = 0.5  # s, of the nodes
DEFAULT_AGE_LIMIT_S = 0.1  # s, default of age_limit, after which torques end
TF_PUBLISHERS = ('/bringup', '/kinematics')  # nodes of this package that publish /tf
CONTROLLER_STATE = 'control_msgs/msg/JointTrajectoryControllerState'
COMMANDS = 'std_msgs/msg/Float64MultiArray'


def suggest(heard: SessionData, sections: Sequence[Section] = ()) -> Suggestion:
    """Return the suggestion; warnings in the report `sections` become notes."""
    made = Suggestion()
    joints, links = heard.robot.joint_names, heard.robot.link_names
    found = recognized(joints, links, [read_driver(path) for path in presets().values()])
    driver, prefix = found or (None, '')
    if driver is not None:
        made.notes.append(
            f'joints and frames match the driver preset {driver.name} (doc/start/drivers.md)'
            + (f', with the prefix {prefix}' if prefix else '')
        )
    suggest_velocities(made, heard)
    suggest_timeout(made, heard)
    are_torques = suggest_efforts(made, heard, driver)
    made.set(
        BRINGUP,
        'nodes',
        ['kinematics', 'dynamics', *(['wrench_estimator'] if are_torques else [])],
        'efforts at rest are the torques of the model, as far as stated at effort_terms'
        if are_torques
        else 'without wrench_estimator, because efforts may not be torques (see above)',
    )
    suggest_transforms(made, heard)
    suggest_names(made, heard, driver, prefix, with_wrenches=are_torques)
    suggest_controllers(made, heard)
    suggest_compensation(made, driver)
    made.notes += [
        f'{section.title}: {finding.subject}: {finding.message}'
        for section in sections
        for finding in section.findings
        if finding.severity in ('error', 'warning')
    ]
    return made


def suggest_velocities(made: Suggestion, heard: SessionData) -> None:
    """Set velocity_policy from the number of recorded velocities."""
    messages, lacking = len(heard.arrivals), heard.lacking.get('velocity', Counter())
    never = [joint for joint, count in lacking.items() if count == messages]
    if not messages:
        made.leave('velocity_policy', 'no joint state arrived')
    elif never:
        made.set(
            SHARED,
            'velocity_policy',
            'differentiate',
            f'none of {messages} joint states contains a velocity of {shorten(sorted(never))}: '
            'differentiate positions. With noisy positions set velocity_cutoff',
        )
    else:
        count = max(lacking.values(), default=0)
        made.set(
            SHARED,
            'velocity_policy',
            'differentiate',
            f'{messages - count} of {messages} joint states contain all velocities; missing ones '
            'are differentiated from positions',
        )


def suggest_timeout(made: Suggestion, heard: SessionData) -> None:
    """Set state_timeout if the driver is too slow for the default."""
    gaps = np.diff(heard.arrivals)
    if len(gaps) < 5:
        made.leave('state_timeout', f'{len(heard.arrivals)} joint states do not determine a rate')
        return
    longest, rate = float(gaps.max()), 1.0 / float(gaps.mean())
    if longest > 0.5 * STATE_TIMEOUT:
        made.set(
            SHARED,
            'state_timeout',
            round(2.0 * longest, 2),
            f'joint states arrive at {rate:.3g} Hz with gaps of up to {longest:.3g} s',
        )
    if longest > DEFAULT_AGE_LIMIT_S:
        made.notes.append(
            f'gaps between joint states of up to {longest:.3g} s: too slow to command torques, '
            'which end after age_limit (0.1 s)'
        )


def suggest_transforms(made: Suggestion, heard: SessionData) -> None:
    """Disable publish_tf if another node publishes the transforms."""
    if heard.nodes is None or heard.transform_senders is None:
        made.leave('publish_tf', 'a recording does not show which nodes publish /tf')
        return
    others = [
        name
        for name in (*heard.nodes, *heard.transform_senders)
        if name.rpartition('/')[2] == 'robot_state_publisher'
    ]
    if others:
        made.set(KINEMATICS, 'publish_tf', False, f'{shorten(sorted(set(others)))} publishes /tf')
        return
    senders = [name for name in heard.transform_senders if not name.endswith(TF_PUBLISHERS)]
    if not senders:
        made.set(KINEMATICS, 'publish_tf', True, 'no other node publishes /tf')
    else:
        made.leave(
            'publish_tf',
            f'{shorten(senders)} publishes /tf, maybe frames of this robot; then the nodes do not '
            'publish them',
        )


def suggest_names(
    made: Suggestion, heard: SessionData, driver: Driver | None, prefix: str, *, with_wrenches: bool
) -> None:
    """Set joints and frames of a known driver."""
    if driver is None:
        made.leave('joints, frames', 'the joints match no driver preset')
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
    """Set the only trajectory controller as reference; note topics for commands."""
    states = [name for name, types in heard.topics.items() if CONTROLLER_STATE in types]
    states = [name for name in states if not name.endswith('/state')] or states
    if len(states) == 1:
        made.set(
            DYNAMICS,
            'controller_state_topic',
            states[0],
            'state of the only trajectory controller: the feedforward follows its reference',
        )
    elif states:
        made.leave('controller_state_topic', f'there are {shorten(sorted(states))}')
    for topic, types in sorted(heard.topics.items()):
        if COMMANDS in types and topic.endswith('/commands') and 'effort' in topic:
            made.notes.append(
                f'{topic} may belong to an effort controller: remap ~/commands of dynamics to it'
            )


def suggest_compensation(made: Suggestion, driver: Driver | None) -> None:
    """Set the terms that the robot adds to torque commands, from its documentation."""
    name = 'compensated_terms'
    if driver is not None and driver.name != 'generic':
        terms = driver.terms(DYNAMICS, name)
        made.set(DYNAMICS, name, list(terms), f'from the documentation of the driver {driver.name}')
    else:
        made.leave(
            name,
            'joint states do not show which terms the robot adds to torque commands; see its '
            'documentation: gravity added twice lifts the arm',
        )
