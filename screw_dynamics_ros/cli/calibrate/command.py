# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Calibrate a robot: correct its URDF with measured poses, points or distances.

    calibrate robot.urdf measurements.csv --link tool0 --position-deviation 1e-4
        --rotation-deviation 2e-4 --output calibrated.urdf --picture residuals.png

MEASUREMENTS contains joint positions by name [rad, m] and measured poses of a target on the link
(columns measured.x, .y, .z [m], .qx, .qy, .qz, .qw), points (measured.x, .y, .z) or distances from
--center (measured.distance). With several targets, the columns target and link contain their names.
The poses of the instrument and of each target on its link are estimated together with the errors of
the robot, unless --estimate excludes them. If cross-validation does not improve the prediction of
poses, the corrected robot is not written.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np

from screw_dynamics_ros.core.calibration.chain_errors import GROUPS
from screw_dynamics_ros.core.calibration.measurements import (
    MeasuredDistances,
    MeasuredPoints,
    MeasuredPoses,
    Measurements,
)
from screw_dynamics_ros.core.calibration.robot_calibration import (
    DEFAULT_ESTIMATE,
    RobotCalibration,
    calibrate_robot,
)
from screw_dynamics_ros.core.calibration.target_errors import TargetErrors
from screw_dynamics_ros.core.calibration.validation import FOLDS, Validation, objection, validated
from screw_dynamics_ros.core.description import RobotDescription
from screw_dynamics_ros.core.description.formats import read_robot_description
from screw_dynamics_ros.core.description.urdf_writer import with_origins
from screw_dynamics_ros.core.lie import poses
from screw_dynamics_ros.core.lie.euler import RPY
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.entry import DONE, NEGATIVE

from ..command_line import (
    UnusableError,
    add_robot,
    between,
    command_parser,
    execute,
    exit_statuses,
    names,
    number,
    option,
    positive,
    progress_bar,
    robot_text,
    some_of,
    whole,
    write_file,
)
from ..report import text
from . import report
from .measurement_file import MeasurementFile, read_measurements

REMEDY = (
    'nothing is written. Measure more poses, set a prior (--prior), estimate fewer parameters '
    '(--estimate, --fixed), or write it nevertheless (--force)'
)
MAX_LIMIT_EXCESS = 0.1  # rad or m beyond a joint limit before a warning


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the corrected URDF and the picture, print the report; return the exit status."""
    return execute('calibrate', parse, run, arguments)


def run(options: argparse.Namespace) -> int:
    """Write the corrected URDF and the picture, print the report."""
    urdf = robot_text(options)
    result, validation, kind = calibrated(urdf, options)
    print(text(report.sections(result, validation, kind)))
    if not result.success:
        print('calibrate: not converged, nothing is written', file=sys.stderr)
        return NEGATIVE
    wrong = '' if options.force else objection(result, validation)
    if wrong:
        print(f'calibrate: {wrong}; {REMEDY}', file=sys.stderr)
    elif options.output is not None:
        write_file(options.output, '--output', with_origins(urdf, result.origins))
    if options.picture is not None:
        draw(options.picture, result, kind)
    return NEGATIVE if wrong else DONE


def calibrated(
    urdf: str, options: argparse.Namespace
) -> tuple[RobotCalibration, Validation | str, str]:
    """Return the result, its validation or why it is missing, and the kind of measurements."""
    description = read_robot_description(urdf)
    known = [joint.name for joint in description.joints if not joint.kind.is_fixed]
    file = read_measurements(options.measurements, known)
    for line in beyond_limits(file, description):
        print(line)
    links, targets = file.links(options.link)
    model = TargetErrors(description, links, options.estimate)
    measured = measurements(file, options)
    q = file.configurations(model.coordinates, model.moving)

    def fit(kept_out: Sequence[int], robust: bool = False) -> RobotCalibration:
        return calibrate_robot(
            description,
            links,
            q,
            measured,
            targets=targets,
            estimate=options.estimate,
            base=pose(options.base),
            target=pose(options.target),
            fixed=options.fixed,
            held_out=kept_out,
            robust=robust,
            prior=options.prior and tuple(reversed(options.prior)),
        )

    rows = held_out(len(measured), options.held_out)
    with progress_bar('calibrate') as progress:
        result = fit(rows, options.robust)
        fitted = count(1)

        def fit_others(kept_out: Sequence[int]) -> RobotCalibration:
            fold = next(fitted)
            progress(fold / (options.folds + 1), f'fold {fold}')
            return fit(kept_out)

        return result, validated(fit_others, q, result, options.folds), file.kind


def beyond_limits(file: MeasurementFile, description: RobotDescription) -> Iterator[str]:
    """Yield a warning for each joint far beyond its limits, for instance because of degrees."""
    for joint in description.joints:
        q, limits = file.positions.get(joint.name), joint.limits
        if q is None or (
            limits.lower - MAX_LIMIT_EXCESS <= q.min()
            and q.max() <= limits.upper + MAX_LIMIT_EXCESS
        ):
            continue
        yield (
            f'WARNING joint {joint.name}: positions {q.min():.4g} to {q.max():.4g} are beyond its '
            f'limits {limits.lower:.4g} to {limits.upper:.4g}; rad and m are expected'
        )


def held_out(total: int, share: float) -> list[int]:
    """Return the indices of held-out measurements, evenly spaced; raises `UnusableError`."""
    rows = [row for row in range(total) if int((row + 1) * share) > int(row * share)]
    if share and not rows:
        raise UnusableError(
            f'argument --held-out: {share:g} of {total} measurements is less than one; increase it'
        )
    return rows


def measurements(file: MeasurementFile, options: argparse.Namespace) -> Measurements:
    """Return the measurements with the deviations of the options; raises `UnusableError`."""
    needed = {'poses': 'rotation_deviation', 'distances': 'center'}.get(file.kind)
    if needed and getattr(options, needed) is None:
        raise UnusableError(
            f'argument --{needed.replace("_", "-")}: required for measured {file.kind}'
        )
    if file.kind == 'poses':
        return MeasuredPoses(file.values, options.rotation_deviation, options.position_deviation)
    if file.kind == 'points':
        return MeasuredPoints(file.values, options.position_deviation)
    return MeasuredDistances(file.values, options.center, options.position_deviation)


def pose(numbers: Sequence[float] | None) -> Array | None:
    """Return the pose (4, 4) for x, y, z, roll, pitch, yaw as in a URDF."""
    if numbers is None:
        return None
    return poses.from_displacement(RPY, np.array([*numbers[3:], *numbers[:3]]))


def draw(path: Path, result: RobotCalibration, kind: str) -> None:
    """Draw the residuals; raises `UnusableError`."""
    try:
        report.save_picture(result, kind, path)
    except ImportError:
        raise UnusableError('argument --picture: requires matplotlib; install it') from None
    except (OSError, ValueError) as error:
        raise UnusableError(f'argument --picture: cannot write {path}: {error}') from None
    print(f'written: {path}')


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    negative = 'not converged, no improvement by cross-validation (--output is not written)'
    parser = command_parser('calibrate', __doc__, exit_statuses(negative))
    add = partial(option, parser)
    add_robot(parser)
    add('measurements MEASUREMENTS', 'a CSV, or a YAML (.yaml, .yml)', Path)
    add('--link LINK', 'link of the target, unless MEASUREMENTS names links')
    add(
        '--position-deviation M',
        'standard deviation of the instrument along each axis, or of distances [m]',
        positive,
        required=True,
    )
    add('--rotation-deviation RAD', 'standard deviation about each axis [rad], for poses', positive)
    add('--center X Y Z', 'point from which distances are measured [m]', number)
    add(
        '--estimate A,B',
        f'groups to correct, of {", ".join(GROUPS)} (default: {",".join(DEFAULT_ESTIMATE)})',
        some_of(GROUPS),
        DEFAULT_ESTIMATE,
    )
    add('--fixed A,B', 'parameters or joints to keep at their nominal values', names, ())
    add(
        '--base X Y Z ROLL PITCH YAW',
        'initial or fixed pose of the root in the frame of the instrument [m, rad]',
        number,
    )
    add(
        '--target X Y Z ROLL PITCH YAW',
        'pose of the target in the frame of the link [m, rad]',
        number,
    )
    add(
        '--held-out FRACTION',
        'fraction of the measurements held out for validation, at most 0.5 (default: 0)',
        between(0.0, 0.5),
        0.0,
    )
    add('--folds K', 'folds of the cross-validation (default: %(default)s)', whole(2), FOLDS)
    add('--prior M RAD', 'prior standard deviations of the errors of the robot', positive)
    add('--robust', 'detect, report and exclude outliers')
    add('--output FILE', 'write the corrected URDF', Path)
    add('--force', 'write it without an improvement in cross-validation')
    add('--picture FILE', 'residuals before and after (PNG, SVG, PDF)', Path)
    return parser.parse_args(arguments)
