# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Platforms from plain data, such as the content of a YAML file, and robots on a platform."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import float_array
from ...description import Joint, Link, RobotDescription
from ...errors import ArgumentError, DescriptionError, ScrewDynamicsError
from ...mobile import platforms
from ...mobile.wheeled_platform import Wheel, WheeledPlatform
from ..linkages import joint_pairs

#: The dimensions of each kind of platform.
KINDS: dict[str, tuple[Any, tuple[str, ...]]] = {
    'differential': (platforms.differential_drive, ('separation', 'radius')),
    'bicycle': (platforms.bicycle, ('wheelbase', 'radius')),
    'ackermann': (platforms.ackermann, ('wheelbase', 'track', 'radius')),
    'omnidirectional': (platforms.omnidirectional, ('count', 'distance', 'radius', 'first')),
    'mecanum': (platforms.mecanum, ('length', 'width', 'radius')),
    'swerve': (platforms.swerve, ('positions', 'radius')),
}
OPTIONAL_FIELDS = ('first',)
WHEEL_FIELDS = ('name', 'position', 'radius', 'direction', 'roller_angle', 'steered', 'driven')


def platform_from(content: object, where: str = 'the platform') -> WheeledPlatform:
    """Return the platform that a mapping describes.

    Parameters
    ----------
    content : mapping
        Either `kind`, one of `KINDS`, with the dimensions of that kind, and optionally `wheels`,
        the names of the joints; or `wheels` alone, a list of mappings with the attributes of
        `Wheel`.
    where : str
        For messages: the file.

    Raises
    ------
    DescriptionError
        Unknown or missing keys, invalid values.

    Examples
    --------
    >>> platform_from({'kind': 'mecanum', 'length': 0.6, 'width': 0.4, 'radius': 0.1}).radii
    array([0.1, 0.1, 0.1, 0.1])
    """
    if not isinstance(content, Mapping):
        raise DescriptionError(f'{where}: expected keys and values, got {content!r}')
    kind = content.get('kind')
    try:
        if kind is None:
            return WheeledPlatform([_wheel(item) for item in _list(content, {'wheels'})])
        if not isinstance(kind, str) or kind not in KINDS:
            raise ArgumentError(f'kind is {kind!r}; use one of {", ".join(KINDS)}')
        make, names = KINDS[kind]
        given = {key: value for key, value in content.items() if key not in ('kind', 'wheels')}
        _check_keys(given, names, set(names) - set(OPTIONAL_FIELDS))
        platform: WheeledPlatform = make(**given)
        labels = content.get('wheels')
        return platform if labels is None else renamed(platform, labels)
    except (ScrewDynamicsError, TypeError, ValueError) as error:
        raise DescriptionError(f'{where}: {error}') from None


def renamed(platform: WheeledPlatform, names: object) -> WheeledPlatform:
    """Return a platform whose wheels have other names, in the same order."""
    if not isinstance(names, (list, tuple)) or len(names) != len(platform.wheels):
        have = ', '.join(wheel.name for wheel in platform.wheels)
        raise ArgumentError(f'wheels must be one name for each of {have}, got {names!r}')
    return WheeledPlatform([replace(w, name=str(n)) for w, n in zip(platform.wheels, names)])


def on_planar_joint(
    description: RobotDescription,
    *,
    joint: str = 'mobile_base',
    odom: str = 'odom',
    origin: ArrayLike | None = None,
    scalar: bool = False,
) -> RobotDescription:
    """Return a robot whose root link moves in the plane of a new root link.

    The planar joint has the coordinates (x, y, phi) of the old root in the link `odom`, as odometry
    gives them; their rates are along the axes of `odom`.

    Parameters
    ----------
    description : RobotDescription
        An arm, or an arm on the links of its platform.
    joint, odom : str
        Names of the new joint and the new root link.
    origin : (4, 4), optional
        Pose of the root link at (0, 0, 0): its height above the ground.
    scalar : bool
        Compose the joint of two prismatic joints and one revolute joint, '<joint>1' to '<joint>3',
        with massless links between them: joint states can contain these joints.

    Raises `DescriptionError` if the robot has a link or a joint of these names.
    """
    C = np.eye(4) if origin is None else float_array('origin', origin)
    links: tuple[Link, ...] = ()
    joints: tuple[Joint, ...] = (
        Joint(joint, 'planar', odom, description.root, C, np.array([0.0, 0.0, 1.0])),
    )
    if scalar:
        end = f'{joint}_end'  # temporary: `parts` refuses the name of its root
        links, joints = joint_pairs.planar().parts(joint, odom, end, C)
        joints = (*joints[:-1], replace(joints[-1], child=description.root))
    return RobotDescription.from_parts(
        description.name,
        [Link(odom), *links, *description.links],
        [*joints, *description.joints],
        description.findings,
        check_inertias=False,
    )


def base_joints(description: RobotDescription, name: str) -> list[Joint]:
    """Return the joint or the joints that move a platform in the plane of the root link.

    Either a planar joint `name`, or the prismatic, prismatic and revolute joints '<name>1' to
    '<name>3' of a macro joint; see `on_planar_joint`. Raises `ArgumentError`.
    """
    known = {joint.name: joint for joint in description.joints}
    found = [known[name]] if name in known else [known.get(f'{name}{k}') for k in (1, 2, 3)]
    joints = [joint for joint in found if joint is not None]
    axes = [joint.axis.tolist() for joint in joints]
    x, y, z = np.eye(3).tolist()
    freedoms = [joint.kind.nv for joint in joints]
    is_planar = freedoms == [3] and axes == [z]
    is_macro = not any(joint.kind.turns for joint in joints[:2]) and axes == [x, y, z]
    if not (is_planar or is_macro) or joints[0].parent != description.root:
        raise ArgumentError(
            f'the robot has no planar joint {name!r} with the normal z on its root link; make one '
            'with on_planar_joint'
        )
    return joints


def _wheel(item: object) -> Wheel:
    if not isinstance(item, Mapping):
        raise ArgumentError(f'each of wheels must have keys and values, got {item!r}')
    _check_keys(item, WHEEL_FIELDS, {'name', 'position', 'radius'})
    return Wheel(**item)


def _list(content: Mapping[str, Any], allowed: set[str]) -> list[Any]:
    _check_keys(content, tuple(allowed), allowed)
    wheels = content['wheels']
    if not isinstance(wheels, list):
        raise ArgumentError(f'wheels must be a list, got {wheels!r}')
    return wheels


def _check_keys(given: Mapping[str, Any], known: tuple[str, ...], needed: set[str]) -> None:
    unknown = [str(key) for key in given if key not in known]
    missing = sorted(needed - set(given))
    if unknown or missing:
        raise ArgumentError(
            f'unknown: {", ".join(unknown) or "none"}; missing: {", ".join(missing) or "none"}; '
            f'there are {", ".join(known)}'
        )
