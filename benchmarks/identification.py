# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Identification from noisy recordings of simulated arms: how often intervals hold the truth.

A UR5 with other bodies, armatures, friction and offsets for each seed follows, by servos in the
simulator, a motion of `excite`; sensors are noisy. A right interval of 95 % holds the truth in 90
to 99 of 100 cases, 98 times in 100.

`OPENBLAS_NUM_THREADS=1 python benchmarks/run.py --only identification` runs it, in 25 minutes;
`python tools/pages.py doc/how_to/identification.md` then makes the table of that page.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from figures import Figure

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import physical_findings
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.dynamics.regressor import inertial_parameters
from screw_dynamics_ros.core.measurement.identification.dynamics import (
    DynamicIdentification,
    EffortModel,
    IdentificationOptions,
    JointRecording,
    identify_recordings,
)
from screw_dynamics_ros.core.measurement.identification.dynamics.excitation import excite
from screw_dynamics_ros.core.measurement.identification.dynamics.motion_limits import MotionLimits
from screw_dynamics_ros.core.measurement.identification.dynamics.pseudo_inertia import (
    pseudo_inertia,
)
from support.robots import urdf_path
from support.simulated_recording import (
    SMOOTHING,
    Truth,
    noise,
    simulated_recording,
    true_robot,
)

TIME = 20.0
FULL, QUICK = 100, 3  # seeds
ARM = 'UR5'
TOOL = 'tool0'
#: Faults of a driver: the elbow reports currents, the last wrist torques of the other sign.
GAINS = np.array([1.0, 1.0, 1 / 12.0, 1.0, 1.0, -1.0])
CASES = {
    'torques': 'efforts are torques',
    'faults': 'one joint reports currents, another one the other sign',
    'payload': 'a payload of 1 to 4 kg on the nominal arm',
}


INSIDE = 'truth inside: '
RATIO = 'error of the nominal model by that of the identified one, held-out data'
HEALTHY = 'identified URDF physically possible, without warning'
NAMED = 'both faults named, and no other'
SCALE = 'scale of the current in its interval'


class Count:
    """How often the truth is inside, over seeds."""

    def __init__(self) -> None:
        self.inside: Counter[str] = Counter()
        self.identified: Counter[str] = Counter()
        self.totals: defaultdict[str, list[float]] = defaultdict(list)

    def add(self, result: DynamicIdentification, truth: Truth) -> None:
        """Count one seed."""
        true = np.array([truth.of(group) for group in result.groups])
        low, high = result.intervals().T
        for name, identified, inside in zip(
            result.parameters, result.identified, (low <= true) & (true <= high)
        ):
            if identified:
                self.identified[name] += 1
                self.inside[name] += bool(inside)
        _, identified, nominal = result.errors()
        self.totals['ratio'].append(float(np.median(nominal / identified)))
        bodies = inertial_parameters(result.description, links_of(result)).reshape(-1, 10)
        findings = physical_findings(result.description)
        possible = all(np.linalg.eigvalsh(pseudo_inertia(x))[0] > 0.0 for x in bodies)
        healthy = possible and all(x.severity == 'info' for x in findings)
        self.totals[HEALTHY].append(float(healthy))

    def figures(self, case: str, seeds: int) -> Iterator[Figure]:
        """Yield what the table needs."""
        group = f'Identification, {CASES[case]}'
        often = [name for name, times in self.identified.items() if times > seeds // 2]
        for name in often:
            share = 100.0 * self.inside[name] / self.identified[name]
            yield Figure(
                group,
                ARM,
                f'{INSIDE}{name}',
                share,
                unit='%',
                more=True,
                required=90.0,
                meaning='ours at least',
                note=f'{self.inside[name]} of {self.identified[name]} seeds',
            )
        yield Figure(group, ARM, RATIO, float(np.median(self.totals['ratio'])), unit='', more=True)
        for name in (HEALTHY, NAMED, SCALE):
            if name in self.totals:
                count = sum(self.totals[name])
                note = f'{count:.0f} of {seeds} seeds'
                yield Figure(
                    group, ARM, name, 100.0 * count / seeds, unit='%', more=True, note=note
                )


def links_of(result: DynamicIdentification) -> tuple[str, ...]:
    """Return the links that have mass."""
    links = result.description.links
    return tuple(link.name for link in links if link.inertia is not None and link.inertia.mass)


def figures(quick: bool) -> Iterator[Figure]:
    """Measure."""
    seeds = QUICK if quick else FULL
    nominal = Robot.from_urdf(urdf_path('ur_description/urdf/ur5_robot'))
    found = excite(nominal, limits=MotionLimits(range=0.5, speed=0.6))
    counts = {case: Count() for case in CASES}
    model = EffortModel(smoothing=SMOOTHING)
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        offsets = rng.uniform(-0.01, 0.01, nominal.nv) * nominal.limits.effort
        truth = true_robot(nominal, rng, offsets)
        sensors = noise(nominal)
        run_of = (found.motion, TIME, sensors, offsets, seed)
        recording = simulated_recording(truth, nominal, *run_of)
        options = IdentificationOptions(model=model)
        counts['torques'].add(identify_recordings(nominal, [recording], options), truth)
        faulty = JointRecording(recording.t, recording.q, recording.v, recording.tau * GAINS)
        result = identify_recordings(nominal, [faulty], options)
        counts['faults'].add(result, truth)
        for key, x in zip((NAMED, SCALE), judged(result)):
            counts['faults'].totals[key].append(x)

        load = RigidBody(
            rng.uniform(1, 4), rng.uniform(-0.08, 0.08, 3), np.diag(rng.uniform(4e-3, 7e-3, 3))
        )
        truth = true_robot(nominal, rng, offsets, {TOOL: load}, size=0.0)
        recording = simulated_recording(truth, nominal, *run_of)
        options = IdentificationOptions(model=EffortModel(smoothing=SMOOTHING, payload_link=TOOL))
        counts['payload'].add(identify_recordings(nominal, [recording], options), truth)
    for case, count in counts.items():
        yield from count.figures(case, seeds)


def judged(result: DynamicIdentification) -> tuple[bool, bool]:
    """Return whether the faults, and no others, were named, and whether the interval is right."""
    names = result.joint_names
    scale = {x.subject for x in result.findings if 'are no torques' in x.message}
    sign = {x.subject for x in result.findings if 'other sign' in x.message}
    named = scale == {f'joint {names[2]}'} and sign == {f'joint {names[5]}'}
    low, high = result.scale_intervals()[2]
    return named, bool(low <= 1.0 / GAINS[2] <= high)


def simulated(folder: Path) -> str:
    """Return the table of doc/how_to/identification.md, from the results in a folder."""
    measured = json.loads((folder / 'identification.json').read_text(encoding='utf-8'))['figures']
    cases = [
        [each for each in measured if each['group'].endswith(f', {text}')]
        for text in CASES.values()
    ]
    lines = [
        f'| | {" | ".join(CASES.values())} |',
        '|---' * (len(CASES) + 1) + '|',
    ]
    inside = [[each for each in case if each['name'].startswith(INSIDE)] for case in cases]
    rows: list[tuple[str, list[str]]] = [
        ('parameters identified', [str(len(case)) for case in inside])
    ]
    shares = [[each['ours'] for each in case] for case in inside]
    rows.append(('truth in the 95 % interval, mean', [f'{np.mean(x):.1f} %' for x in shares]))
    worst = [min(case, key=lambda each: each['ours']) for case in inside]
    cells = [f'{each["ours"]:.0f} % (`{each["name"].removeprefix(INSIDE)}`)' for each in worst]
    rows.append(('the least of all parameters', cells))
    cells = [f'{sum(y >= 90.0 for y in x)} of {len(x)}' for x in shares]
    rows.append(('parameters whose intervals hold the truth in at least 90 % of the seeds', cells))
    for name in (RATIO, HEALTHY, NAMED, SCALE):
        found = [[each for each in case if each['name'] == name] for case in cases]
        rows.append((name, [cell(each[0]) if each else '' for each in found]))
    lines += [f'| {label} | {" | ".join(cells)} |' for label, cells in rows]
    return '\n'.join(lines) + '\n'


def cell(figure: dict[str, Any]) -> str:
    """Return a number of seeds, or a ratio."""
    return str(figure.get('note') or round(figure['ours']))


TABLES: dict[str, Callable[[Path], str]] = {'simulated': simulated}
