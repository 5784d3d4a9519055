# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Report of `doctor` on a running robot: joint states, efforts, publishers of transforms."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from screw_dynamics_ros.core.description.robot_description import Finding
from screw_dynamics_ros.core.description.ros2_control import unmet_condition
from screw_dynamics_ros.core.motion.trajectory.payload_capacity import holding_torques, own_bodies
from screw_dynamics_ros.core.tree.joint_limits import of_velocities
from screw_dynamics_ros.nodes.model.scalar_joints import coordinates, scalar_joints
from screw_dynamics_ros.nodes.parameters.base_parameters import FIXED

from ..report import Section
from .efforts import RecordedEfforts, efforts_section
from .session_data import ENFORCE, SessionData

MAX_RESERVE = 10.0  # effort limits over the torques that hold the robot; larger ones are no limits
MAX_IRREGULAR_SHARE = 0.01  # of the messages; more irregular messages are reported


def topic_sections(heard: SessionData) -> Iterator[Section]:
    """Yield the sections on joint states, efforts and transforms."""
    yield joint_states_section(heard)
    if ENFORCE in heard.configuration.values:
        yield command_limits_section(heard)
    contradictions = heard.motions.findings(heard.robot.description)
    if contradictions:
        whose = ', '.join(dict.fromkeys(each.subject for each in contradictions))
        yield Section('efforts at rest', [f'skipped: contradictory states of {whose}'])
    elif is_free(heard):
        what = 'skipped: pose and contacts of a free base, or poses of ball joints, are unknown'
        yield Section('efforts at rest', [what])
    elif heard.states:
        yield efforts_section(efforts(heard))
    if heard.transform_senders is not None:
        yield transforms_section(heard.transform_senders)


def command_limits_section(heard: SessionData) -> Section:
    """Return what the joint limiter of a running controller_manager does with efforts."""
    enforced = heard.configuration.values[ENFORCE]
    owner = heard.configuration.owners[ENFORCE]
    section = Section('command limits', [f'{ENFORCE} of {owner} is {str(bool(enforced)).lower()}'])
    if enforced:
        section.lines.append(
            'efforts are clamped to the effort limits; they are 0 towards a position limit that is '
            'reached, and in the direction of a motion faster than the velocity limit'
        )
    return section


def is_free(heard: SessionData) -> bool:
    """Whether the base of the robot is not fixed, or joint states lack an orientation."""
    joints = heard.robot.description.joints
    source = heard.configuration.values.get('base_source', FIXED)
    return source != FIXED or any(joint.kind.has_quaternion for joint in joints)


def efforts(heard: SessionData, *, calibrated: bool = True) -> RecordedEfforts:
    """Return measured efforts, and torques of the configured model.

    Efforts are `calibrated` as by the nodes, or as reported by the driver.
    """
    configuration, robot = heard.configuration, heard.robot
    if configuration.gravity is not None:
        robot.gravity = configuration.gravity
    q, v, tau = (np.array(values) for values in zip(*heard.states))
    places, velocities = coordinates(robot, scalar_joints(robot))
    whole = np.tile(robot.neutral(), (len(q), 1))
    whole[:, places] = q
    rest = np.zeros((len(q), robot.nv))
    links = robot.link_names
    bodies = {link: body for link, (body, _) in configuration.payloads.items() if link in links}
    payload = np.zeros((len(q), robot.nv))
    if bodies:
        payload = robot.payload_torques(whole, rest, rest, bodies)
    plausible = MAX_RESERVE * holding_torques(robot, own_bodies(robot))
    limits = np.minimum(of_velocities(robot, robot.limits.effort), plausible)
    joints = list(heard.mapper.joints)
    return RecordedEfforts(
        joints,
        v,
        configuration.calibrated(joints, tau) if calibrated else tau,
        robot.gravity_torques(whole)[:, velocities],
        payload[:, velocities],
        configuration,
        unmet_condition(heard.text, configuration.values.get('effort_condition', '')),
        q,
        limits[velocities],
    )


def joint_states_section(heard: SessionData) -> Section:
    """Return rate and faults of joint states."""
    section = Section('joint states')
    mapper, messages = heard.mapper, len(heard.arrivals)
    sent_by = listed(heard.joint_state_senders)
    if not messages:
        section.findings.append(
            Finding(
                'error',
                'joint_states',
                f'no message arrived; publishers: {sent_by}',
                'start the driver, remap joint_states, or check ROS_DOMAIN_ID',
            )
        )
        return section
    section.lines.append(f'from {sent_by}')
    gaps = np.diff(heard.arrivals)
    if len(gaps):
        section.lines.append(f'{1.0 / gaps.mean():.1f} Hz, longest gap {gaps.max() * 1e3:.1f} ms')
    section.lines.append(
        f'{mapper.accepted} states of {len(mapper.joints)} joints out of {messages} messages'
    )
    if not mapper.accepted:
        section.findings.append(Finding('error', 'joint_states', 'do not give a complete state'))
    section.findings += [
        Finding.warning(
            'joint_states',
            f'{reason.value}: {record.detail} ({record.count} of {messages} messages)',
        )
        for reason, record in mapper.records.items()
        if record.count > MAX_IRREGULAR_SHARE * messages
    ]
    section.findings += heard.motions.findings(heard.robot.description)
    return section


def transforms_section(sent_by: list[str]) -> Section:
    """Return the publishers of transforms; two publishers of the same frames make them jump."""
    section = Section('transforms', [f'/tf is published by {listed(sent_by)}'])
    publishers = [name for name in sent_by if name.endswith('robot_state_publisher')]
    ours = [name for name in sent_by if name.endswith(('/bringup', '/kinematics'))]
    if publishers and ours:
        section.findings.append(
            Finding(
                'info',
                '/tf',
                f'both {listed(publishers)} and {listed(ours)} can publish it',
                'ours does not publish while the other one runs',
            )
        )
    return section


def listed(names: list[str]) -> str:
    """Return names as text."""
    return ', '.join(names) or 'no node'
