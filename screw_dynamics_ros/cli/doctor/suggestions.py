# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters determined from the topics of a running robot.

Undetermined parameters keep their defaults and are reported with a way to determine them, because a
wrong sign or term moves a robot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.estimation.effort_terms import TERMS
from screw_dynamics_ros.core.identification.effort_scales import (
    MIN_POSES,
    EffortScale,
    effort_scale,
)
from screw_dynamics_ros.ros.drivers import Driver, presets, read_driver, recognized
from screw_dynamics_ros.ros.names import shorten

from ..report import Section
from .efforts import (
    FRICTION_SHARE,
    MIN_GRAVITY_SHARE,
    MIN_GRAVITY_TORQUE,
    WEIGHT,
    Poses,
    best_contents,
    described,
    poses_at_rest,
    sum_of,
)
from .session_data import SessionData
from .suggestion import BRINGUP, DYNAMICS, KINEMATICS, SHARED, WRENCHES, Suggestion
from .topics import efforts

STATE_TIMEOUT = 0.5  # s, of the nodes
DEFAULT_AGE_LIMIT_S = 0.1  # s, default of age_limit, after which torques end
TF_PUBLISHERS = ('/bringup', '/kinematics')  # nodes of this package that publish /tf
CONTROLLER_STATE = 'control_msgs/msg/JointTrajectoryControllerState'
COMMANDS = 'std_msgs/msg/Float64MultiArray'
NAMES = 'effort_terms, effort_scale'
LINE_FIT_TOLERANCE = 0.1  # largest misfit of a line through several poses
MIN_EFFORT = 0.02  # fraction of gravity torque below which an effort is treated as zero
MORE_POSES_HINT = (
    'move the robot to three or more poses, stop in each for a second, and record them all '
    '(--seconds)'
)


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


def suggest_efforts(made: Suggestion, heard: SessionData, driver: Driver | None) -> bool:
    """Suggest the calibration of efforts; return whether it makes them torques."""
    if not heard.states:
        lacking = heard.lacking.get('effort', Counter())
        never = [joint for joint, count in lacking.items() if count == len(heard.arrivals)]
        whose = f'; efforts of {shorten(sorted(never))} are always missing' if never else ''
        made.leave(NAMES, f'no joint state contains the efforts of all joints{whose}')
        return False
    wrong = heard.motions.findings(heard.robot.description)
    if wrong:
        whose = ', '.join(dict.fromkeys(each.subject for each in wrong))
        made.leave(NAMES, f'contradictory states of {whose} do not show when the robot rests')
        return False
    poses = poses_at_rest(efforts(heard, calibrated=False))
    if poses is None:
        made.leave(NAMES, 'the robot was never at rest; stop it')
        return False
    if not poses.conclusive.any():
        made.leave(NAMES, 'the gravity torques are too small in this pose; stretch the arm')
        return False
    unit = 'unknown' if driver is None else driver.effort(heard.text)
    known = len(made.lines)
    are_torques = suggest_terms_or_scales(made, poses, unit, driver)
    if driver is not None and driver.condition and len(made.lines) > known:
        suggest_condition(made, heard.text, driver)
    return are_torques


def suggest_terms_or_scales(
    made: Suggestion, poses: Poses, unit: str, driver: Driver | None
) -> bool:
    """Suggest effort_terms for torques, else scales; return whether all are torques then."""
    lacks_gravity = 'gravity' not in documented_terms(driver)
    if unit != 'current':
        is_stated = unit == 'torque' and lacks_gravity
        inverted = reversed_joints(poses)
        straight = poses.with_signs(np.where(inverted, -1.0, 1.0))
        content = content_of(straight, FRICTION_SHARE if is_stated else MIN_EFFORT)
        if content is not None:
            suggest_terms(made, straight, content, driver, list(compress(poses.joints, inverted)))
            return bool(content) or (lacks_gravity and bool(poses.measured.any()))
    known = len(made.lines)
    has_all = suggest_scales(made, poses, unit)
    if lacks_gravity and len(made.lines) > known:
        made.set(SHARED, 'effort_terms', list(TERMS), 'scaled currents are motor torques')
    return has_all


def suggest_condition(made: Suggestion, urdf: str, driver: Driver) -> None:
    """Suggest the condition for this unit of efforts."""
    condition = driver.condition_of(urdf)
    made.set(
        SHARED,
        'effort_condition',
        condition,
        f'from the description; with another value the driver {driver.name} reports other units'
        if condition
        else f'the description lacks {driver.condition.partition("=")[0]}, on which the unit of '
        'efforts depends: the other parameters are from efforts at rest only',
    )


def documented_terms(driver: Driver | None) -> tuple[str, ...]:
    """Return the terms in the efforts of a driver; all terms if they are unknown."""
    return (() if driver is None else driver.terms(SHARED, 'effort_terms')) or TERMS


# --- torques --------------------------------------------------------------------------------------


def reversed_joints(poses: Poses) -> NDArray[np.bool_]:
    """Return which joints (n,) have efforts of the opposite sign; none if all may have them.

    Then the robot may hang instead.
    """
    intervals = [poses.ratio(i) for i in range(len(poses.joints))]
    inverted = np.array([each is not None and each[1] < 0.0 for each in intervals])
    known = np.array([each is not None for each in intervals])
    return inverted & bool((known & ~inverted).any())


def content_of(poses: Poses, most: float) -> tuple[str, ...] | None:
    """Return the weights that efforts contain if they are torques in each pose, else None.

    Efforts without weights are at most `most` times the gravity torques; small currents are too.
    """
    e = poses.measured[:, poses.conclusive]
    weight = {name: part[:, poses.conclusive] for name, part in poses.weight.items()}
    fitting, is_good = best_contents(
        e.ravel(), {name: part.ravel() for name, part in weight.items()}
    )
    content = fitting[0]
    if not weight['payload'].any():  # all weights, or none
        content = WEIGHT if 'gravity' in content else ()
    largest = np.abs(sum_of(WEIGHT, weight)).max()
    if not content:
        return () if np.abs(e).max() <= most * largest else None
    torque = sum_of(content, weight)
    near = np.abs(e - torque) <= FRICTION_SHARE * np.maximum(
        np.abs(torque), MIN_GRAVITY_SHARE * largest
    )
    return content if is_good and near.all() else None


def suggest_terms(
    made: Suggestion,
    poses: Poses,
    content: tuple[str, ...],
    driver: Driver | None,
    inverted: Sequence[str] = (),
) -> None:
    """Suggest effort_terms, and the sign of efforts of `inverted` joints.

    Terms of motion, unknown at rest, are from the preset. Only joints whose efforts are those of
    the model are reported to contain them.
    """
    documented = () if driver is None else driver.terms(SHARED, 'effort_terms')
    motion = [t for t in TERMS if t not in WEIGHT and (not documented or t in documented)]
    has_payload = bool(poses.weight['payload'].any())
    borne = described(content if has_payload or not content else ('gravity',))
    apart = np.abs(poses.measured - sum_of(content, poses.weight))[:, poses.conclusive].max()
    whence = f'from the driver preset {driver.name}' if driver and documented else 'unknown'
    made.set(
        SHARED,
        'effort_terms',
        [term for term in TERMS if term in (*content, *motion)],
        f'at rest they contain {borne}, to {apart:.2g} N m or N{unchecked(poses, content)}; '
        'terms of motion '
        f'({", ".join(motion)}): {whence}' + ('' if has_payload else '; no payload is configured'),
    )
    if inverted:
        made.set(
            SHARED,
            'effort_joints',
            list(inverted),
            f'the efforts of {shorten(list(inverted))} have the opposite sign of the model in '
            f'{len(poses.measured)} poses at rest',
        )
        made.set(SHARED, 'effort_scale', [-1.0] * len(inverted), 'the opposite sign')
    if not content and 'gravity' in documented_terms(driver):
        made.leave(
            'effort_terms',
            'poses at rest do not show whether they are torques without gravity, as suggested, or '
            "external torques (['']): see the documentation of the driver",
        )


def unchecked(poses: Poses, content: tuple[str, ...]) -> str:
    """Return a text about the joints whose efforts are not those of the model, or may not be."""
    if not content:
        return ''
    whole = zip(poses.joints, poses.conclusive, (poses.ratio(i) for i in range(len(poses.joints))))
    unknown, other = [], []
    for joint, is_conclusive, ratio in whole:
        if is_conclusive:
            continue
        if ratio is None or (ratio[0] < 1.0 - FRICTION_SHARE <= ratio[1]):
            unknown.append(joint)
        elif not ratio[0] <= 1.0 <= ratio[1] and abs(sum(ratio) / 2.0 - 1.0) > FRICTION_SHARE:
            other.append(f'{joint} {sum(ratio) / 2.0:.2f}')
    text = f'; not those of {", ".join(other)} (efforts per torque)' if other else ''
    return text + (f'; of {shorten(unknown)} gravity is too small' if unknown else '')


# --- other units ----------------------------------------------------------------------------------


def suggest_scales(made: Suggestion, poses: Poses, unit: str) -> bool:
    """Suggest scales from efforts to torques; return whether all joints have one."""
    known = 'motor currents according to the driver preset; ' if unit == 'current' else ''
    if len(poses.measured) < MIN_POSES:
        made.leave(NAMES, known + undecided(poses))
        return False
    least = max(MIN_GRAVITY_TORQUE, MIN_GRAVITY_SHARE * float(np.abs(poses.total).max()))
    fits: dict[str, EffortScale | None] = {
        joint: effort_scale(poses.total[:, i], poses.measured[:, i], least)
        for i, joint in enumerate(poses.joints)
    }
    fitted = {joint: fit for joint, fit in fits.items() if fit is not None}
    bent = [
        joint for joint, fit in fitted.items() if fit.misfit > LINE_FIT_TOLERANCE or not fit.scale
    ]
    if bent or not fitted:
        made.leave(
            NAMES,
            f'{known}efforts of {shorten(bent or poses.joints)} are not proportional to the '
            'torques of the model: friction, contacts, or a wrong description',
        )
        return False
    if all(abs(fit.scale + 1.0) <= FRICTION_SHARE for fit in fitted.values()):
        made.leave(
            NAMES,
            'efforts have the opposite sign of the model: either the driver inverts them, then '
            'effort_scale is -1 for all joints, or the robot is mounted upside down (gravity)',
        )
        return False
    worst = max(fit.misfit for fit in fitted.values())
    made.set(
        SHARED,
        'effort_joints',
        list(fitted),
        f'{known}linear fits to {len(poses.measured)} poses at rest, with errors of '
        f'{100.0 * worst:.2g} % of the change of the torques',
    )
    scales = [round(fit.scale, 4) for fit in fitted.values()]
    offsets = [round(fit.offset, 3) for fit in fitted.values()]
    made.set(SHARED, 'effort_scale', scales, 'torque per effort, from these fits')
    made.set(SHARED, 'effort_offset', offsets, 'from these fits')
    unfitted = [joint for joint in poses.joints if joint not in fitted]
    if unfitted:
        made.leave(
            f'effort_scale of {shorten(unfitted)}',
            f'the gravity torques of these joints are the same in all poses, or zero: '
            f'{MORE_POSES_HINT}; or record a motion and use identify',
        )
    return not unfitted


def undecided(poses: Poses) -> str:
    """Return why too few poses do not determine a scale."""
    largest = np.abs(poses.total).argmax(axis=0), np.arange(len(poses.joints))
    ratios = poses.measured[largest] / np.where(poses.conclusive, poses.total[largest], 1.0)
    ratios = ratios[poses.conclusive]
    names = [joint for joint, each in zip(poses.joints, poses.conclusive) if each]
    text = ', '.join(f'{name} {ratio:.2f}' for name, ratio in zip(names, ratios))
    return (
        f'efforts are not the torques of the model (efforts per torque: {text}): currents, another '
        'sign or gear ratio, an offset, a contact, or a link or payload missing in the '
        f'description; {len(poses.measured)} pose(s) do not determine which: {MORE_POSES_HINT}'
    )
