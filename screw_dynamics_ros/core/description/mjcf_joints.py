# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What the equalities of an MJCF say about joints: couplings, and closures of loops."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..errors import DescriptionError
from .mjcf_model import NONE_ID, CompiledModel, pose_of
from .robot_description import Closure, Finding, Mimic

#: Values of mjtEq with their names, those of loops, and of mjtObj.
CONNECT, WELD, JOINT_EQUALITY, SITE = 0, 1, 2, 6
LOOPS = {CONNECT: 'connect', WELD: 'weld'}


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
    first. Both may have two sites in place of these. A weld without torque is a connect.
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
                yield Finding(
                    'warning',
                    name,
                    f'is a {kind} to the world, which is no link here, and is left out',
                    'use floating_base=False if it holds the base, else constrained_dynamics',
                )
