# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Comparison of the efforts of a robot at rest with the model.

The parameter `effort_terms` of the nodes states which terms efforts contain. At rest, Coriolis and
inertial torques are zero, so only gravity and payload can be checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.description.robot_description import Finding
from screw_dynamics_ros.core.estimation.effort_terms import TERMS
from screw_dynamics_ros.core.identification.effort_scales import effort_ratio
from screw_dynamics_ros.core.state_checks import joints_subject
from screw_dynamics_ros.core.types import Array

from ..report import Section
from .session_data import Configuration

MAX_REST_VELOCITY = 0.02  # rad/s, m/s
MAX_REST_MOTION = 0.01  # rad, m, of all positions
MIN_GRAVITY_SHARE = 0.1  # of the largest gravity torque: smaller ones are not conclusive
MIN_GRAVITY_TORQUE = 0.5  # N m, N: likewise
CURRENT_CORRELATION = 0.95  # with gravity torques; higher values suggest currents
MIN_CURRENT_RATIO = 0.02  # to gravity torques; higher values may be currents
MIN_POSE_DISTANCE = 0.1  # rad, m, between poses
POSE_SAMPLES = 5  # per pose
LARGE_RATIO = 100.0  # of efforts to torques, from which on digits mean nothing
FRICTION_LIMIT_SHARE = 0.05  # of the effort limit, attributed to static friction
FRICTION_SHARE = 0.3  # of the gravity torque, attributed to static friction and calibration

#: Possible terms of WEIGHT in efforts at rest, the most likely first.
WEIGHT = ('gravity', 'payload')
CONTENTS = (('gravity', 'payload'), ('gravity',), ('payload',), ())


@dataclass(frozen=True, eq=False)
class RecordedEfforts:
    """Measured efforts and torques of the model.

    Attributes
    ----------
    joints : list of str
        n joints.
    v : (samples, n) array
        Velocities [rad/s, m/s].
    measured, gravity, payload : (samples, n) arrays
        Efforts of the driver, in the units of the nodes, and gravity torques of the robot and its
        payload [N m, N].
    configuration : Configuration
        The configuration of the nodes.
    unused : str
        Reason why the nodes do not use efforts, empty if they do.
    q : (samples, n) array, optional
        Positions [rad, m]; without them all samples are of one pose.
    limits : (n,) array, optional
        Effort limits [N m, N].
    """

    joints: list[str]
    v: Array
    measured: Array
    gravity: Array
    payload: Array
    configuration: Configuration
    unused: str = ''
    q: Array | None = None
    limits: Array | None = None

    @property
    def rests(self) -> bool:
        """Whether no position changes; velocities may be noisy or wrong."""
        return (
            self.q is not None
            and len(self.q) >= POSE_SAMPLES
            and bool(np.ptp(self.q, axis=0).max(initial=0.0) < MAX_REST_MOTION)
        )

    @property
    def still(self) -> NDArray[np.bool_]:
        """The samples at rest, (samples,)."""
        return (np.abs(self.v).max(axis=1, initial=0.0) < MAX_REST_VELOCITY) | self.rests


@dataclass(frozen=True, eq=False)
class Poses:
    """A robot at rest in k poses.

    Attributes
    ----------
    joints : list of str
    measured : (k, n) array
        Efforts reported by the driver.
    weight : {term of `WEIGHT`: (k, n) array}
        Torques of the model [N m, N].
    conclusive : (n,) array of bool
        Joints with a sufficiently large gravity torque.
    """

    joints: list[str]
    measured: Array
    weight: dict[str, Array]
    conclusive: Array

    @property
    def total(self) -> Array:
        """Gravity torques including the payload, (k, n) [N m, N]."""
        return sum_of(WEIGHT, self.weight)

    def ratio(self, joint: int) -> tuple[float, float] | None:
        """Return the interval of the ratio of efforts of a joint to its torques, if determined."""
        return effort_ratio(self.total[:, joint], self.measured[:, joint], MIN_GRAVITY_TORQUE)

    def with_signs(self, signs: Array) -> Poses:
        """Return poses with efforts of some joints reversed, by factors (n,)."""
        return replace(self, measured=self.measured * signs)


def poses_at_rest(found: RecordedEfforts) -> Poses | None:
    """Return means over the samples of each pose at rest, or None."""
    still = np.flatnonzero(found.still)
    q = np.zeros_like(found.v) if found.q is None else found.q
    groups, left = [], still
    while len(left):
        near = np.abs(q[left] - q[left[0]]).max(axis=1, initial=0.0) < MIN_POSE_DISTANCE
        groups.append(left[near])
        left = left[~near]
    groups = [group for group in groups if len(group) >= min(POSE_SAMPLES, len(still))]
    if not groups:
        return None
    measured, gravity, payload = (
        np.array([values[group].mean(axis=0) for group in groups])
        for values in (found.measured, found.gravity, found.payload)
    )
    conclusive = are_conclusive(gravity + payload, found.limits)
    return Poses(found.joints, measured, dict(zip(WEIGHT, (gravity, payload))), conclusive)


def are_conclusive(torques: Array, limits: Array | None) -> NDArray[np.bool_]:
    """Return the joints (n,) whose torques (..., n), less friction, are not about zero."""
    largest = np.abs(torques).reshape(-1, torques.shape[-1]).max(axis=0)
    least = max(MIN_GRAVITY_TORQUE, MIN_GRAVITY_SHARE * float(largest.max(initial=0.0)))
    return largest >= np.maximum(least, friction_of(limits) / (1.0 - FRICTION_SHARE))


def friction_of(limits: Array | None) -> Array | float:
    """Return the torques attributed to static friction, by effort limits (n,) [N m, N]."""
    if limits is None:
        return 0.0
    return FRICTION_LIMIT_SHARE * np.where(np.isfinite(limits), limits, 0.0)


def efforts_section(efforts: RecordedEfforts) -> Section:
    """Compare the efforts of a robot at rest with gravity torques."""
    section = Section('efforts at rest')
    still = efforts.still
    if not still.any():
        section.lines.append('skipped: the robot moves; stop it for the comparison')
        return section
    if efforts.rests:
        section.findings += rest_velocity_findings(efforts)
    measured, *parts = (
        each[still].mean(axis=0) for each in (efforts.measured, efforts.gravity, efforts.payload)
    )
    weight = dict(zip(WEIGHT, parts))
    terms = efforts.configuration.terms
    section.lines += configured(efforts.configuration, weight)
    section.table(
        ('joint', 'reported', 'model [N m, N]'),
        [
            (name, f'{ours:.3f}', f'{theirs:.3f}')
            for name, ours, theirs in zip(efforts.joints, measured, sum_of(terms, weight))
        ],
    )
    section.findings += silent_nodes(efforts.configuration)
    if efforts.unused:
        message = f'the nodes do not use them, as effort_condition is not met: {efforts.unused}'
        remedy = 'record poses at rest with --suggest, which determines their unit'
        section.findings.append(Finding.warning('efforts', message, remedy))
    poses = poses_at_rest(efforts)
    if poses is not None:  # the mean of several poses would hide differences
        measured, weight = poses.measured, poses.weight
        if len(measured) > 1:
            section.lines.append(f'means over {len(measured)} poses, which are compared separately')
    section.findings += effort_findings(efforts.joints, measured, weight, terms, efforts.limits)
    return section


def rest_velocity_findings(efforts: RecordedEfforts) -> Iterator[Finding]:
    """Yield a finding about velocities of a robot at rest that are not zero, but for noise."""
    mean = np.abs(efforts.v.mean(axis=0))
    wrong = mean > MAX_REST_VELOCITY
    if wrong.any():
        yield Finding.warning(
            joints_subject(np.array(efforts.joints)[wrong]),
            f'the velocities are {mean.max():.3g} rad/s (m/s) although the positions do not change',
            'correct the driver, or remove the velocities from the joint states',
        )


def silent_nodes(configuration: Configuration) -> Iterator[Finding]:
    """Warn about nodes whose parameters are unknown, because conclusions may be wrong."""
    if configuration.silent:
        yield Finding.warning(
            'parameters',
            'no response from '
            f'{", ".join(configuration.silent)}: their gravity, payload and effort '
            'corrections are unknown',
            'increase --wait, or check whether the node hangs',
        )


def configured(configuration: Configuration, weight: dict[str, Array]) -> Iterator[str]:
    """Yield the configuration of the model, and the nodes that define it."""
    owner = configuration.owners.get('effort_terms')
    terms = written(configuration.terms)
    yield (
        f'effort_terms: {terms} in {owner}'
        if owner
        else f'no node or file has effort_terms; default: {terms}'
    )
    absent = '' if weight['payload'].any() else '; it loads no joint in this pose'
    for link, (body, owner) in configuration.payloads.items():
        yield f'payload: {body.mass:g} kg on {link}, configured in {owner}{absent}'
    if not configuration.payloads:
        yield 'no payload is configured: it cannot be determined whether they contain its weight'
    corrected = [joint for joint in configuration.values.get('effort_joints', ()) if joint]
    if corrected:
        yield (
            f'reported efforts of {", ".join(corrected)} corrected as configured in '
            f'{configuration.owners["effort_joints"]}'
        )


def effort_findings(
    joints: Sequence[str],
    measured: Array,
    weight: dict[str, Array],
    terms: Sequence[str],
    limits: Array | None = None,
) -> Iterator[Finding]:
    """Yield faults of efforts (n,) or (poses, n), and their terms if these differ from `terms`."""
    measured, weight = np.atleast_2d(measured), {k: np.atleast_2d(x) for k, x in weight.items()}
    largest = max(np.abs(part).max(initial=0.0) for part in weight.values())
    conclusive = are_conclusive(np.array(list(weight.values())), limits)
    if not conclusive.any():
        yield Finding(
            'info',
            'efforts',
            'the gravity torques are too small in this pose to check them',
            'stretch the arm and run this again',
        )
        return
    fitting, is_good = best_contents(
        measured[:, conclusive].ravel(),
        {name: part[:, conclusive].ravel() for name, part in weight.items()},
    )
    mine = tuple(term for term in WEIGHT if term in terms)
    if is_good and mine not in fitting:
        message = (
            'contain ' + described(fitting[0])
            if () not in fitting
            else f'are near zero, although gravity requires up to {largest:.3g} N m or N'
        )
        yield Finding.warning(
            'efforts',
            f'{message}, but according to effort_terms they contain {described(mine)}',
            remedy(fitting, terms, weight),
        )
        return
    if is_good and not mine:
        yield from currents(
            measured[:, conclusive].ravel(), sum_of(WEIGHT, weight)[:, conclusive].ravel()
        )
    yield from joint_findings(joints, measured, sum_of(mine, weight), limits)
    if not is_good and not mine:
        yield Finding.warning(
            'efforts',
            f'are up to {np.abs(measured).max():.3g} N m or N, '
            'but according to effort_terms they contain no weight',
            'a contact, or the driver reports something else',
        )
    if is_good and len(fitting) > 1 and weight['payload'].any():
        yield Finding(
            'info',
            'efforts',
            'this pose does not show whether they contain ' + ' or '.join(map(described, fitting)),
            'move to a pose in which the payload loads the joints more',
        )


def currents(measured: Array, total: Array) -> Iterator[Finding]:
    """Warn if efforts (k,) that should contain no weight are proportional to `total` (k,).

    One joint is not sufficient, because any two numbers are proportional.
    """
    lengths = np.linalg.norm(measured), np.linalg.norm(total)
    follows = abs(measured @ total) >= CURRENT_CORRELATION * lengths[0] * lengths[1]
    if len(measured) > 1 and follows and lengths[0] >= MIN_CURRENT_RATIO * lengths[1]:
        yield Finding.warning(
            'efforts',
            f'are {measured @ total / lengths[1] ** 2:.2g} times the gravity torques, but '
            'according to effort_terms they contain no weight',
            'motor currents? record three or more poses at rest with --suggest',
        )


def best_contents(measured: Array, weight: dict[str, Array]) -> tuple[list[tuple[str, ...]], bool]:
    """Return the contents with the best fit (several if equal), and whether they fit well."""
    scale = max(np.linalg.norm(sum_of(terms, weight)) for terms in CONTENTS)
    misfit = {
        terms: float(np.linalg.norm(measured - sum_of(terms, weight)) / scale) for terms in CONTENTS
    }
    least = min(misfit.values())
    return [
        terms for terms in CONTENTS if misfit[terms] <= least + MIN_GRAVITY_SHARE
    ], least <= FRICTION_SHARE


def sum_of(terms: Sequence[str], weight: dict[str, Array]) -> Array:
    """Return the torques (n,) at rest for efforts with these terms."""
    return sum(
        (weight[term] for term in WEIGHT if term in terms), start=np.zeros_like(weight['gravity'])
    )


def joint_findings(
    joints: Sequence[str], measured: Array, model: Array, limits: Array | None = None
) -> Iterator[Finding]:
    """Yield joints whose efforts (n,) or (poses, n) differ from the model, each one separately.

    Where gravity loads a joint less than others, and where the difference is small compared with
    its effort limit (n,), only a significant opposite sign is a finding.
    """
    measured, model = np.atleast_2d(measured), np.atleast_2d(model)
    least = max(MIN_GRAVITY_TORQUE, MIN_GRAVITY_SHARE * np.abs(model).max(initial=0.0))
    frictions = np.broadcast_to(friction_of(limits), len(joints))
    for joint, e, g, friction in zip(joints, measured.T, model.T, frictions):
        is_conclusive = np.abs(g).max() >= least and np.abs(e - g).max() > friction
        interval = effort_ratio(g, e, MIN_GRAVITY_TORQUE)
        is_reversed = interval is not None and interval[1] < 0.0
        if not is_conclusive and not is_reversed:
            continue
        ratio = float(e @ g / (g @ g))
        factor = f'{ratio:.2f}' if abs(ratio) < LARGE_RATIO else f'{ratio:.2g}'
        subject, message = f'joint {joint}', f'its effort is {factor} times that of the model'
        if ratio < -FRICTION_SHARE:
            to = ' to -1' if abs(ratio + 1.0) <= FRICTION_SHARE else ''
            yield Finding.warning(subject, message, f'opposite sign: set effort_scale{to}')
        elif abs(ratio - 1.0) > FRICTION_SHARE:
            yield Finding.warning(
                subject,
                message,
                'possible causes: a current or a gear ratio (effort_scale), an offset, a contact, '
                'or a payload or link missing in the description',
            )


def described(content: Sequence[str]) -> str:
    """Return the weight that efforts contain, as text."""
    return {
        ('gravity', 'payload'): 'the weight of the robot and of its payload',
        ('gravity',): 'the weight of the robot',
        ('payload',): 'the weight of the payload',
        (): 'no weight',
    }[tuple(content)]


def written(terms: Sequence[str]) -> str:
    """Return terms in the syntax of a parameter file."""
    return f'[{", ".join(terms)}]' if terms else "['']"


def remedy(
    fitting: Sequence[tuple[str, ...]], terms: Sequence[str], weight: dict[str, Array]
) -> str:
    """Return the parameter to set, or alternatives."""
    if not weight['payload'].any():  # cannot be determined without a payload
        with_payload = 'payload' in terms or not terms
        fitting = [content for content in fitting if ('payload' in content) == with_payload]
    rest = [term for term in terms if term not in WEIGHT] or TERMS[1:-1]
    choices = [
        f'effort_terms: {written([t for t in TERMS if t in (*content, *rest)])}'
        for content in fitting
    ]
    if not any('gravity' in content for content in fitting):
        choices.append("effort_terms: [''] for a driver of external torques")
    if weight['payload'].any() and ('gravity',) in fitting:
        choices.append('another payload_mass, if the robot does not carry it')
    return f'set {", or ".join(choices)}'
