# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What an MJCF says about the joints besides their place: effort limits and couplings."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from screw_dynamics_ros.core.description.mjcf_model import (
    HINGE,
    NONE_ID,
    SLIDE,
    CompiledModel,
    pose_of,
)
from screw_dynamics_ros.core.description.robot_description import Closure, Finding, Mimic
from screw_dynamics_ros.core.errors import DescriptionError

#: Values of mjtTrn, mjtGain, mjtBias and mjtEq.
ON_JOINT, FIXED_GAIN, NO_BIAS, JOINT_EQUALITY = (0, 1), 0, 0, 2

CONNECT, SITE = 0, 6  # of mjtEq and mjtObj

#: Types of equalities that are no part of the tree, and the pairs of their closures.
LOOPS = {CONNECT: ('connect', 'spherical'), 1: ('weld', 'weld')}


def effort_limits(compiled: CompiledModel) -> list[float]:
    """Return the effort limit of each joint [N m, N]: of the joint, or the sum of its actuators.

    An actuator of gear G has the force range F, or that of its control if it is a motor; its limit
    is |G| times the larger of the two bounds. Any actuator without a range makes it infinite.
    """
    model = compiled.model
    sums: dict[int, float] = {}
    for k in range(model.actuator_trntype.shape[0]):
        if model.actuator_trntype[k] in ON_JOINT:
            joint = int(model.actuator_trnid[k, 0])
            force = abs(float(model.actuator_gear[k, 0])) * _largest_force(compiled, k)
            sums[joint] = sums.get(joint, 0.0) + force
    limits = [sums.get(joint.id, math.inf) for joint in compiled.joints]
    for k in map(int, np.flatnonzero(model.jnt_actfrclimited)):
        limits[k] = min(limits[k], float(np.abs(model.jnt_actfrcrange[k]).max()))
    return limits


def reflected(compiled: CompiledModel, field: str) -> list[float]:
    """Return what the actuators add to a field of each joint: sums of G^2 times their own."""
    values, sums = compiled.numbers(f'actuator_{field}'), dict[int, float]()
    for k in map(int, np.flatnonzero(values)):
        joint = acted_joint(compiled, k)
        if joint is not None:
            gear = float(compiled.model.actuator_gear[k, 0])
            sums[joint] = sums.get(joint, 0.0) + gear * gear * float(values[k])
    return [sums.get(joint.id, 0.0) for joint in compiled.joints]


def acted_joint(compiled: CompiledModel, k: int) -> int | None:
    """Return the hinge or slide on which an actuator acts, None if it acts on something else."""
    model = compiled.model
    if model.actuator_trntype[k] not in ON_JOINT:
        return None
    joint = int(model.actuator_trnid[k, 0])
    return joint if model.jnt_type[joint] in (HINGE, SLIDE) else None


def _largest_force(compiled: CompiledModel, k: int) -> float:
    """Return the largest force of an actuator at gear 1; infinite without a range."""
    model = compiled.model
    if np.ravel(model.actuator_forcelimited[k]).all():
        return float(np.abs(model.actuator_forcerange[_address(compiled, 'out', k)]).max())
    is_motor = model.actuator_gaintype[k] == FIXED_GAIN and model.actuator_biastype[k] == NO_BIAS
    control = _address(compiled, 'ctrl', k)
    if is_motor and model.actuator_ctrllimited[control]:
        gain = abs(float(model.actuator_gainprm[k, 0]))
        return gain * float(np.abs(model.actuator_ctrlrange[control]).max())
    return math.inf


def _address(compiled: CompiledModel, what: str, k: int) -> int:
    """Return the row of an actuator's control or force: the actuator's own before MuJoCo 4."""
    addresses = getattr(compiled.model, f'actuator_{what}adr', None)
    return k if addresses is None else int(addresses[k])


def mimics(compiled: CompiledModel) -> dict[int, Mimic]:
    """Return the joints that joint equalities couple to others, by number.

    MuJoCo has q1 - q1_0 = a0 + a1 (q2 - q2_0), with q_0 the `ref` of each joint.

    Raises
    ------
    DescriptionError
        An equality that is not linear, has one joint only, or a second one of the same joint.
    """
    model, found = compiled.model, dict[int, Mimic]()
    for k in range(model.neq):
        if model.eq_type[k] != JOINT_EQUALITY or not model.eq_active0[k]:
            continue
        name = f'the equality {compiled.name("equality", k)!r}'
        follower, leader = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
        if leader == NONE_ID:
            raise DescriptionError(
                f'{name} holds joint {compiled.joints[follower].name!r}; remove the joint, so that '
                'its body is fixed'
            )
        a0, a1, *higher = (float(each) for each in model.eq_data[k, :5])
        if any(higher):
            raise DescriptionError(
                f'{name} has the polycoef {a0:g} {a1:g} {" ".join(f"{x:g}" for x in higher)}; only '
                'linear couplings are mimic joints: set all but the first two numbers to 0'
            )
        if follower in found:
            raise DescriptionError(
                f'{name} couples joint {compiled.joints[follower].name!r}, which another one '
                'couples already; remove one of them'
            )
        leading = compiled.joints[leader]
        rests = [float(model.qpos0[compiled.joints[j].qpos]) for j in (follower, leader)]
        found[follower] = Mimic(leading.name, a1, rests[0] + a0 - a1 * rests[1])
    return found


def actuator_findings(compiled: CompiledModel) -> Iterator[Finding]:
    """Yield the actuators from which no effort limit follows."""
    model = compiled.model
    for k in range(model.actuator_trntype.shape[0]):
        name = compiled.name('actuator', k)
        if acted_joint(compiled, k) is None:
            what = 'does not act on one hinge or slide'
            yield Finding('info', f'actuator {name}', f'{what}: no effort limit follows from it')


def actuated_joints(compiled: CompiledModel) -> tuple[str, ...]:
    """Return the hinges and slides on which actuators act."""
    count = compiled.model.actuator_trntype.shape[0]
    acted = (acted_joint(compiled, k) for k in range(count))
    return tuple(dict.fromkeys(compiled.joints[k].name for k in acted if k is not None))


def closures(compiled: CompiledModel) -> Iterator[Closure]:
    """Yield the connects and welds between links.

    A connect has an anchor in each body, a weld the pose of the second body in the first; both may
    have two sites in place of these.
    """
    model = compiled.model
    for k in range(model.neq):
        kind = int(model.eq_type[k])
        if kind not in LOOPS or not model.eq_active0[k]:
            continue
        ids, data = (int(model.eq_obj1id[k]), int(model.eq_obj2id[k])), np.array(model.eq_data[k])
        if int(model.eq_objtype[k]) == SITE:
            bodies = tuple(int(model.site_bodyid[site]) for site in ids)
            poses = tuple(pose_of(model.site_pos[site], model.site_quat[site]) for site in ids)
        else:
            bodies, one = ids, np.array([1.0, 0.0, 0.0, 0.0])
            if kind == CONNECT:
                poses = pose_of(data[:3], one), pose_of(data[3:6], one)
            else:
                poses = pose_of(data[3:6], data[6:10]), np.eye(4)
        if min(bodies) >= compiled.root:
            links = compiled.body_name(bodies[0]), compiled.body_name(bodies[1])
            name = compiled.name('equality', k)
            yield Closure(name, LOOPS[kind][1], links, (poses[0], poses[1]))


def equality_findings(compiled: CompiledModel) -> Iterator[Finding]:
    """Yield the equalities that the tree does not contain."""
    model = compiled.model
    for k in range(model.neq):
        name = f'equality {compiled.name("equality", k)}'
        if not model.eq_active0[k]:
            yield Finding('info', name, 'is not active at the start and is ignored')
        elif int(model.eq_type[k]) in LOOPS:
            yield Finding(
                'warning',
                name,
                f'is a {LOOPS[int(model.eq_type[k])][0]}, which `Robot` leaves open',
                'use LoopClosures.of, or set the parameter loop_closures to description',
            )
