# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Texts of SDFormat: elements of small models, and URDFs written with other frames."""

from __future__ import annotations

import warnings
from xml.etree import ElementTree

import numpy as np
from scipy.spatial.transform import Rotation

BODY = (
    '<inertial><pose>0.1 0.2 0.3 0 0 0</pose><mass>2</mass>'
    '<inertia><ixx>0.1</ixx><iyy>0.2</iyy><izz>0.25</izz></inertia></inertial>'
)


def sdf(*parts: str, version: str = '1.9') -> str:
    """Return a file with a model 'm' of these elements."""
    return f'<sdf version="{version}">\n<model name="m">\n' + '\n'.join(parts) + '\n</model></sdf>'


def link(name: str, inner: str = '') -> str:
    """Return a <link> with mass."""
    return f'<link name="{name}">{inner}{BODY}</link>'


def joint(inner: str, kind: str = 'revolute', parent: str = 'a', child: str = 'b') -> str:
    """Return joint 'j'; `inner` is put inside."""
    return (
        f'<joint name="j" type="{kind}"><parent>{parent}</parent><child>{child}</child>'
        f'{inner}</joint>'
    )


def axis(xyz: str = '0 0 1', inner: str = '', tag: str = 'axis') -> str:
    """Return an axis."""
    return f'<{tag}><xyz>{xyz}</xyz>{inner}</{tag}>'


def two(*parts: str) -> str:
    """Return a model of links a and b, and these elements."""
    return sdf(link('a'), link('b', '<pose>1 0 0 0 0 0</pose>'), *parts)


def pose(element: ElementTree.Element | None) -> np.ndarray:
    """Return the pose of the <origin> of a URDF, by SciPy."""
    origin = None if element is None else element.find('origin')
    C = np.eye(4)
    if origin is not None:
        C[:3, 3] = [float(x) for x in origin.get('xyz', '0 0 0').split()]
        rpy = [float(x) for x in origin.get('rpy', '0 0 0').split()]
        C[:3, :3] = Rotation.from_euler('xyz', rpy).as_matrix()
    return C


def pose_text(C: np.ndarray, relative_to: str, form: int, attribute: str = 'relative_to') -> str:
    """Return a <pose> in one of three forms of rotation."""
    R, r = Rotation.from_matrix(C[:3, :3]), C[:3, 3]
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # a pitch of pi/2: one of the other angles is 0
        turned = (R.as_quat(), R.as_euler('xyz'), R.as_euler('xyz', degrees=True))[form]
    numbers = ' '.join(repr(float(x)) for x in (*r, *turned))
    how = ('rotation_format="quat_xyzw"', '', 'degrees="true"')[form]
    to = f'{attribute}="{relative_to}"' if relative_to else ''
    return f'<pose {how} {to}>{numbers}</pose>'


def random_pose(rng: np.random.Generator) -> np.ndarray:
    """Return a pose within 1 m."""
    C = np.eye(4)
    C[:3, :3], C[:3, 3] = Rotation.random(random_state=rng).as_matrix(), rng.uniform(-1, 1, 3)
    return C


def as_sdf(
    urdf: str, rng: np.random.Generator, version: str = '1.9', turned: tuple[str, ...] = ()
) -> str:
    """Return a URDF as SDFormat, its poses relative to various frames, its axes in various ones.

    1.4 has poses of links in the model only, 1.5 and 1.6 call `relative_to` `frame`. Joints in
    `turned` have parent and child exchanged, and the opposite axis.
    """
    attribute = 'relative_to' if version == '1.9' else 'frame'
    robot = ElementTree.fromstring(urdf)
    above = {
        each.find('child').get('link'): each for each in robot.iter('joint') if each.get('type')
    }
    placed, parts = {}, []

    def place(name: str) -> np.ndarray:
        if name not in placed:
            joint = above.get(name)
            up = np.eye(4) if joint is None else place(joint.find('parent').get('link'))
            placed[name] = up @ pose(joint)
        return placed[name]

    for number, each in enumerate(robot.findall('link')):
        name, C, form = each.get('name'), place(each.get('name')), int(rng.integers(3))
        where = int(rng.integers(3)) if version != '1.4' else 0
        if where == 1 and name in above:
            up = above[name].find('parent').get('link')
            text = pose_text(pose(above[name]), up, form, attribute)
        elif where == 2:
            D = random_pose(rng)
            model = '__model__' if version == '1.9' else ''
            parts.append(f'<frame name="f{number}">{pose_text(D, model, form)}</frame>')
            text = pose_text(np.linalg.inv(D) @ C, f'f{number}', form, attribute)
        else:
            text = pose_text(C, '', form)
        parts.append(f'<link name="{name}">{text}{inertial(each, form)}</link>')
    for each in robot.findall('joint'):
        parts.append(
            turned_text(each, placed)
            if each.get('name') in turned
            else joint_text(each, placed, rng, version)
        )
    return sdf(*parts, version=version)


def inertial(each: ElementTree.Element, form: int) -> str:
    """Return the <inertial> of a link of a URDF; one without mass for none."""
    given = each.find('inertial')
    if given is None:
        tensor, mass = dict.fromkeys(('ixx', 'iyy', 'izz'), '0'), '0'
    else:
        tensor, mass = given.find('inertia').attrib, given.find('mass').get('value')
    entries = ''.join(f'<{key}>{value}</{key}>' for key, value in tensor.items())
    return (
        f'<inertial>{pose_text(pose(given), "", form)}<mass>{mass}</mass>'
        f'<inertia>{entries}</inertia></inertial>'
    )


def axis_in(each: ElementTree.Element) -> np.ndarray:
    """Return the axis of a joint of a URDF."""
    given = each.find('axis')
    text = '1 0 0' if given is None else given.get('xyz')
    return np.array([float(x) for x in text.split()])


def turned_text(each: ElementTree.Element, placed: dict) -> str:
    """Return a joint of a URDF whose parent is its child, with the same coordinate."""
    parent, child = (each.find(end).get('link') for end in ('parent', 'child'))
    fixed = each.get('type') == 'fixed'
    xyz = ' '.join(repr(float(-x)) for x in placed[child][:3, :3] @ axis_in(each))
    limit = each.find('limit')
    bounds = {} if limit is None else limit.attrib
    limits = ''.join(f'<{key}>{value}</{key}>' for key, value in bounds.items())
    axis = f'<axis><xyz expressed_in="__model__">{xyz}</xyz><limit>{limits}</limit></axis>'
    return (
        f'<joint name="{each.get("name")}" type="{each.get("type")}"><parent>{child}</parent>'
        f'<child>{parent}</child>{pose_text(placed[child], "__model__", 1)}'
        f'{"" if fixed else axis}</joint>'
    )


def joint_text(
    each: ElementTree.Element, placed: dict, rng: np.random.Generator, version: str
) -> str:
    """Return a joint of a URDF whose frame is moved along its axis and turned."""
    parent, child = (each.find(end).get('link') for end in ('parent', 'child'))
    inner = f'<parent>{parent}</parent><child>{child}</child>'
    e = axis_in(each)
    moved = random_pose(rng)
    moved[:3, 3] = rng.uniform() * e
    where = int(rng.integers(3))
    limit = each.find('limit')
    bounds = (
        ''
        if limit is None
        else ''.join(f'<{key}>{value}</{key}>' for key, value in limit.attrib.items())
    )
    mimic = each.find('mimic')
    follows = (
        ''
        if mimic is None
        else (
            f'<mimic joint="{mimic.get("joint")}"><reference>0.5</reference>'
            f'<multiplier>{mimic.get("multiplier", "1")}</multiplier><offset>'
            f'{float(mimic.get("offset", "0")) + 0.5 * float(mimic.get("multiplier", "1"))!r}'
            '</offset></mimic>'
        )
    )
    flag = ''
    if version != '1.9':  # the axis is in the model by default in 1.4, in the joint later
        frame, in_model = '', where == 0 or (where == 1 and version == '1.4')
        if where == 0 or (where == 2 and version == '1.4'):
            flag = f'<use_parent_model_frame>{"true" if in_model else 0}</use_parent_model_frame>'
        components = placed[child][:3, :3] @ e if in_model else moved[:3, :3].T @ e
        inner += pose_text(moved, '', 1)
    elif where == 0:
        frame, components = f' expressed_in="{child}"', e
        inner += pose_text(moved, '', 0)
    elif where == 1:
        frame, components = ' expressed_in="__model__"', placed[child][:3, :3] @ e
        inner += pose_text(placed[child] @ moved, '__model__', 1)
    else:
        frame, components = '', moved[:3, :3].T @ e
        inner += pose_text(moved, child, 2)
    xyz = ' '.join(repr(float(x)) for x in components)
    if each.get('type') != 'fixed':
        inner += f'<axis><xyz{frame}>{xyz}</xyz>{flag}<limit>{bounds}</limit>{follows}</axis>'
    return f'<joint name="{each.get("name")}" type="{each.get("type")}">{inner}</joint>'
