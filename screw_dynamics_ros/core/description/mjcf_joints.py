# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What the actuators and equalities of an MJCF say about joints.

Actuators give effort limits, armature and damping; equalities give couplings and loops.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..errors import DescriptionError
from ..types import Array
from .mjcf_model import NONE_ID, WORLD, CompiledModel, pose_of
from .robot_description import Closure, Finding, Mimic

#: Values of mjtTrn: on a joint; on a tendon; between two sites, or a site and the world.
ON_JOINT, TENDON, CRANK, ON_SITE, ORIENTATION = (0, 1), 3, 2, 4, 6

#: Values of mjtGain, mjtBias and mjtDyn.
FIXED_GAIN, NO_BIAS = 0, 0
NO_DYNAMICS, INTEGRATOR, FILTERS = 0, 1, (2, 3)

#: Values of mjtWrap.
WRAPPED_JOINT, WRAPPED_SITE, WRAPPED_GEOMS = 1, 3, (4, 5)
#: Values of mjtEq with their names, those of loops, and of mjtObj.
CONNECT, WELD, JOINT_EQUALITY, SITE = 0, 1, 2, 6
LOOPS = {CONNECT: 'connect', WELD: 'weld'}


def effort_limits(compiled: CompiledModel) -> list[float]:
    """Return the effort limit of each joint [N m, N]: of the joint, or the sum of its actuators.

    That of an actuator is its largest force times its lever arm. Any actuator whose force or lever
    arm has no bound makes the limit infinite.
    """
    model = compiled.model
    sums: dict[int, float] = {}
    for k in range(model.actuator_trntype.shape[0]):
        force = _largest_force(compiled, k)
        for joint, arm in lever_arms(compiled, k).items():
            sums[joint] = sums.get(joint, 0.0) + (arm * force if force else 0.0)
    limits = [sums.get(joint.id, math.inf) for joint in compiled.joints]
    for k in map(int, np.flatnonzero(model.jnt_actfrclimited)):
        limits[k] = min(limits[k], float(np.abs(model.jnt_actfrcrange[k]).max()))
    return limits


def lever_arms(compiled: CompiledModel, k: int) -> dict[int, float]:
    """Return the effort of each hinge and slide per force of an actuator, the largest in any pose.

    |G| on a joint, |G c| on a fixed tendon with the coefficient c, infinite where it depends on the
    pose: on spatial tendons, sites and cranks. No others, and none if the file switches it off.
    """
    model = compiled.model
    kind, gear = int(model.actuator_trntype[k]), np.abs(gear_of(compiled, k))
    target, second = map(int, model.actuator_trnid[k])
    arms: dict[int, float] = {}
    group = int(model.actuator_group[k])
    if group >= 0 and int(model.opt.disableactuator) >> group & 1:
        return arms
    if kind in ON_JOINT:
        arms = {target: float(gear[0])}
    elif kind == TENDON:
        arms = {j: arm * float(gear[0]) for j, arm in _tendon_arms(compiled, target).items()}
    elif kind in (CRANK, ON_SITE, ORIENTATION) and gear.any():
        sites = [target, second]
        bodies = [WORLD if site == NONE_ID else int(model.site_bodyid[site]) for site in sites]
        arms = dict.fromkeys(compiled.joints_between(bodies), math.inf)
    return {j: arm for j, arm in arms.items() if arm > 0.0 and compiled.joints[j].is_scalar}


def _tendon_arms(compiled: CompiledModel, tendon: int) -> dict[int, float]:
    """Return the change of the length of a tendon per motion of each joint, without sign."""
    model, arms, bodies = compiled.model, dict[int, float](), []
    first = int(model.tendon_adr[tendon])
    for row in range(first, first + int(model.tendon_num[tendon])):
        kind, part = int(model.wrap_type[row]), int(model.wrap_objid[row])
        if kind == WRAPPED_JOINT:
            arms[part] = arms.get(part, 0.0) + abs(float(model.wrap_prm[row]))
        elif kind == WRAPPED_SITE:
            bodies.append(int(model.site_bodyid[part]))
        elif kind in WRAPPED_GEOMS:
            bodies.append(int(model.geom_bodyid[part]))
    return arms | dict.fromkeys(compiled.joints_between(bodies), math.inf)


def _largest_force(compiled: CompiledModel, k: int) -> float:
    """Return the largest force of an actuator; infinite if no range bounds it."""
    model, bounds = compiled.model, [math.inf]
    if model.actuator_forcelimited[k]:
        bounds.append(_largest(model.actuator_forcerange[k]))
    elif not is_servo(compiled, k):
        gain = abs(float(model.actuator_gainprm[k, 0]))
        bounds.append(gain * _largest_signal(compiled, k) if gain else 0.0)
    if model.actuator_trntype[k] == TENDON:
        tendon = int(model.actuator_trnid[k, 0])
        on_tendons = model.actuator_trntype == TENDON
        alone = np.sum(on_tendons & (model.actuator_trnid[:, 0] == tendon)) == 1
        if alone and np.any(compiled.numbers('tendon_actfrclimited')[tendon : tendon + 1]):
            bounds.append(_largest(model.tendon_actfrcrange[tendon]))
    return min(bounds)


def _largest_signal(compiled: CompiledModel, k: int) -> float:
    """Return the largest number that the gain of an actuator multiplies: control or activation."""
    model, control = compiled.model, _address(compiled, 'ctrl', k)
    dynamics, bounds = int(model.actuator_dyntype[k]), [math.inf]
    is_clamped = model.actuator_ctrllimited[control] and not compiled.is_disabled('CLAMPCTRL')
    if is_clamped and dynamics in (NO_DYNAMICS, *FILTERS):
        bounds.append(_largest(model.actuator_ctrlrange[control]))
    if model.actuator_actlimited[k] and dynamics in (INTEGRATOR, *FILTERS):
        bounds.append(_largest(model.actuator_actrange[k]))
    return min(bounds)


def _largest(bounds: object) -> float:
    return float(np.abs(np.array(bounds, dtype=float)).max())


def is_servo(compiled: CompiledModel, k: int) -> bool:
    """Return whether the force of an actuator is more than a gain times its signal."""
    model, plugins = compiled.model, compiled.numbers('actuator_plugin')
    is_plain = model.actuator_gaintype[k] == FIXED_GAIN and model.actuator_biastype[k] == NO_BIAS
    return not is_plain or bool(np.any(plugins[k : k + 1] >= 0.0))


def gear_of(compiled: CompiledModel, k: int) -> Array:
    """Return the gear (6,) of an actuator."""
    return np.array(compiled.model.actuator_gear[_address(compiled, 'out', k)])


def _address(compiled: CompiledModel, what: str, k: int) -> int:
    """Return the first row of an actuator's controls or forces: its number before MuJoCo 4."""
    addresses = getattr(compiled.model, f'actuator_{what}adr', None)
    return k if addresses is None else int(addresses[k])


def reflected(compiled: CompiledModel, field: str) -> list[float]:
    """Return what the actuators add to a field of each joint: sums of G^2 times their own."""
    values, sums = compiled.numbers(f'actuator_{field}'), dict[int, float]()
    for k in map(int, np.flatnonzero(values)):
        joint = acted_joint(compiled, k)
        if joint is not None:
            gear = float(gear_of(compiled, k)[0])
            sums[joint] = sums.get(joint, 0.0) + gear * gear * float(values[k])
    return [sums.get(joint.id, 0.0) for joint in compiled.joints]


def acted_joint(compiled: CompiledModel, k: int) -> int | None:
    """Return the hinge or slide on which an actuator acts, None if it acts on something else."""
    model = compiled.model
    if model.actuator_trntype[k] not in ON_JOINT or not gear_of(compiled, k)[0]:
        return None
    joint = int(model.actuator_trnid[k, 0])
    return joint if compiled.joints[joint].is_scalar else None


def actuator_findings(compiled: CompiledModel) -> Iterator[Finding]:
    """Yield the actuators from which no effort limit follows, and those with control laws."""
    model, controlled = compiled.model, []
    for k in range(model.actuator_trntype.shape[0]):
        name, arms = compiled.name('actuator', k), lever_arms(compiled, k)
        if not arms:
            what = 'moves no hinge or slide: no effort limit follows from it'
            yield Finding('info', f'actuator {name}', what)
        elif math.inf in arms.values():
            joints = ', '.join(compiled.joints[joint].name for joint in sorted(arms))
            what = f'its lever arms depend on the pose: no effort limit for {joints} follows'
            yield Finding('info', f'actuator {name}', what)
        if arms and (is_servo(compiled, k) or model.actuator_dyntype[k] != NO_DYNAMICS):
            controlled.append(name)
    if controlled:
        more = f' and {len(controlled) - 8} more' if len(controlled) > 8 else ''
        named = ', '.join(controlled[:8]) + more
        what = f'control laws and dynamics of actuators are omitted: {named}'
        yield Finding('info', f'robot {compiled.robot_name}', what)


def actuated_joints(compiled: CompiledModel) -> tuple[str, ...]:
    """Return the hinges and slides on which actuators act that the file does not switch off."""
    count = compiled.model.actuator_trntype.shape[0]
    acted = (acted_joint(compiled, k) for k in range(count) if lever_arms(compiled, k))
    return tuple(dict.fromkeys(compiled.joints[k].name for k in acted if k is not None))


def mimics(compiled: CompiledModel) -> dict[int, Mimic]:
    """Return the joints that joint equalities couple to others, by number.

    MuJoCo has q1 - q1_0 = a0 + a1 (q2 - q2_0), with q_0 the `ref` of each joint.

    Raises
    ------
    DescriptionError
        An equality that is not linear, has one joint only, or a second one of the same joint.
    """
    model, found = compiled.model, dict[int, Mimic]()
    for k in compiled.equalities:
        if model.eq_type[k] != JOINT_EQUALITY:
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


def closures(compiled: CompiledModel) -> Iterator[Closure]:
    """Yield the connects and welds between links.

    A connect has an anchor in each body, a weld an anchor in the second body and its pose in the
    first. Both may have two sites instead of these. A weld without torque is a connect.
    """
    model = compiled.model
    for k in compiled.equalities:
        kind, bodies = int(model.eq_type[k]), _bodies(compiled, k)
        if kind not in LOOPS or min(bodies) < compiled.root:
            continue
        data, one = np.array(model.eq_data[k]), np.array([1.0, 0.0, 0.0, 0.0])
        if int(model.eq_objtype[k]) == SITE:
            sites = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
            poses = [pose_of(model.site_pos[site], model.site_quat[site]) for site in sites]
        elif kind == CONNECT:
            poses = [pose_of(data[:3], one), pose_of(data[3:6], one)]
        else:
            poses = [pose_of(data[3:6], data[6:10]), pose_of(data[:3], one)]
        links = compiled.body_name(bodies[0]), compiled.body_name(bodies[1])
        pair = 'weld' if kind == WELD and data[10] else 'spherical'
        yield Closure(compiled.name('equality', k), pair, links, (poses[0], poses[1]))


def _bodies(compiled: CompiledModel, k: int) -> tuple[int, int]:
    """Return the two bodies of a connect or weld."""
    model = compiled.model
    first, second = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
    if int(model.eq_objtype[k]) == SITE:
        return int(model.site_bodyid[first]), int(model.site_bodyid[second])
    return first, second


def equality_findings(compiled: CompiledModel, floats: bool) -> Iterator[Finding]:
    """Yield the equalities that a description, whose base floats or not, does not contain."""
    model, acting = compiled.model, set(compiled.equalities)
    for k in range(model.neq):
        name = f'equality {compiled.name("equality", k)}'
        if not model.eq_active0[k]:
            yield Finding('info', name, 'is not active at the start and is ignored')
        elif k not in acting:
            yield Finding('info', name, 'is disabled by a flag of the file and is ignored')
        elif int(model.eq_type[k]) in LOOPS and min(_bodies(compiled, k)) < compiled.root:
            kind = LOOPS[int(model.eq_type[k])]
            if floats or kind != 'weld' or max(_bodies(compiled, k)) != compiled.root:
                yield Finding.warning(
                    name,
                    f'is a {kind} to the world, which is no link here, and is ignored',
                    'use floating_base=False if it holds the base, else constrained_dynamics',
                )
