# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The robots of the tests: those in `urdf/`, those of example-robot-data, bricks for tiny ones."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from functools import cache
from pathlib import Path

from support.paths import URDF

BUNDLED = URDF

#: Files of example-robot-data that are refused, by design, and the reason (part of the message).
UNREADABLE = {
    'alex_psyonic_hands.urdf': "mimics joint 'index_q1', which does not exist",
    'ur3.urdf': 'has no links',
}

#: Arms, hands, legs, humanoids, drones, robots on wheels, with and without mimic joints; those that
#: some tests name as exceptions.
SAMPLED = {
    'allegro_hand_description/allegro_left_hand.urdf', 'anymal_b_simple_description/anymal.urdf',
    'asr_twodof_description/TwoDofs.urdf', 'baxter_description/baxter.urdf',
    'bolt_description/bolt.urdf', 'borinot_description/borinot_flying_arm_2.urdf',
    'double_pendulum_description/double_pendulum.urdf',
    'double_pendulum_description/double_pendulum_continuous.urdf',
    'double_pendulum_description/double_pendulum_simple.urdf',
    'hector_description/quadrotor_base.urdf', 'icub_description/icub.urdf',
    'iris_description/iris.urdf', 'iris_description/iris_simple.urdf',
    'panda_description/panda.urdf', 'quadruped_description/quadruped.urdf',
    'romeo_description/romeo.urdf', 'romeo_description/romeo_laas_small.urdf',
    'solo_description/solo.urdf', 'talos_data/talos_reduced.urdf',
    'tiago_description/tiago.urdf', 'ur_description/ur5_robot.urdf',
}  # fmt: skip


def bundled_robots() -> list[Path]:
    """Return the URDFs of this package."""
    return sorted(BUNDLED.glob('*.urdf'))


@cache
def all_example_robots() -> tuple[Path, ...]:
    """Return every URDF of example-robot-data, sorted; none if the package is not installed.

    Found by metadata, or below the prefix of a ROS installation: the Python module of that name
    cannot always be imported.
    """
    try:
        files = importlib.metadata.files('example-robot-data') or []
        found = {Path(str(file.locate())).resolve() for file in files if file.suffix == '.urdf'}
    except importlib.metadata.PackageNotFoundError:
        prefixes = [*os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep), sys.prefix]
        folders = (Path(p, 'share', 'example-robot-data', 'robots') for p in prefixes if p)
        found = {path.resolve() for folder in folders for path in folder.glob('**/*.urdf')}
    return tuple(sorted(path for path in found if path.is_file()))


def example_robots() -> list[Path]:
    """Return the URDFs of example-robot-data that describe a robot."""
    return [path for path in all_example_robots() if path.name not in UNREADABLE]


def sampled_robots() -> list[Path]:
    """Return example robots that differ from one another; every one if EVERY_ROBOT is set."""
    every = example_robots()
    return every if os.environ.get('EVERY_ROBOT') else [p for p in every if robot_id(p) in SAMPLED]


def robot_id(path: Path) -> str:
    """Return a short, unique name for a file of `example_robots`, as test id."""
    if not isinstance(path, Path):  # pytest 7 asks for the name of the missing one where none are
        return 'none'
    return '/'.join(part for part in path.parts[-3:] if part not in ('urdf', 'robots'))


def urdf_path(name: str) -> Path:
    """Return the one robot, bundled or else of example-robot-data, whose path ends in `name`.

    Parameters
    ----------
    name : str
        A file name without ``.urdf`` ('panda', 'talos_reduced'), with folders where that is
        ambiguous ('anymal_c_simple_description/urdf/anymal').
    """
    for robots in (bundled_robots(), example_robots()):
        matches = [path for path in robots if f'/{path.as_posix()}'.endswith(f'/{name}.urdf')]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise LookupError(f'{name!r} is ambiguous: {", ".join(map(str, matches))}')
    raise LookupError(f'no robot {name!r} among {len(example_robots())} examples; is it installed?')


# --- bricks ---------------------------------------------------------------------------------------

UNIT_INERTIA = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'


def robot(*parts: str) -> str:
    """Return a URDF of these elements."""
    return f'<robot name="r">{"".join(parts)}</robot>'


def links(names: str) -> str:
    """Return a <link> for each word."""
    return ''.join(f'<link name="{name}"/>' for name in names.split())


def joint(name: str, parent: str, child: str, inner: str = '', kind: str = 'revolute') -> str:
    """Return a <joint> with these elements inside."""
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'{inner}</joint>'
    )


def one_joint(inner: str = '', kind: str = 'revolute') -> str:
    """Return a URDF of links a and b with joint j between them."""
    return robot(links('a b'), joint('j', 'a', 'b', inner, kind))


def inertial(inner: str) -> str:
    """Return a URDF of link a with this <inertial>."""
    return robot(f'<link name="a"><inertial>{inner}</inertial></link>')
