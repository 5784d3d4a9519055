# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What efforts are and contain, as far as poses at rest tell it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from screw_dynamics_ros.cli.doctor.efforts import (
    FRICTION_SHARE,
    MAX_REST_VELOCITY,
    MIN_GRAVITY_SHARE,
    MIN_GRAVITY_TORQUE,
    WEIGHT,
    RecordedEfforts,
    best_contents,
    described,
    sum_of,
)
from screw_dynamics_ros.cli.doctor.session_data import TERMS, SessionData
from screw_dynamics_ros.cli.doctor.suggestion import SHARED, Suggestion
from screw_dynamics_ros.cli.doctor.topics import efforts
from screw_dynamics_ros.core.measurement.identification.effort_scales import (
    MIN_POSES,
    EffortScale,
    effort_scale,
)
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.drivers import Driver
from screw_dynamics_ros.ros.names import shorten

NAMES = 'effort_terms, effort_scale'
MIN_POSE_DISTANCE = 0.1  # rad, m, between poses
POSE_SAMPLES = 5  # of a pose
LINE_FIT_TOLERANCE = 0.1  # largest misfit of a line through several poses
MIN_EFFORT = 0.02  # fraction of gravity torque below which an effort counts as zero
MORE_POSES_HINT = (
    'move the robot to three or more poses, stop in each for a second, and record them all '
    '(--seconds)'
)


@dataclass(frozen=True)
class Poses:
    """A robot at rest in k poses.

    Attributes
    ----------
    joints : list of str
    measured : (k, n) array
        Efforts as the driver reports them.
    weight : {term of `WEIGHT`: (k, n) array}
        Torques of the model [N m, N].
    telling : (n,) array of bool
        Joints that bear enough to tell something.
    """

    joints: list[str]
    measured: Array
    weight: dict[str, Array]
    telling: Array

    @property
    def total(self) -> Array:
        """What the joints bear, (k, n) [N m, N]."""
        return sum_of(WEIGHT, self.weight)


def suggest_efforts(made: Suggestion, heard: SessionData, driver: Driver | None) -> bool:
    """Suggest what makes torques of efforts; return whether they are known to be torques then."""
    if not heard.states:
        lacking = heard.lacking.get('effort', Counter())
        never = [joint for joint, count in lacking.items() if count == len(heard.arrivals)]
        whose = f'; those of {shorten(sorted(never))} never come' if never else ''
        made.leave(NAMES, f'no joint state has the efforts of all joints{whose}')
        return False
    q = np.array([q for q, *_ in heard.states])
    poses = poses_at_rest(efforts(heard, calibrated=False), q)
    if poses is None:
        made.leave(NAMES, 'the robot moved all the time; hold it still')
        return False
    if not poses.telling.any():
        made.leave(NAMES, 'the torques of gravity are too small here; stretch the arm out')
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
    """Suggest effort_terms for torques, scales for others; return whether all are torques then."""
    lacks_gravity = 'gravity' not in documented_terms(driver)
    if unit != 'current':
        is_stated = unit == 'torque' and lacks_gravity
        content = content_of(poses, FRICTION_SHARE if is_stated else MIN_EFFORT)
        if content is not None:
            suggest_terms(made, poses, content, driver)
            return bool(content) or (lacks_gravity and bool(poses.measured.any()))
    known = len(made.lines)
    has_all = suggest_scales(made, poses, unit)
    if lacks_gravity and len(made.lines) > known:
        made.set(
            SHARED, 'effort_terms', list(TERMS), 'currents by these scales are torques of motors'
        )
    return has_all


def suggest_condition(made: Suggestion, urdf: str, driver: Driver) -> None:
    """Suggest the condition under which efforts are what they are here."""
    condition = driver.condition_of(urdf)
    made.set(
        SHARED,
        'effort_condition',
        condition,
        f'so it is in the description; with another value the driver {driver.name} reports others'
        if condition
        else f'the description does not have {driver.condition.partition("=")[0]}, on which the '
        'unit of efforts depends: the other parameters are by efforts at rest alone',
    )


def documented_terms(driver: Driver | None) -> tuple[str, ...]:
    """Return the terms in the efforts of a driver, all if they are not known."""
    return (() if driver is None else driver.terms(SHARED, 'effort_terms')) or TERMS


def poses_at_rest(found: RecordedEfforts, q: Array) -> Poses | None:
    """Return means over the samples (N, n) of each pose at rest, None if there is none."""
    still = np.flatnonzero(np.abs(found.v).max(axis=1, initial=0.0) < MAX_REST_VELOCITY)
    groups: list[list[int]] = []
    for k in still.tolist():
        for group in groups:
            if np.abs(q[k] - q[group[0]]).max(initial=0.0) < MIN_POSE_DISTANCE:
                group.append(k)
                break
        else:
            groups.append([k])
    groups = [group for group in groups if len(group) >= min(POSE_SAMPLES, len(still))]
    if not groups:
        return None
    measured, gravity, payload = (
        np.array([values[group].mean(axis=0) for group in groups])
        for values in (found.measured, found.gravity, found.payload)
    )
    total = np.abs(gravity + payload)
    telling = total.max(axis=0) >= max(
        MIN_GRAVITY_TORQUE, MIN_GRAVITY_SHARE * total.max(initial=0.0)
    )
    return Poses(found.joints, measured, dict(zip(WEIGHT, (gravity, payload))), telling)


# --- torques --------------------------------------------------------------------------------------


def content_of(poses: Poses, most: float) -> tuple[str, ...] | None:
    """Return which weights efforts contain, if they are torques in each pose and joint, else None.

    Efforts without any are at most `most` times the torques of gravity: currents are small, too.
    """
    e = poses.measured[:, poses.telling]
    weight = {name: part[:, poses.telling] for name, part in poses.weight.items()}
    fitting, is_good = best_contents(
        e.ravel(), {name: part.ravel() for name, part in weight.items()}
    )
    content = fitting[0]
    if not weight['payload'].any():  # whatever the joints bear, or nothing
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
    made: Suggestion, poses: Poses, content: tuple[str, ...], driver: Driver | None
) -> None:
    """Suggest effort_terms; terms of motion, which do not show at rest, as in the preset."""
    documented = () if driver is None else driver.terms(SHARED, 'effort_terms')
    motion = [t for t in TERMS if t not in WEIGHT and (not documented or t in documented)]
    has_payload = bool(poses.weight['payload'].any())
    borne = described(content if has_payload or not content else ('gravity',))
    apart = np.abs(poses.measured - sum_of(content, poses.weight))[:, poses.telling].max()
    whence = f'as in the driver preset {driver.name}' if driver and documented else 'not known'
    made.set(
        SHARED,
        'effort_terms',
        [term for term in TERMS if term in (*content, *motion)],
        f'at rest they contain {borne}, to {apart:.2g} N m or N; terms of motion '
        f'({", ".join(motion)}): {whence}' + ('' if has_payload else '; no payload is configured'),
    )
    if not content and 'gravity' in documented_terms(driver):
        made.leave(
            'effort_terms',
            "whether they are torques without gravity, as suggested, or external torques (['']), "
            'is not known at rest: see the documentation of the driver',
        )


# --- other units ----------------------------------------------------------------------------------


def suggest_scales(made: Suggestion, poses: Poses, unit: str) -> bool:
    """Suggest scales by which efforts become torques; return whether all joints have one."""
    known = 'they are motor currents by the driver preset; ' if unit == 'current' else ''
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
            f'{known}efforts of {shorten(bent or poses.joints)} are no multiple of the torques of '
            'the model: friction, contacts, or a description that is not that of the robot',
        )
        return False
    if all(abs(fit.scale + 1.0) <= FRICTION_SHARE for fit in fitted.values()):
        made.leave(
            NAMES,
            'efforts have the sign opposite to that of the model: either the driver has it, then '
            'effort_scale is -1 for all joints, or gravity points the other way (the robot hangs)',
        )
        return False
    worst = max(fit.misfit for fit in fitted.values())
    made.set(
        SHARED,
        'effort_joints',
        list(fitted),
        f'{known}straight lines through {len(poses.measured)} poses at rest, to '
        f'{100.0 * worst:.2g} % of the change of the torques',
    )
    scales = [round(fit.scale, 4) for fit in fitted.values()]
    offsets = [round(fit.offset, 3) for fit in fitted.values()]
    made.set(SHARED, 'effort_scale', scales, 'torques per effort, by these lines')
    made.set(SHARED, 'effort_offset', offsets, 'by these lines')
    unfitted = [joint for joint in poses.joints if joint not in fitted]
    if unfitted:
        made.leave(
            f'effort_scale of {shorten(unfitted)}',
            f'gravity loads these joints alike in all poses, or not at all: {MORE_POSES_HINT}; or '
            'record a motion and use identify',
        )
    return not unfitted


def undecided(poses: Poses) -> str:
    """Return why too few poses do not tell a scale."""
    largest = np.abs(poses.total).argmax(axis=0), np.arange(len(poses.joints))
    ratios = poses.measured[largest] / np.where(poses.telling, poses.total[largest], 1.0)
    ratios = ratios[poses.telling]
    names = [joint for joint, each in zip(poses.joints, poses.telling) if each]
    text = ', '.join(f'{name} {ratio:.2f}' for name, ratio in zip(names, ratios))
    return (
        f'efforts are not the torques of the model (efforts per torque: {text}): currents, another '
        'sign or gear ratio, an offset, a contact, or a link or payload missing in the '
        f'description; {len(poses.measured)} pose(s) do not tell which: {MORE_POSES_HINT}'
    )
