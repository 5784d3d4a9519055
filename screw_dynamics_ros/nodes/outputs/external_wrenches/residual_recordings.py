"""Recorded residuals of external torques, and their YAML file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.core.types import Array

LOADER: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
DUMPER: Any = getattr(yaml, 'CSafeDumper', yaml.SafeDumper)
MOST = 300  # poses
KEYS = ('joints', 'effort_terms', 'poses')


@dataclass(frozen=True)
class Recordings:
    """What was recorded of one robot.

    Attributes
    ----------
    joints : tuple of str
        Order of the numbers.
    effort_terms : tuple of str
        What the efforts contained, the parameter of that name.
    poses : tuple of pairs of (n,) arrays
        Positions and mean residuals.
    """

    joints: tuple[str, ...]
    effort_terms: tuple[str, ...]
    poses: tuple[tuple[Array, Array], ...] = field(default=())

    def __len__(self) -> int:
        return len(self.poses)

    def with_pose(self, q: Array, residual: Array) -> Recordings:
        """Return these and one more."""
        return replace(self, poses=(*self.poses, (q, residual)))

    @property
    def arrays(self) -> tuple[Array, Array]:
        """Positions and residuals of all poses, (m, n) each."""
        both: Array = np.array(self.poses).reshape(len(self.poses), 2, len(self.joints))
        return both[:, 0], both[:, 1]


def write(path: Path, recordings: Recordings) -> None:
    """Write a file, as a whole or not at all; raises `OSError`."""
    content = {
        'joints': list(recordings.joints),
        'effort_terms': list(recordings.effort_terms),
        'poses': [
            {'positions': q.tolist(), 'residuals': residual.tolist()}
            for q, residual in recordings.poses
        ],
    }
    text = '# Residuals of external torques [rad, m; N m, N] by wrench_estimator/record_residual.\n'
    text += yaml.dump(content, Dumper=DUMPER, default_flow_style=None, sort_keys=False, width=100)
    beside = path.with_name(f'.{path.name}.new')
    beside.write_text(text, encoding='utf-8')
    os.replace(beside, path)


def read(path: Path, joints: Sequence[str], effort_terms: Sequence[str]) -> Recordings:
    """Return what a file has for a robot, its joints in the order wanted; nothing without file.

    Raises
    ------
    ArgumentError
        If it cannot be read, is no such file, or is for other joints or terms.
    """
    nothing = Recordings(tuple(joints), tuple(effort_terms))
    try:
        content = yaml.load(path.read_text(encoding='utf-8'), Loader=LOADER)
    except FileNotFoundError:
        return nothing
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ArgumentError(f'{path} cannot be read: {" ".join(str(error).split())}') from None
    if not isinstance(content, dict) or not all(isinstance(content.get(key), list) for key in KEYS):
        raise ArgumentError(f'{path} is no file of residuals: it needs lists {", ".join(KEYS)}')
    named = content['joints']
    if sorted(map(str, named)) != sorted(joints):
        raise ArgumentError(
            f'{path} is for the joints {", ".join(map(str, named))}; the robot has '
            f'{", ".join(joints)}'
        )
    if sorted(map(str, content['effort_terms'])) != sorted(effort_terms):
        raise ArgumentError(
            f'{path} was recorded with effort_terms {", ".join(map(str, content["effort_terms"]))}'
            f' and not {", ".join(effort_terms)}: record it anew'
        )
    if len(content['poses']) > MOST:
        raise ArgumentError(f'{path} has {len(content["poses"])} poses, more than {MOST}')
    order = [named.index(name) for name in joints]
    return replace(
        nothing,
        poses=tuple(
            (
                numbers(path, k, pose, 'positions', len(order))[order],
                numbers(path, k, pose, 'residuals', len(order))[order],
            )
            for k, pose in enumerate(content['poses'], 1)
        ),
    )


def numbers(path: Path, k: int, pose: Any, key: str, n: int) -> Array:
    """Return one list of the k-th pose of a file; raises `ArgumentError`."""
    try:
        found = np.array(pose[key], dtype=float)
    except (KeyError, TypeError, ValueError):
        found = np.empty(0)
    if found.shape != (n,) or not np.isfinite(found).all():
        raise ArgumentError(f'{path}: {key} of pose {k} must be {n} finite numbers')
    return found
