# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""External torques by all observers, over DDS, beside what the simulator knows.

    PYTHONPATH=.:test .venv/bin/python benchmarks/observers.py [--minutes 10] [--results DIR]

A Panda with noisy sensors is held by servos and pushed at the tool and at the elbow; the observers
believe in inertias that are 10 % too large. Writes the picture and the tables of
doc/how_to/external_torques.md (with --results: the picture there, and nothing else). Another run,
without noise and with the right model, shows what the momentum observer does by itself.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from observer_client import Study

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import RobotDescription, read_urdf
from screw_dynamics_ros.core.description.urdf_writer import write_urdf
from screw_dynamics_ros.core.estimation.observers.table import OBSERVERS
from support.robots import urdf_path

ROOT = Path(__file__).resolve().parents[1]
URDF = ROOT / 'urdf' / 'panda.urdf'
PAGE = ROOT / 'doc' / 'how_to' / 'external_torques.md'

CONSTANT = 0.02  # s
VELOCITY_NOISE, EFFORT_NOISE = 0.002, 0.2  # rad/s, N m
HEAVIER = 1.1  # all inertias the observers believe in, times the true ones
PLACES = {
    'tool': ('panda_hand_tcp', np.array([0.0, 0.0, 0.0, 40.0, 0.0, 0.0])),
    'elbow': ('panda_link4', np.array([0.0, 0.0, 0.0, 0.0, 50.0, 0.0])),
}
#: Description, tip and joints that are held.
ARMS = {
    'planar arm': ('urdf/planar_2r.urdf', 'tip', ()),
    'UR5 without its last joint': ('ur_description/urdf/ur5_robot', 'tool0', ('wrist_3_joint',)),
    'UR5': ('ur_description/urdf/ur5_robot', 'tool0', ()),
    'Panda': ('panda', 'panda_hand_tcp', ('panda_finger_joint1', 'panda_finger_joint2')),
}
LENGTH, THRESHOLD = 0.2, 0.02  # m, m: defaults of characteristic_length, singularity_threshold
RATE, FREE_RATE = 500.0, 250.0  # Hz
HOLD = 200  # states for which a step is on, and off
BAND = 0.1  # of the step, in which the mean of all steps has settled
WAVE, WAVES = 2.0, 6  # Hz, periods
FLAGS = ('contact', 'collision')


def main() -> None:
    """Run all of it and write what was found."""
    parser = argparse.ArgumentParser(description='Observers of external torques, side by side.')
    parser.add_argument('--minutes', type=float, default=10.0, help='of free motion')
    parser.add_argument('--steps', type=int, default=20, help='pushes at each place')
    parser.add_argument(
        '--results', type=Path, help='folder for the picture; the page stays as it is'
    )
    options = parser.parse_args()
    rows = pushed(options.steps)
    free = in_free_motion(options.minutes)
    found = {
        'rows': rows['rows'],
        'free': free,
        'perfect': perfect_model(),
        'reduced': [reduced(arm) for arm in ARMS],
        'conditions': {
            'velocity noise [rad/s]': VELOCITY_NOISE,
            'effort noise [N m]': EFFORT_NOISE,
            'inertias times': HEAVIER,
            'time constant [s]': CONSTANT,
            'steps': options.steps,
            'minutes': options.minutes,
        },
    }
    folder = options.results or ROOT / 'doc'
    folder.mkdir(parents=True, exist_ok=True)
    draw(rows['curves'], folder / 'observers.png')
    print(table(found))
    if options.results is None:
        sys.path.append(str(ROOT / 'tools'))
        from pages import with_tables

        tables = {'observers': lambda *_: f'{table(found)}\n'}
        PAGE.write_text(with_tables(PAGE.read_text(), tables))


# --- robots and motions --------------------------------------------------------------------------


def heavier(description: RobotDescription, factor: float) -> RobotDescription:
    """Return a robot all of whose masses and inertias are `factor` times as large."""
    links = []
    for link in description.links:
        inertia = link.inertia
        if inertia is not None:
            inertia = replace(inertia, mass=factor * inertia.mass, matrix=factor * inertia.matrix)
        links.append(replace(link, inertia=inertia))
    return replace(description, links=tuple(links))


def models() -> tuple[Robot, str, str]:
    """Return the robot, its description, and the one that the observers believe in."""
    text = URDF.read_text()
    description = read_urdf(text)
    return Robot(description), text, write_urdf(heavier(description, HEAVIER))


def observers(**parameters: Any) -> dict[str, dict[str, Any]]:
    """Return the parameters of one estimator for each observer."""
    return {
        name: {
            'observer': name,
            'observer_time_constant': CONSTANT,
            'observer_velocity_deviation': VELOCITY_NOISE,
            'observer_effort_deviation': EFFORT_NOISE,
            **parameters,
        }
        for name in OBSERVERS
    }


def noisy(seed: int) -> dict[str, Any]:
    """Return the faults of the sensors."""
    return {
        'faults.velocity_noise': [VELOCITY_NOISE],
        'faults.effort_noise': [EFFORT_NOISE],
        'seed': seed,
    }


def middle(robot: Robot) -> np.ndarray:
    """Return the positions in the middle of all ranges."""
    return 0.5 * (robot.limits.lower + robot.limits.upper)


class FreeMotion:
    """All joints of the arm move as sines of different periods, up to 0.6 rad/s."""

    def __init__(self, robot: Robot, rate: float) -> None:
        self._middle, self._rate = middle(robot), rate
        ranges = robot.limits.upper - robot.limits.lower
        periods = 5.0 + 1.3 * np.arange(robot.nv)
        self._w = 2.0 * np.pi / periods
        self._amplitude = np.minimum(0.3 * ranges, 0.6 / self._w)

    def __call__(self, k: int) -> np.ndarray:
        t = k / self._rate
        begin = min(1.0, t / 2.0)
        return self._middle + begin * self._amplitude * np.sin(self._w * t)


# --- pushes --------------------------------------------------------------------------------------


def pushed(steps: int) -> dict[str, Any]:
    """Push an arm that is held: steps, then a sine, at each place."""
    robot, urdf, model = models()
    posture = middle(robot)
    cycle = 2 * HOLD
    wave = round(WAVES * RATE / WAVE)
    rows, curves = [], {}
    with Study(urdf, model, observers(), noisy(1), RATE) as study:
        study.tare(lambda k: (posture, {}))
        first = study.states
        for place, (link, wrench) in PLACES.items():

            def push(k: int, link: str = link, wrench: np.ndarray = wrench, first: int = first):
                since = k - first
                if since < steps * cycle:
                    on = (since % cycle) >= HOLD
                    return posture, {link: wrench} if on else {}
                angle = 2.0 * np.pi * WAVE * (since - steps * cycle) / RATE
                return posture, {link: wrench * np.sin(angle)}

            study.run(steps * cycle + wave, push)
            rising = [first + HOLD + i * cycle for i in range(steps)]
            waves = (first + steps * cycle + wave // WAVES, first + steps * cycle + wave)
            for name in OBSERVERS:
                row, curve = judged(study, name, rising, waves)
                rows.append({'observer': name, 'place': place, **row})
                curves[place, name] = curve
            study.run(HOLD, lambda k: (posture, {}))
            first = study.states
    return {'rows': rows, 'curves': curves}


def judged(
    study: Study, name: str, rising: list[int], waves: tuple[int, int]
) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Return what an observer makes of steps that begin at some states, and of a sine."""
    torques, truth = study.torques[name], study.truth
    window = np.arange(-HOLD // 2, HOLD)
    stacks = []
    for begin in rising:
        at = next(k for k in range(begin, begin + 10) if np.abs(truth[k]).max() > 1.0)
        stacks.append(
            [
                [torques.get(at + k, np.full_like(truth[at], np.nan)) for k in window],
                [truth[at + k] for k in window],
            ]
        )
    estimate, true = np.moveaxis(np.array(stacks), 1, 0)
    joint = int(np.argmax(np.abs(true[:, -1]).mean(axis=0)))
    estimate, true = estimate[:, :, joint], true[:, :, joint]
    size = float(np.abs(true[:, -1]).mean())
    late = window > 0.7 * HOLD
    before = window < -5
    mean, mean_true = estimate.mean(axis=0), true.mean(axis=0)
    final = mean[late].mean()
    outside = np.abs(mean - final) > BAND * size
    settled = (int(np.flatnonzero(outside & (window >= 0)).max(initial=-1)) - HOLD // 2) + 1
    spread = estimate[:, before] - estimate[:, before].mean(axis=1, keepdims=True)
    return (
        {
            'settling time [ms]': 1e3 * max(settled, 0) / RATE,
            'steady error [%]': 100.0 * float((mean - mean_true)[late].mean()) / size,
            'noise gain': float(spread.std() / EFFORT_NOISE),
            **sine(torques, truth, joint, waves),
            **delays(study, name, rising),
        },
        {
            'time': (window / RATE).tolist(),
            'estimate': estimate[0].tolist(),
            'truth': true[0].tolist(),
        },
    )


def sine(
    torques: Mapping[int, np.ndarray],
    truth: Mapping[int, np.ndarray],
    joint: int,
    waves: tuple[int, int],
) -> dict[str, float]:
    """Return amplitude and delay of an estimated sine beside the true one."""
    k = np.arange(*waves)
    basis = np.exp(-2j * np.pi * WAVE * k / RATE)
    found, true = (
        complex(np.array([values[i][joint] for i in k]) @ basis) for values in (torques, truth)
    )
    ratio = found / true
    return {
        'amplitude': abs(ratio),
        'delay [ms]': -1e3 * float(np.angle(ratio)) / (2.0 * np.pi * WAVE),
    }


def delays(study: Study, name: str, rising: list[int]) -> dict[str, float]:
    """Return mean times from the begin of a push to its flags; NaN if one was not flagged."""
    result = {}
    for flag in FLAGS:
        events = sorted(study.flags[f'/{name}/{flag}'].items())
        times = []
        for begin in rising:
            raised = [k for k, on in events if on and begin <= k < begin + HOLD]
            times.append((raised[0] - begin) / RATE if raised else np.nan)
        result[f'{flag} after [ms]'] = 1e3 * float(np.mean(times))
    return result


# --- free motion, and a perfect model ------------------------------------------------------------


def in_free_motion(minutes: float) -> list[dict[str, Any]]:
    """Move without touching anything; count what is taken for a collision."""
    robot, urdf, model = models()
    motion = FreeMotion(robot, FREE_RATE)
    states = round(60.0 * minutes * FREE_RATE)
    with Study(urdf, model, observers(), noisy(2), FREE_RATE) as study:
        study.tare(lambda k: (motion(0), {}))
        first = study.states
        study.run(states, lambda k: (motion(k - first), {}))
        found = []
        for name in OBSERVERS:
            values = np.array([tau for k, tau in study.torques[name].items() if k > first + 100])
            row = {
                'observer': name,
                'states': len(values),
                'largest [N m]': float(np.abs(values).max()),
                'root mean square [N m]': float(np.sqrt((values**2).mean(axis=0)).max()),
            }
            for flag in FLAGS:
                events = sorted(study.flags[f'/{name}/{flag}'].items())
                on = [state for k, state in events if k > first]
                row[f'false {flag}s'] = sum(
                    now and not before for before, now in zip([False, *on], on)
                )
            found.append(row)
    return found


def perfect_model() -> dict[str, float]:
    """Push an arm without noise, known exactly, and let the momentum observer settle."""
    robot, urdf, _ = models()
    posture = middle(robot)
    link, wrench = PLACES['tool']
    chosen = {'momentum': observers()['momentum']}
    with Study(urdf, urdf, chosen, {}, RATE) as study:
        study.tare(lambda k: (posture, {}))
        study.run(500, lambda k: (posture, {}))
        begin = study.states + 1
        study.run(1500, lambda k: (posture, {link: wrench}))
        at = next(k for k in range(begin, begin + 10) if np.abs(study.truth[k]).max() > 1.0)
        after = at + round(5.0 * CONSTANT * RATE)
        true, found = study.truth[after], study.torques['momentum'][after]
        last = max(study.torques['momentum'].keys() & study.truth.keys())
        return {
            'error after five time constants [%]': 100.0
            * float(np.abs(found - true).max() / np.abs(true).max()),
            'bias at the end [N m]': float(
                np.abs(study.torques['momentum'][last] - study.truth[last]).max()
            ),
        }


# --- arms with fewer joints ----------------------------------------------------------------------


def reduced(arm: str) -> dict[str, Any]:
    """Push an arm of two to seven joints; compare the reduced wrench with the observable part."""
    path, tip, fixed = ARMS[arm]
    description = read_urdf(ROOT / path if path.startswith('urdf') else urdf_path(path))
    description = replace(
        description,
        joints=tuple(
            replace(joint, type='fixed', mimic=None) if joint.name in fixed else joint
            for joint in description.joints
        ),
    )
    robot, urdf = Robot(description), write_urdf(description)
    posture = np.clip(0.5, robot.limits.lower + 0.2, robot.limits.upper - 0.2)
    push = np.array([0.3, -0.4, 0.5, 6.0, -4.0, 8.0])
    topics = [f'/momentum/{kind}/{tip}' for kind in ('reduced_wrench', 'wrench_validity')]
    chosen = {'momentum': {**observers()['momentum'], 'frames': [tip]}}
    start = {
        'initial_joints': list(robot.joint_names),
        'initial_positions': posture.tolist(),
    }
    with Study(urdf, urdf, chosen, start, RATE) as study:
        study.tare(lambda k: (posture, {}))
        study.follow(*topics)
        study.run(500, lambda k: (posture, {}))
        study.run(1500, lambda k: (posture, {tip: push}))
        number = max(study.wrenches[topics[0]].keys() & study.truth.keys())
        found, validity = study.wrenches[topics[0]][number], study.numbers[topics[1]]
    true = observable_part(robot, posture, tip, push)
    return {
        'arm': arm,
        'joints': robot.nv,
        'observable directions': int(validity[12]),
        'shares of forces': validity[:3].round(2).tolist(),
        'shares of moments': validity[3:6].round(2).tolist(),
        'error of force [N]': float(np.linalg.norm((found - true)[:3])),
        'error of moment [N m]': float(np.linalg.norm((found - true)[3:])),
    }


def observable_part(robot: Robot, q: np.ndarray, link: str, push: np.ndarray) -> np.ndarray:
    """Return the least force and moment with the torques of a push, by NumPy's least squares."""
    J = robot.jacobian(q, link, 'body')
    scale = np.repeat([LENGTH, 1.0], 3)
    smallest = THRESHOLD / np.linalg.norm(scale[:, None] * J, 2)
    w = scale * np.linalg.lstsq((scale[:, None] * J).T, J.T @ push, rcond=smallest)[0]
    return np.concatenate([w[3:], w[:3]])


# --- table and picture ---------------------------------------------------------------------------


def table(found: Mapping[str, Any]) -> str:
    """Return the tables of the page."""
    free = {row['observer']: row for row in found['free']}
    given = found['conditions']
    names = [key for key in found['rows'][0] if key not in ('observer', 'place')]
    lines = [
        '| observer | push at | ' + ' | '.join(names) + ' |',
        '|---' * (2 + len(names)) + '|',
    ]
    for row in found['rows']:
        cells = [shown(name, row[name]) for name in names]
        lines.append(f'| `{row["observer"]}` | {row["place"]} | ' + ' | '.join(cells) + ' |')
    columns = [key for key in next(iter(free.values())) if key != 'observer']
    lines += [
        '',
        f'{given["minutes"]:g} minutes of free motion at {FREE_RATE:g} Hz:',
        '',
        '| observer | ' + ' | '.join(columns) + ' |',
        '|---' * (1 + len(columns)) + '|',
    ]
    for name, row in free.items():
        cells = [shown(column, row[column]) for column in columns]
        lines.append(f'| `{name}` | ' + ' | '.join(cells) + ' |')
    perfect = found['perfect']
    lines += [
        '',
        'With the right model and without noise the momentum observer is within '
        f'{perfect["error after five time constants [%]"]:.2f} % after five time constants, and '
        f'in the end within {perfect["bias at the end [N m]"]:.1e} N m.',
    ]
    columns = list(found['reduced'][0])
    lines += [
        '',
        'Reduced wrenches of arms with two to seven joints, pushed at the tool by a force and a '
        'moment, beside the observable part of these:',
        '',
        '| ' + ' | '.join(columns) + ' |',
        '|---' * len(columns) + '|',
    ]
    for row in found['reduced']:
        cells = [listed(row[column]) for column in columns]
        lines.append('| ' + ' | '.join(cells) + ' |')
    return '\n'.join(lines)


def listed(value: Any) -> str:
    """Return a text, a number or numbers as a cell of a table."""
    if isinstance(value, list):
        return ', '.join(f'{x:g}' for x in value)
    return f'{value:.1e}' if isinstance(value, float) else str(value)


def shown(name: str, value: float) -> str:
    """Return a number as it stands in a table."""
    if np.isnan(value):
        return '–'
    if name.startswith(('false', 'states')):
        return str(int(value))
    return f'{value:.0f}' if '[ms]' in name else f'{value:.3g}'


def draw(curves: Mapping[tuple[str, str], Mapping[str, list[float]]], path: Path) -> None:
    """Draw one push at each place as each observer tells it."""
    import matplotlib

    matplotlib.use('Agg')
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(PLACES), figsize=(11, 4), sharex=True)
    for axis, place in zip(axes, PLACES):
        for name in OBSERVERS:
            curve = curves[place, name]
            axis.plot(1e3 * np.array(curve['time']), curve['estimate'], lw=1.0, label=name)
        axis.plot(1e3 * np.array(curve['time']), curve['truth'], 'k--', lw=1.2, label='truth')
        axis.set(title=f'push at the {place}', xlabel='time [ms]')
        axis.grid(alpha=0.3)
    axes[0].set_ylabel('external torque of the joint most loaded [N m]')
    axes[0].legend(loc='upper left', bbox_to_anchor=(0.0, 1.0), frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == '__main__':
    sys.path[:0] = [str(ROOT), str(ROOT / 'test')]
    main()
