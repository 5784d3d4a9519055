# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Residuals of external torques: recorded ones and fitted models, and their YAML files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import yaml

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.estimation.residual_map import MIN_POSES, fitted
from screw_dynamics_ros.core.estimation.residual_model import ResidualModel
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.data_folder import DataFolder
from screw_dynamics_ros.ros.text_files import read_yaml

DUMPER: Any = getattr(yaml, 'CSafeDumper', yaml.SafeDumper)
MAX_POSES = 300  # per file
HEADING = '# Residuals of external torques [rad, m; N m, N] by wrench_estimator/record_residual.'
MODEL_HEADING = '# Residuals of external torques: a model of states.'
MAX_FILE_BYTES = 2 * 2**20  # bytes: 300 poses of 100 joints
DIGITS = 9  # of models


@dataclass(frozen=True, eq=False)
class Recordings:
    """Recorded residuals of one robot.

    Attributes
    ----------
    joints : tuple of str
        Order of the numbers.
    effort_terms : tuple of str
        Terms that the efforts contained, from the parameter of that name.
    poses : tuple of pairs of (n,) arrays
        Positions and mean residuals.
    """

    joints: tuple[str, ...]
    effort_terms: tuple[str, ...]
    poses: tuple[tuple[Array, Array], ...] = field(default=())

    def __len__(self) -> int:
        return len(self.poses)

    def with_pose(self, q: Array, residual: Array) -> Recordings:
        """Return a copy with one more pose."""
        return replace(self, poses=(*self.poses, (q, residual)))

    @property
    def arrays(self) -> tuple[Array, Array]:
        """Positions and residuals of all poses, (m, n) each."""
        both: Array = np.array(self.poses).reshape(len(self.poses), 2, len(self.joints))
        return both[:, 0], both[:, 1]

    def fitted(self, turning: Array) -> ResidualModel:
        """Return the map of the poses; `turning` (n,) are revolute joints."""
        return ResidualModel.of_map(fitted(*self.arrays, turning))


def write(folder: DataFolder, name: str, recordings: Recordings) -> None:
    """Write a file atomically; raises `ArgumentError`."""
    content = {
        'joints': list(recordings.joints),
        'effort_terms': list(recordings.effort_terms),
        'poses': [
            {'positions': q.tolist(), 'residuals': residual.tolist()}
            for q, residual in recordings.poses
        ],
    }
    folder.write(name, yaml_of(content), HEADING, MAX_FILE_BYTES)


def yaml_of(content: Any) -> str:
    """Return a text in YAML."""
    return yaml.dump(content, Dumper=DUMPER, default_flow_style=None, sort_keys=False, width=100)


def model_text(joints: Sequence[str], effort_terms: Sequence[str], model: ResidualModel) -> str:
    """Return the file of a model for joints in this order."""
    numbers = {
        name: [float(f'{x:.{DIGITS}g}') for x in array] for name, array in model.numbers().items()
    }
    heads = {'joints': list(joints), 'effort_terms': list(effort_terms), 'observer': model.observer}
    return f'{MODEL_HEADING}\n{yaml_of({**heads, "model": numbers})}'


def read(
    folder: DataFolder, name: str, joints: Sequence[str], effort_terms: Sequence[str]
) -> Recordings | ResidualModel:
    """Return the recordings or the model of a file, in the order of `joints`.

    Without a file, the recordings are empty.

    Raises
    ------
    ArgumentError
        If the file cannot be read, is not a file of residuals, or is for other joints or terms. The
        message does not quote the contents of the file.
    """
    text = folder.read(name, MAX_FILE_BYTES)
    if text is None:
        return Recordings(tuple(joints), tuple(effort_terms))
    return of_text(name, text, joints, effort_terms)


def of_text(
    name: str, text: str, joints: Sequence[str], effort_terms: Sequence[str] | None
) -> Recordings | ResidualModel:
    """Return the recordings or the model of a text as `read`; None for any `effort_terms`."""
    try:
        content = read_yaml(text)
    except ArgumentError as error:
        raise ArgumentError(f'{name}: {error}') from None
    kinds = {'joints': list, 'effort_terms': list, 'poses': list, 'observer': str, 'model': dict}
    content = content if isinstance(content, dict) else {}
    lacks = [k for k, kind in kinds.items() if not isinstance(content.get(k), kind)]
    if lacks not in (['poses'], ['observer', 'model']):
        raise ArgumentError(
            f'{name} is not a file of residuals; it must have the lists joints, effort_terms, '
            'poses, or observer and model instead of poses'
        )
    named = content['joints']
    if sorted(map(str, named)) != sorted(joints):
        raise ArgumentError(f'{name} is for other joints; the robot has {", ".join(joints)}')
    terms = tuple(map(str, content['effort_terms']))
    if effort_terms is not None and sorted(terms) != sorted(effort_terms):
        raise ArgumentError(
            f'{name} was recorded with effort_terms other than {", ".join(effort_terms)}: record '
            'it again'
        )
    order = [named.index(name) for name in joints]
    if 'poses' in lacks:
        try:
            model = ResidualModel.of_numbers(content['model'], np.array(order))
        except ArgumentError as error:
            raise ArgumentError(f'{name}: {error}; run identify --residual again') from None
        model.observer = content['observer']
        return model
    poses = content['poses']
    if len(poses) > MAX_POSES:
        raise ArgumentError(f'{name} has {len(poses)} poses, more than {MAX_POSES}')
    return Recordings(
        tuple(joints),
        tuple(effort_terms or terms),
        tuple(
            (
                numbers(name, k, pose, 'positions', len(order))[order],
                numbers(name, k, pose, 'residuals', len(order))[order],
            )
            for k, pose in enumerate(poses, 1)
        ),
    )


def model_of(
    name: str, found: Recordings | ResidualModel, robot: Robot, joints: Sequence[str]
) -> ResidualModel:
    """Return the model of a file or the map of its poses; raises `ArgumentError` for too few."""
    if isinstance(found, ResidualModel):
        return found
    if len(found) < MIN_POSES:
        what = f'has {len(found)} poses' if len(found) else 'has no poses, or does not exist'
        raise ArgumentError(f'{name} {what}; a map needs at least {MIN_POSES} poses')
    return found.fitted(robot.description.turns(joints))


def numbers(name: str, k: int, pose: Any, key: str, n: int) -> Array:
    """Return one list of the k-th pose of a file; raises `ArgumentError`."""
    try:
        found = np.array(pose[key], dtype=float)
    except (KeyError, TypeError, ValueError):
        found = np.empty(0)
    if found.shape != (n,) or not np.isfinite(found).all():
        raise ArgumentError(f'{name}: {key} of pose {k} must be {n} finite numbers')
    return found
