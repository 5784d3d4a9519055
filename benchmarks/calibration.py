# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Calibration of real arms from simulated measurements: recovery, confidence, another solver.

    PYTHONPATH=.:test .venv/bin/python benchmarks/calibration.py [--seeds 1000] [--folder DIR]

prints the tables of doc/how_to/calibration.md and writes its picture and the files of its example.
Every axis and the tool have errors, uniform within +-1 mrad and +-1 mm. For each seed there are
other errors and other noise. The 95 % ellipsoid of all parameters, and the 95 % interval of each,
count how often they hold the truth; of 100 cases these are 90 to 99, 98 times in 100.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation
from scipy.stats import chi2

from screw_dynamics_ros.core.calibration.chain_errors import ChainErrors
from screw_dynamics_ros.core.calibration.measurements import (
    MeasuredPoints,
    MeasuredPoses,
    Measurements,
)
from screw_dynamics_ros.core.calibration.robot_calibration import calibrate_robot
from screw_dynamics_ros.core.calibration.validation import cross_validate
from screw_dynamics_ros.core.description import RobotDescription, read_urdf
from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.core.lie import se3
from support.robots import urdf_path

ARMS = {
    'UR5': ('ur_description/urdf/ur5_robot', 'tool0'),
    'Panda': ('panda', 'panda_hand_tcp'),
}
SIZE, POSES = 1e-3, 50
ANGLE, DISTANCE = 2e-4, 1e-4  # noise [rad], [m]
REFLECTOR = se3.exp([0, 0, 0, 0.05, 0.03, 0.04])
Instrument = Callable[[np.ndarray, 'np.random.Generator | None'], Measurements]


def camera(T: np.ndarray, rng: np.random.Generator | None) -> Measurements:
    """Return poses, with noise if there is a generator."""
    if rng is not None:
        turns = Rotation.from_rotvec(rng.normal(0, ANGLE, (len(T), 3))).as_matrix()
        T = se3.pose(T[:, :3, :3] @ turns, T[:, :3, 3] + rng.normal(0, DISTANCE, (len(T), 3)))
    return MeasuredPoses(T, ANGLE, DISTANCE)


def tracker(T: np.ndarray, rng: np.random.Generator | None) -> Measurements:
    """Return points, with noise if there is a generator."""
    noise = 0.0 if rng is None else rng.normal(0, DISTANCE, (len(T), 3))
    return MeasuredPoints(T[:, :3, 3] + noise, DISTANCE)


class Case:
    """An arm with errors of `size` and an instrument, for one seed."""

    def __init__(self, arm: str, instrument: Instrument, seed: int, size: float = SIZE) -> None:
        path, self.link = ARMS[arm]
        self.description: RobotDescription = read_urdf(urdf_path(path))
        self.instrument, self.target = instrument, REFLECTOR
        model = ChainErrors(self.description, self.link, ('axes', 'tool'), target=REFLECTOR)
        self.rng = np.random.default_rng(seed)
        P = self.rng.uniform(-size, size, len(model.names))
        # What points cannot show has no error: the turns of the tool.
        names = np.array(model.names)
        P[np.isin(names, ['tool.rx', 'tool.ry', 'tool.rz']) & (instrument is tracker)] = 0.0
        self.truth = dict(zip(model.names, P))
        self.q = self.rng.uniform(-2, 2, (POSES, len(model.coordinates)))
        self.T = model.pose(self.q, P)

    def calibrate(self, noise: bool, **options):
        """Return the result, and the errors of its parameters."""
        measured = self.instrument(self.T, self.rng if noise else None)
        result = calibrate_robot(
            self.description,
            self.link,
            self.q,
            measured,
            estimate=('axes', 'tool'),
            target=self.target,
            **options,
        )
        error = result.values - np.array([self.truth[name] for name in result.parameters])
        return result, error, measured


INSTRUMENTS: dict[str, Instrument] = {'poses': camera, 'points': tracker}


def recovery() -> Iterator[str]:
    """Yield the table of errors recovered without noise."""
    yield '| arm | measured | errors of | parameters | steps | largest error left |'
    yield '|---|---|---|---|---|---|'
    for arm in ARMS:
        for kind, instrument in INSTRUMENTS.items():
            for size in (1e-1, 1e-3, 1e-6, 1e-9):
                result, error, _ = Case(arm, instrument, 1, size).calibrate(noise=False)
                yield (
                    f'| {arm} | {POSES} {kind} | {size:.0e} | {len(result.parameters)} '
                    f'| {result.iterations} | {np.abs(error).max():.0e} |'
                )


def coverage(seeds: int) -> Iterator[str]:
    """Yield the table of confidence with noise."""
    yield '| arm | measured | truth within the 95 % ellipsoid | within its 95 % interval | misfit |'
    yield '|---|---|---|---|---|'
    for arm in ARMS:
        for kind, instrument in INSTRUMENTS.items():
            inside, single, misfits = 0, [], []
            for seed in range(seeds):
                result, error, _ = Case(arm, instrument, seed).calibrate(noise=True)
                statistic = error @ np.linalg.solve(result.covariance, error)
                inside += bool(statistic < chi2.ppf(0.95, len(error)))
                low, high = (result.intervals(0.95) - result.values[:, None]).T
                single.append(np.mean((low < -error) & (-error < high)))
                misfits.append(result.misfit)
            yield (
                f'| {arm} | {POSES} {kind} | {inside} of {seeds} | {100 * np.mean(single):.1f} % '
                f'| {np.mean(misfits):.3f} |'
            )


def peers() -> Iterator[str]:
    """Yield the table beside scipy's solvers on the same residuals, without derivatives."""
    yield '| arm | solver | processor time [ms] | largest difference |'
    yield '|---|---|---|---|'
    for arm in ARMS:
        case = Case(arm, camera, 1)
        start = time.process_time()
        result, _, measured = case.calibrate(noise=True)
        ours = time.process_time() - start
        yield f'| {arm} | calibrate_robot | {1e3 * ours:.0f} | |'
        model = ChainErrors(case.description, case.link, ('axes', 'tool'), target=case.target)

        def residuals(P, model=model, case=case, measured=measured):
            return (measured.residuals(model.pose(case.q, P)) / measured.deviations).ravel()

        for method in ('lm', 'trf'):
            start = time.process_time()
            other = least_squares(
                residuals, np.zeros(len(model.names)), method=method, xtol=1e-12, ftol=1e-12
            )
            spent = time.process_time() - start
            apart = np.abs(other.x - result.values).max()
            yield (f'| {arm} | scipy least_squares, {method} | {1e3 * spent:.0f} | {apart:.0e} |')


def decisions(seeds: int) -> Iterator[str]:
    """Yield the table of what cross-validation decides, beside errors of exact poses."""
    yield '| poses | noise | prior | written | of these worse | rms error nominal | calibrated |'
    yield '|---|---|---|---|---|---|---|'
    path, link = ARMS['UR5']
    description = read_urdf(urdf_path(path))
    model = ChainErrors(description, link, ('axes',))
    for count, noise in itertools.product((23, 50), (1e-4, 1e-3, 3e-3)):
        for prior in (None, (SIZE, SIZE)):
            written, errors = [], []
            for seed in range(seeds):
                rng = np.random.default_rng(seed)
                P = rng.uniform(-SIZE, SIZE, len(model.names))
                q = rng.uniform(-2, 2, (count + 100, len(model.coordinates)))
                T = se3.exp([0.3, -0.2, 2, 1.5, 0.4, 0.2]) @ model.pose(q, P) @ REFLECTOR
                turns = Rotation.from_rotvec(rng.normal(0, 2 * noise, (count, 3))).as_matrix()
                T[:count, :3, :3] = T[:count, :3, :3] @ turns
                T[:count, :3, 3] += rng.normal(0, noise, (count, 3))
                seen = MeasuredPoses(T, 2 * noise, noise)

                def fit(held_out, q=q, seen=seen, prior=prior):
                    return calibrate_robot(
                        description, link, q, seen, held_out=held_out, prior=prior
                    )

                result = fit(exact := list(range(count, len(q))))
                try:
                    decided = cross_validate(fit, q, result.used).improved
                except ScrewDynamicsError:
                    decided = False
                written.append(decided and result.success)
                both = result.residuals_before, result.residuals_after
                errors.append([np.sum(e[exact, 3:] ** 2, axis=1).mean() ** 0.5 for e in both])
            before, after = np.array(errors).T
            worse = int(np.sum(after[written] > before[written]))
            numbers = [f'{1e3 * np.median(x):.2f} mm' for x in (before, after)]
            yield (
                f'| {count} | {1e3 * noise:g} mm, {2e3 * noise:g} mrad | {"yes" if prior else ""} '
                f'| {sum(written)} of {seeds} | {worse} | {numbers[0]} | {numbers[1]} |'
            )


def write_example(folder: Path) -> Path:
    """Write 60 poses of a UR5 seen by a camera, one of them wrong, as a CSV."""
    path, link = ARMS['UR5']
    model = ChainErrors(read_urdf(urdf_path(path)), link, ('axes',))
    rng = np.random.default_rng(0)
    P = rng.uniform(-SIZE, SIZE, len(model.names))
    q = rng.uniform(-2, 2, (60, len(model.coordinates)))
    T = se3.exp([0.3, -0.2, 2, 1.5, 0.4, 0.2]) @ model.pose(q, P) @ REFLECTOR
    seen = camera(T, rng).values.copy()
    seen[7, :3, 3] += 0.02
    turns = Rotation.from_matrix(seen[:, :3, :3]).as_quat()
    columns = ('x', 'y', 'z', 'qx', 'qy', 'qz', 'qw')
    header = ','.join([*model.coordinates, *(f'measured.{c}' for c in columns)])
    file = folder / 'calibration_poses.csv'
    table = np.hstack([q, seen[:, :3, 3], turns])
    np.savetxt(file, table, '%.9g', ',', header=header, comments='')
    return file


def main() -> None:
    """Print the tables, write the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seeds', type=int, default=1000)
    parser.add_argument('--folder', type=Path, help='where the example and its picture are written')
    options = parser.parse_args()
    tables = (recovery(), coverage(options.seeds), peers(), decisions(options.seeds // 100))
    for table in tables:
        print('\n'.join(table), end='\n\n', flush=True)
    if options.folder is not None:
        from screw_dynamics_ros.cli.calibrate.command import main as calibrate

        file = write_example(options.folder)
        deviations = ['--position-deviation', str(DISTANCE), '--rotation-deviation', str(ANGLE)]
        picture = options.folder / 'calibration.png'
        robot, link = urdf_path(ARMS['UR5'][0]), ARMS['UR5'][1]
        calibrate(
            [str(robot), str(file), '--link', link, *deviations, '--robust', '--held-out', '0.2']
            + ['--picture', str(picture)]
        )


if __name__ == '__main__':
    main()
