# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""How often intervals of identified dynamics and payloads hold the truth: 200 simulated arms.

Five arms with other bodies, rotors, offsets and friction for each seed follow random motions for 30
to 60 s, once or several times. Friction depends on load, has a Stribeck curve and presliding, none
of which the model has; noise of efforts is correlated over 0.05 to 0.3 s. The truth of damping and
Coulomb friction is the best that the model has, over other motions. A right interval of 95 % holds
the truth in 90 to 98 of 100 cases.

`OPENBLAS_NUM_THREADS=1 python benchmarks/run.py --only identification` runs it on two cores, in 4
minutes; `python tools/pages.py doc/how_to/identification.md` then makes the table of that page.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from figures import Figure

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import physical_findings
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.dynamics.regressor import inertial_parameters
from screw_dynamics_ros.core.estimation.payload_estimation import (
    EffortRecord,
    estimate_payload,
)
from screw_dynamics_ros.core.identification import (
    DynamicIdentification,
    EffortModel,
    IdentificationOptions,
    JointRecording,
    identify_recordings,
)
from screw_dynamics_ros.core.identification.pseudo_inertia import (
    pseudo_inertia,
)
from screw_dynamics_ros.core.identification.recording import KnownLoad
from support.robots import urdf_path
from support.simulated_recording import SMOOTHING
from support.unmodeled_friction import FrictionalArm

FULL, QUICK = 200, 5  # arms
WORKERS = 4
#: Arms, by the end of the path of their URDF, and the links that carry payloads.
ARMS = {
    'panda': 'panda_hand_tcp',
    'ur_description/urdf/ur5_robot': 'tool0',
    'ur_description/urdf/ur10_robot': 'tool0',
    'xarm7': 'link7',
    'z1': 'link06',
}
HELD = ('finger', 'gripper', 'drive')  # in names of joints that stay at rest
OPTIONS = IdentificationOptions(EffortModel(smoothing=SMOOTHING), scale='known', alternatives=False)
CASES = {
    'friction': 'friction the model does not have',
    'noise': 'friction of the model',
    'currents': 'currents, with and without a load of known mass',
    'motion': 'payload, 5 s of motion',
}
KINDS = {'armature': 'armatures', 'damping': 'damping', 'coulomb': 'Coulomb friction'}
INSIDE = 'truth inside: '
RATIO = 'error of the nominal model by that of the identified one, held-out data'
HEALTHY = 'identified URDF physically possible, without warning'

Counts = dict[str, dict[str, list[float]]]


def kind_of(parameter: str) -> str:
    """Return the row of the table for a base parameter."""
    owner, _, name = parameter.rpartition('/')
    if name == 'offset':
        return 'offsets of efforts'
    if owner in ('load', 'payload'):
        return f'{owner}: moments and inertias'
    return KINDS.get(name, 'masses, first moments' if name[0] == 'm' else 'inertias')


def judged(result: DynamicIdentification, arm: FrictionalArm) -> dict[str, list[float]]:
    """Return which intervals of identified parameters hold the truth, by kind."""
    found = defaultdict(list)
    true = np.array([arm.truth.of(group) for group in result.groups])
    low, high = result.intervals().T
    for name, identified, inside in zip(
        result.parameters, result.identified, (low <= true) & (true <= high)
    ):
        if identified:
            found[kind_of(name)].append(float(inside))
    return dict(found)


@cache
def robot_of(name: str) -> Robot:
    """Return a nominal arm."""
    return Robot.from_urdf(urdf_path(name))


def measured(seed: int) -> Counts:
    """Return for each case what the intervals of one arm hold."""
    name = list(ARMS)[seed % len(ARMS)]
    robot, link = robot_of(name), ARMS[name]
    rng = np.random.default_rng(1000 + seed)
    seconds = float(rng.choice([30.0, 45.0, 60.0]))
    period = float(rng.choice([10.0, 15.0, seconds]))
    moves = np.array([not any(word in joint for word in HELD) for joint in robot.joint_names])
    load = RigidBody(
        rng.uniform(0.5, 3.0), rng.uniform(-0.1, 0.1, 3), np.diag(rng.uniform(0.01, 0.015, 3))
    )
    arm = FrictionalArm(robot, seed, period, moves)
    recording = arm.recording(seconds)
    result = identify_recordings(robot, [recording], OPTIONS)
    found = {'friction': judged(result, arm)}
    _, identified, nominal = result.errors()
    found['friction'][RATIO] = [float(np.nanmedian(nominal / identified))]
    found['friction'][HEALTHY] = [float(is_healthy(result))]
    found['motion'] = payload(robot, link, load, seed, moves, result)
    if seed % 4 == 1:
        plain = FrictionalArm(robot, seed, period, moves, modeled=True)
        result = identify_recordings(robot, [plain.recording(seconds, 0.01)], OPTIONS)
        found['noise'] = judged(result, plain)
    elif seed % 4 == 2:
        found['currents'] = currents(robot, link, load, seed, (arm, recording, seconds))
    return found


def currents(
    robot: Robot,
    link: str,
    load: RigidBody,
    seed: int,
    unloaded: tuple[FrictionalArm, JointRecording, float],
) -> dict[str, list[float]]:
    """Return what is held where all joints report currents, and a load of known mass is carried."""
    arm, free, seconds = unloaded
    loaded = FrictionalArm(robot, seed, arm.period, arm.moves, {link: load})
    again = loaded.recording(seconds)
    gains = 1.0 / np.random.default_rng(seed).uniform(5.0, 15.0, robot.nv)
    joints = [joint for joint, moves in zip(robot.joint_names, arm.moves) if moves]
    result = identify_recordings(
        robot,
        [
            JointRecording(free.t, free.q, None, free.tau * gains),
            JointRecording(
                again.t, again.q, None, again.tau * gains, load=KnownLoad(link, load.mass)
            ),
        ],
        replace(OPTIONS, scale=joints),
    )
    low, high = result.scale_intervals().T
    known = np.isfinite(result.effort_scale) & arm.moves
    found = judged(result, loaded)
    return {
        'scales of efforts': ((low <= 1.0 / gains) & (1.0 / gains <= high))[known]
        .astype(float)
        .tolist(),
        **{kind: found[kind] for kind in ('masses, first moments', 'inertias') if kind in found},
    }


def payload(
    robot: Robot,
    link: str,
    load: RigidBody,
    seed: int,
    moves: np.ndarray,
    identified: DynamicIdentification,
) -> dict[str, list[float]]:
    """Return what is held for a payload on the identified arm, from 5 s of another motion."""
    known = Robot(identified.description, gravity=robot.gravity, drives=identified.drives)
    arm = FrictionalArm(robot, seed, 10.0, moves, {link: load})
    arm.rng = np.random.default_rng(7000 + seed)
    given = arm.recording(5.0, start=arm.rng.uniform(0.0, 5.0))
    _, v, _ = arm.followed
    v = v + 1e-3 * arm.rng.normal(size=v.shape)
    tau = given.tau + identified.effort_offset
    record = EffortRecord(given.t, given.q, v, tau, False)
    joints = [joint for joint, moves in zip(robot.joint_names, arm.moves) if moves]
    found = estimate_payload(known, link, [record], measured=joints)
    errors = {
        'payload: mass': [(found.mass - load.mass) / found.mass_interval],
        'payload: center of mass': (found.center_of_mass - load.com)
        / found.center_of_mass_interval,
        'payload: inertia': (found.inertia - load.matrix[np.triu_indices(3)])
        / found.inertia_interval,
    }
    return {
        kind: [float(abs(x) <= 1.0) for x in error if np.isfinite(x)]
        for kind, error in errors.items()
    }


def is_healthy(result: DynamicIdentification) -> bool:
    """Return whether all bodies can exist, without a warning."""
    links = result.description.links
    massive = tuple(x.name for x in links if x.inertia is not None and x.inertia.mass)
    bodies = inertial_parameters(result.description, massive).reshape(-1, 10)
    possible = all(np.linalg.eigvalsh(pseudo_inertia(x))[0] > 0.0 for x in bodies)
    return possible and all(x.severity == 'info' for x in physical_findings(result.description))


def figures(quick: bool) -> Iterator[Figure]:
    """Measure."""
    with ProcessPoolExecutor(WORKERS) as pool:
        arms = list(pool.map(measured, range(QUICK if quick else FULL)))
    for case, text in CASES.items():
        kinds: defaultdict[str, list[float]] = defaultdict(list)
        for arm in arms:
            for kind, held in arm.get(case, {}).items():
                kinds[kind] += held
        group, robots = f'Intervals, {text}', f'{sum(case in arm for arm in arms)} arms'
        for kind, held in kinds.items():
            if kind == RATIO:
                yield Figure(group, robots, kind, float(np.median(held)), unit='', more=True)
                continue
            yield Figure(
                group,
                robots,
                kind if kind == HEALTHY else INSIDE + kind,
                100.0 * float(np.mean(held)),
                unit='%',
                more=True,
                required=90.0,
                meaning='ours at least',
                note=f'{sum(held):.0f} of {len(held)}',
            )


def simulated(folder: Path) -> str:
    """Return the table of doc/how_to/identification.md, from the results in a folder."""
    measured = json.loads((folder / 'identification.json').read_text(encoding='utf-8'))['figures']
    cells: defaultdict[str, dict[str, str]] = defaultdict(dict)
    heads = {}
    for each in measured:
        case = each['group'].partition(', ')[2]
        heads[case] = f'{case}, {each["robot"]}'
        name = each['name'].removeprefix(INSIDE)
        share = f'{each["ours"]:.1f} %' if each.get('note') else f'{each["ours"]:.2g}'
        count = each.get('note', '').rpartition(' ')[2]
        cells[name][case] = f'{share} of {count}' if count else share
    lines = [f'| | {" | ".join(heads.values())} |', '|---' * (len(heads) + 1) + '|']
    lines += [
        f'| {name} | {" | ".join(row.get(case, "") for case in heads)} |'
        for name, row in cells.items()
    ]
    return '\n'.join(lines) + '\n'


TABLES: dict[str, Callable[[Path], str]] = {'simulated': simulated}
