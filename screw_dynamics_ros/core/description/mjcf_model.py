# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The compiled model of MuJoCo as the readers of MJCF see it: names, joints, poses.

A file may include others, a text from the network reads none.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn
from xml.dom.minidom import Element

import numpy as np

from ..errors import DescriptionError
from ..reproducible import product
from ..types import Array
from .joint_types import JOINT_TYPES
from .xml_document import parsed_root, root_tag, rotation_from_quaternion, short, source_of

MAX_XML_DEPTH = 200  # nested elements; MuJoCo's own parser ends at 500

#: Elements of a text that are removed: they have no mass, and cost memory or refer to files.
DECORATION = frozenset({'texture', 'material', 'skin', 'size', 'visual', 'statistic'})

#: Elements that a text must not have, with the reason.
REFUSED = {
    'include': 'reads a file',
    'model': 'reads a file',
    'hfield': 'can need any amount of memory',
    'replicate': 'can need any amount of memory',
    'composite': 'can need any amount of memory',
    'flexcomp': 'can need any amount of memory',
}
#: The body of the world, and no object.
WORLD, NONE_ID = 0, -1

#: Values of mjtJoint.
FREE, BALL, SLIDE, HINGE = range(4)

MAX_NAME_LENGTH = 255  # characters

#: Flags of mjtDisableBit that disable others as well; PASSIVE until MuJoCo 3.3.
WIDER_FLAGS = {
    'SPRING': 'PASSIVE',
    'DAMPER': 'PASSIVE',
    'EQUALITY': 'CONSTRAINT',
    'FRICTIONLOSS': 'CONSTRAINT',
    'LIMIT': 'CONSTRAINT',
}


def compiled_model(text_or_path: str | bytes | os.PathLike[str]) -> Any:
    """Return the `MjModel` of a file or of a text.

    Raises
    ------
    DescriptionError
        The package `mujoco` is missing, MuJoCo refuses the model, or a text refers to files.
    ArgumentError
        `text_or_path` is neither a text nor a path.
    """
    try:
        import mujoco  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        raise DescriptionError(
            'the description is an MJCF (root element <mujoco>), which requires the package '
            'mujoco; install it with `pip install mujoco`, or convert the description to URDF'
        ) from None
    source = source_of(text_or_path)
    if root_tag(source) == 'robot':  # MuJoCo reads URDF by other rules
        raise DescriptionError(
            'the root element is <robot>, not <mujoco>: this is a URDF; read it by Robot.from_urdf '
            'or read_robot_description'
        )
    text = without_files(source) if is_text(text_or_path) else ''
    warnings: list[str] = []
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(warnings.append)  # otherwise it writes MUJOCO_LOG.TXT
    try:
        if text:
            return mujoco.MjModel.from_xml_string(text, {})
        return mujoco.MjModel.from_xml_path(str(pathlib.Path(os.fsdecode(text_or_path))))
    except (ValueError, MemoryError, mujoco.FatalError) as error:
        reason = ' '.join(str(error).split())
        raise DescriptionError(f'MuJoCo refuses the MJCF: {short(reason, 500)}') from None
    finally:
        mujoco.set_mju_user_warning(before)


def is_text(text_or_path: str | bytes | os.PathLike[str]) -> bool:
    """Return whether this is XML text, as `source_of` decides."""
    if isinstance(text_or_path, bytes):
        return True
    return isinstance(text_or_path, str) and '<' in text_or_path


def without_files(source: str | bytes) -> str:
    """Return a text without decoration, as it was parsed and checked here.

    Raises `DescriptionError` if it refers to files, or can need any amount of memory.
    """
    root = parsed_root(source, 'mujoco')
    pending = [(root, 0)]
    while pending:
        element, depth = pending.pop()
        if depth > MAX_XML_DEPTH:
            raise DescriptionError(
                f'the MJCF has more than {MAX_XML_DEPTH} nested elements; remove some'
            )
        _check_element(element)
        for key in ('material', 'texture'):
            if element.hasAttribute(key):
                element.removeAttribute(key)
        for node in [each for each in element.childNodes if isinstance(each, Element)]:
            if node.tagName in DECORATION:
                element.removeChild(node)
            else:
                pending.append((node, depth + 1))
    return str(root.toxml())


def _check_element(element: Element) -> None:
    tag = element.tagName
    name = f' name="{short(element.getAttribute("name"))}"' if element.hasAttribute('name') else ''
    if tag in REFUSED:
        _refuse(f'<{tag}{name}>', REFUSED[tag])
    for key in element.attributes.keys() if element.attributes else ():
        if key.startswith('file') or (tag == 'mesh' and key == 'builtin'):
            _refuse(f'<{tag}{name} {key}="...">', REFUSED['include' if key[0] == 'f' else 'hfield'])


def _refuse(element: str, reason: str) -> NoReturn:
    raise DescriptionError(
        f'the MJCF has {element}, which {reason}; a text from a topic or parameter must not: give '
        'the path of the file to a program that reads files, or its conversion by `export`'
    )


@dataclass(frozen=True)
class CompiledJoint:
    """A joint of the compiled model: its numbers in the model, and its name."""

    id: int
    name: str
    type: int
    qpos: int
    dof: int

    @property
    def is_scalar(self) -> bool:
        """Whether it has one coordinate."""
        return self.type in (SLIDE, HINGE)


class CompiledModel:
    """An `MjModel` with unique names of all bodies and joints.

    Unnamed bodies are `body<number>`, unnamed joints `<body>_joint`, the free joint of a root
    included.

    Attributes
    ----------
    model : mujoco.MjModel
    joints : tuple of CompiledJoint
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self._used: dict[str, set[str]] = {'link': set(), 'joint': set(), 'keyframe': set()}
        given = {checked_name(model.body(k).name) for k in range(model.nbody)}
        self._used['link'] |= given - {''}
        self._bodies = [
            model.body(k).name or self.unique('link', f'body{k}') for k in range(model.nbody)
        ]
        given = {checked_name(model.joint(k).name) for k in range(model.njnt)}
        self._used['joint'] |= given - {''}
        self.joints = tuple(self._joint(k) for k in range(model.njnt))
        given = {checked_name(model.key(k).name) for k in range(model.nkey)}
        self._used['keyframe'] |= given - {''}

    def _joint(self, k: int) -> CompiledJoint:
        model = self.model
        body = self._bodies[int(model.jnt_bodyid[k])]
        name = model.joint(k).name or self.unique('joint', f'{body}_joint')
        numbers = model.jnt_type[k], model.jnt_qposadr[k], model.jnt_dofadr[k]
        return CompiledJoint(k, name, *map(int, numbers))

    def unique(self, kind: str, name: str) -> str:
        """Return a new name of a link, joint or keyframe, with a number if it is used already."""
        used, number, wanted = self._used[kind], 2, name
        while name in used:
            name, number = f'{wanted}_{number}', number + 1
        used.add(name)
        return name

    def body_name(self, body: int) -> str:
        """Return the name of a body."""
        return self._bodies[body]

    def joints_of(self, body: int) -> tuple[CompiledJoint, ...]:
        """Return the joints of a body, in the order in which they act."""
        first = int(self.model.body_jntadr[body])
        return self.joints[first : first + int(self.model.body_jntnum[body])] if first >= 0 else ()

    def children(self, body: int) -> list[int]:
        """Return the bodies attached to a body."""
        return [k for k in range(1, self.model.nbody) if self.model.body_parentid[k] == body]

    @property
    def root(self) -> int:
        """The only body in the world if it has a free joint, else the world."""
        bodies = self.children(WORLD)
        if len(bodies) == 1 and [joint.type for joint in self.joints_of(bodies[0])] == [FREE]:
            return bodies[0]
        return WORLD

    @property
    def gravity_in_root(self) -> tuple[float, float, float]:
        """Gravity in the frame of the root, held in its pose of the file [m/s^2]."""
        R = rotation_of(self.model.body_quat[self.root])
        x, y, z = map(float, product(R.T, np.array([self.gravity]).T).ravel())
        return x, y, z

    @property
    def robot_name(self) -> str:
        """The name of the model."""
        return checked_name(bytes(self.model.names).split(b'\0', 1)[0].decode(errors='replace'))

    @property
    def gravity(self) -> tuple[float, float, float]:
        """Gravity in the world [m/s^2], zero if it is switched off."""
        x, y, z = (float(each) for each in self.model.opt.gravity)
        return (0.0, 0.0, 0.0) if self.is_disabled('GRAVITY') else (x, y, z)

    def is_disabled(self, flag: str) -> bool:
        """Return whether a flag of mjtDisableBit, or one that contains it, is set."""
        import mujoco  # type: ignore[import-not-found, import-untyped, unused-ignore]

        bits = int(getattr(mujoco.mjtDisableBit, f'mjDSBL_{flag}', 0))
        wider = WIDER_FLAGS.get(flag)
        is_set = bool(int(self.model.opt.disableflags) & bits)
        return is_set or (wider is not None and self.is_disabled(wider))

    @property
    def equalities(self) -> list[int]:
        """The numbers of the equalities that act."""
        off = self.is_disabled('EQUALITY')
        return [] if off else list(map(int, np.flatnonzero(self.model.eq_active0)))

    def joints_between(self, bodies: Sequence[int]) -> set[int]:
        """Return the joints that move some of these bodies relative to others of them."""
        chains = [self._chain(body) for body in bodies]
        return set[int]().union(*chains) - set[int].intersection(*chains) if chains else set()

    def _chain(self, body: int) -> set[int]:
        """Return the joints between the world and a body."""
        chain = set[int]()
        while body != WORLD:
            chain |= {joint.id for joint in self.joints_of(body)}
            body = int(self.model.body_parentid[body])
        return chain

    def numbers(self, field: str) -> Array:
        """Return a field of the model as numbers, one row each; empty in versions without it."""
        return np.array(getattr(self.model, field, ()), dtype=float)

    def names_with(self, field: str, kind: str) -> Iterator[str]:
        """Yield the names of the objects of a kind for which a field is not zero."""
        values = self.numbers(field)
        for k in range(len(values)):
            if np.any(values[k]):
                yield self.name(kind, k)

    def name(self, kind: str, k: int) -> str:
        """Return the name of an object of any kind, its number if it has none."""
        import mujoco  # type: ignore[import-not-found, import-untyped, unused-ignore]

        if kind == 'joint':
            return self.joints[k].name
        number = int(getattr(mujoco.mjtObj, f'mjOBJ_{kind.upper()}'))
        return checked_name(mujoco.mj_id2name(self.model, number, k) or f'{kind} {k}')


def checked_name(name: str) -> str:
    """Return a name; raises `DescriptionError` for control characters and excessive length."""
    if len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise DescriptionError(
            f'a name has control characters, or more than {MAX_NAME_LENGTH}: '
            f'{ascii(name)[:80]}; rename it'
        )
    return name


def pose_of(position: Array, quaternion: Array) -> Array:
    """Return the pose (4, 4) of a position and a quaternion (w, x, y, z)."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation_of(quaternion), position
    return pose


def rotation_of(quaternion: Array) -> Array:
    """Return the rotation matrix of a quaternion (w, x, y, z) of any length."""
    return rotation_from_quaternion(np.roll(quaternion, -1))


#: Types of joints by mjtJoint, without and with limits.
JOINT_KINDS = {
    HINGE: (JOINT_TYPES['continuous'], JOINT_TYPES['revolute']),
    SLIDE: (JOINT_TYPES['prismatic'], JOINT_TYPES['prismatic']),
    BALL: (JOINT_TYPES['ball'], JOINT_TYPES['ball']),
    FREE: (JOINT_TYPES['floating'], JOINT_TYPES['floating']),
}
