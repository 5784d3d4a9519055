# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The tree of a description: poses and masses beside those of the description, link by link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core import Drive, UnknownNameError
from screw_dynamics_ros.core.description import (
    Inertia,
    Joint,
    Limits,
    Link,
    Mimic,
    RobotDescription,
)
from screw_dynamics_ros.core.description.friction import Friction
from screw_dynamics_ros.core.tree.multibody_tree import (
    GROUND,
    Tree,
    build_tree,
    mimic_map,
    rotation_of_z_to,
)
from support.models import random_description, random_inertia, random_pose, random_unit

KINDS = ('revolute', 'continuous', 'prismatic', 'helical', 'planar', 'floating', 'ball', 'fixed')


def hat(X: np.ndarray) -> np.ndarray:
    """Return the (4, 4) matrix of a screw (angular, linear)."""
    matrix = np.zeros((4, 4))
    matrix[:3, :3], matrix[:3, 3] = skew(X[:3]), X[3:]
    return matrix


def skew(w: np.ndarray) -> np.ndarray:
    """Return the matrix of the cross product with w."""
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0.0]])


def free_pose(q: np.ndarray) -> np.ndarray:
    """Return the pose of a quaternion (x, y, z, w), after a position if there is one."""
    C = np.eye(4)
    C[:3, :3] = Rotation.from_quat(q[-4:]).as_matrix()
    C[:3, 3] = q[:3] if len(q) == 7 else 0.0
    return C


def description_of_all(seed: int = 118) -> RobotDescription:
    """Return a branched robot with each type of joint, two that mimic, and links on the root."""
    description = random_description(seed, 14, KINDS, mimic=2)
    assert {joint.type for joint in description.joints} == set(KINDS)
    assert {'fixed'} <= {j.type for j in description.joints if j.parent == 'link0'}
    return description


def configuration(tree: Tree, seed: int = 0) -> np.ndarray:
    """Return q with quaternions of unit length."""
    q = np.random.default_rng(seed).uniform(-1.5, 1.5, tree.nq)
    for place in [body.q for body in tree.bodies if body.dof > 1]:
        q[place.stop - 4 : place.stop] /= np.linalg.norm(q[place.stop - 4 : place.stop])
    return q


def joint_motion(joint: Joint, q: np.ndarray) -> np.ndarray:
    """Return the pose of the child link where it would be at q = 0, by the type of the joint."""
    C = np.eye(4)
    if joint.type in ('floating', 'ball'):
        return free_pose(q)
    if joint.type == 'planar':  # two translations in the plane, then a rotation about its normal
        Q = rotation_of_z_to(joint.axis)
        C[:3, :3] = Rotation.from_rotvec(q[2] * joint.axis).as_matrix()
        C[:3, 3] = Q[:, 0] * q[0] + Q[:, 1] * q[1]
    elif joint.type == 'prismatic':
        C[:3, 3] = q[0] * joint.axis
    elif joint.type != 'fixed':
        C[:3, :3] = Rotation.from_rotvec(q[0] * joint.axis).as_matrix()
        C[:3, 3] = joint.pitch * q[0] * joint.axis
    return C


def poses_of_links(
    description: RobotDescription, q: Mapping[str, np.ndarray], root: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the poses of all links, one joint after the other as the description has them."""
    joints = {joint.name: joint for joint in description.joints}

    def position(joint: Joint) -> np.ndarray:
        if joint.mimic is None:
            return q.get(joint.name, np.zeros(0))
        return joint.mimic.multiplier * position(joints[joint.mimic.joint]) + joint.mimic.offset

    poses = {description.root: root}
    for joint in description.joints:
        poses[joint.child] = (
            poses[joint.parent] @ joint.origin @ joint_motion(joint, position(joint))
        )
    return poses


def poses_of_bodies(tree: Tree, q: np.ndarray) -> list[np.ndarray]:
    """Return the poses of the bodies: B exp(X q) after that of the predecessor."""
    poses: list[np.ndarray] = []
    for body in tree.bodies:
        before = np.eye(4) if body.parent == GROUND else poses[body.parent]
        angle = body.multiplier * q[body.q] + body.offset
        motion = free_pose(q[body.q]) if body.dof > 1 else expm(hat(body.X[:, 0] * angle[0]))
        poses.append(before @ body.B @ motion)
    return poses


@pytest.mark.parametrize('floating', [False, True])
def test_poses_and_masses_are_those_of_the_description(floating):
    """Every link's pose, and mass, first moment and inertia of all links in the root frame."""
    description = description_of_all()
    tree = build_tree(description, floating_base=floating)
    q = configuration(tree)
    bodies = poses_of_bodies(tree, q)
    root = free_pose(q[:7]) if floating else np.eye(4)
    owned = {name: q[place] for name, (place, _) in tree.coordinates.items()}
    links = poses_of_links(description, owned, root)
    assert tree.link_names == tuple(link.name for link in description.links)
    for name, frame in tree.frames.items():
        carrier = np.eye(4) if frame.body == GROUND else bodies[frame.body]
        np.testing.assert_allclose(carrier @ frame.S, links[name], atol=1e-12)

    def moments(m: float, h: np.ndarray, I: np.ndarray, C: np.ndarray) -> np.ndarray:  # noqa: E741
        """Return the pseudo-inertia, the integral of (p, 1) (p, 1)^T, in the root frame."""
        J = np.zeros((4, 4))
        J[:3, :3] = 0.5 * np.trace(I) * np.eye(3) - I
        J[:3, 3] = J[3, :3] = h
        J[3, 3] = m
        return C @ J @ C.T

    expected = sum(
        moments(
            link.inertia.mass,
            link.inertia.mass * link.inertia.com,
            link.inertia.matrix
            - link.inertia.mass * skew(link.inertia.com) @ skew(link.inertia.com),
            links[link.name],
        )
        for link in description.links
        if floating or tree.frames[link.name].body != GROUND
    )
    actual = sum(moments(b.m, b.h, b.I, C) for b, C in zip(tree.bodies, bodies))
    np.testing.assert_allclose(actual, expected, atol=1e-12)
    still = [link for link in description.links if tree.frames[link.name].body == GROUND]
    assert bool(still) != floating
    assert tree.fixed_mass == pytest.approx(sum(link.inertia.mass for link in still))
    moment = sum(
        (link.inertia.mass * links[link.name] @ [*link.inertia.com, 1.0])[:3] for link in still
    )
    np.testing.assert_allclose(tree.fixed_moment, moment + np.zeros(3), atol=1e-14)
    assert tree.total_mass == pytest.approx(sum(link.inertia.mass for link in description.links))


def test_coordinates_and_joints():
    """Joints that are neither fixed nor mimic own their coordinates, one place after the other."""
    description = description_of_all()
    joints = {joint.name: joint for joint in description.joints}
    for floating, start in ((False, (0, 0)), (True, (7, 6))):
        tree = build_tree(description, floating_base=floating)
        nq, nv = start
        for name in tree.joint_names:
            sizes = {'floating': (7, 6), 'planar': (3, 3), 'ball': (4, 3)}
            size = sizes.get(joints[name].type, (1, 1))
            places = slice(nq, nq + size[0]), slice(nv, nv + size[1])
            assert tree.joint_coordinates(name) == places
            nq, nv = nq + size[0], nv + size[1]
        assert (tree.nq, tree.nv) == (nq, nv)
        moving = [j for j in description.joints if j.type != 'fixed']
        assert tree.joint_names == tuple(j.name for j in moving if j.mimic is None)
        assert [each.joint for each in tree.moving_joints] == moving
        masters = mimic_map(description)
        for each in tree.moving_joints:
            master, *affine = masters[each.joint.name]
            assert [each.multiplier, each.offset] == affine
            assert each.q == tree.coordinates[master][0]
        for body in tree.bodies:  # three bodies of a planar joint have a coordinate each
            assert body.q.stop - body.q.start == {1: 1, 3: 4, 6: 7}[body.dof]
            assert body.v.stop - body.v.start == body.dof
            assert body.dof == 1 or (body.multiplier, body.offset) == (1.0, 0.0)
            parents = [body.parent] if body.parent != GROUND else []
            assert all(parent < tree.bodies.index(body) for parent in parents)


def test_frames_and_paths():
    """Parent links, inertias and carrying bodies of the frames; paths from the root."""
    description = description_of_all()
    tree = build_tree(description)
    parents = {joint.child: joint.parent for joint in description.joints}
    for link in description.links:
        frame = tree.frame(link.name)
        assert frame.parent == parents.get(link.name)
        assert frame.inertia is link.inertia
        carriers = []
        name = link.name
        while name is not None:
            moving = [b.joint for b in reversed(tree.bodies) if b.name == name]
            carriers = moving[::-1] + carriers
            name = parents.get(name)
        assert [tree.bodies[i].joint for i in tree.path(frame.body)] == carriers
    assert tree.path(-1) == []  # of the root frame, in `Geometry` as well
    assert tree.bodies[0].parent == GROUND == -1
    assert build_tree(description, floating_base=True).frame('link0').body == 0


def test_mimic_joints_follow_the_last_master():
    """Chains multiplied out: c = 3 b - 1 = 3 (-2 a + 0.5) - 1."""
    z = np.array([0.0, 0.0, 1.0])

    def joint(name: str, parent: str, mimic: Mimic | None = None) -> Joint:
        return Joint(name, 'revolute', parent, f'after_{name}', np.eye(4), z, mimic=mimic)

    description = RobotDescription.from_parts(
        'chain',
        [Link('root'), Link('after_a'), Link('after_b'), Link('after_c')],
        [
            joint('c', 'root', Mimic('b', 3.0, -1.0)),
            joint('b', 'after_c', Mimic('a', -2.0, 0.5)),
            joint('a', 'after_b'),
        ],
    )
    assert mimic_map(description) == {
        'a': ('a', 1.0, 0.0),
        'b': ('a', -2.0, 0.5),
        'c': ('a', -6.0, 0.5),
    }
    tree = build_tree(description)
    assert [(b.multiplier, b.offset) for b in tree.bodies] == [(-6.0, 0.5), (-2.0, 0.5), (1.0, 0.0)]
    assert [b.q for b in tree.bodies] == [slice(0, 1)] * 3
    assert tree.is_coupled


@pytest.mark.parametrize('axis', [*np.eye(3), *-np.eye(3)])
def test_axes_of_the_frame_give_signed_permutations(axis):
    Q = rotation_of_z_to(axis)
    np.testing.assert_array_equal(Q[:, 2], axis)
    assert set(np.abs(Q).ravel()) == {0.0, 1.0}
    np.testing.assert_array_equal(Q.T @ Q, np.eye(3))
    assert np.linalg.det(Q) == 1.0


def test_other_axes_give_rotations():
    """Also near an axis of the frame, where a vector along it would lose its digits."""
    rng = np.random.default_rng(5)
    axes = [random_unit(rng) for _ in range(50)]
    axes += [axis + 1e-9 * np.roll(axis, 1) for axis in np.eye(3)]
    for axis in axes:
        Q = rotation_of_z_to(axis)
        np.testing.assert_array_equal(Q[:, 2], axis)
        np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=4e-16)
        assert np.linalg.det(Q) == pytest.approx(1.0)


def test_unknown_names():
    tree = build_tree(description_of_all())
    for name in ('elbow', ['joint1']):
        with pytest.raises(UnknownNameError, match=r'no joint named .*; there are joint') as found:
            tree.joint_coordinates(name)
        assert repr(name) in str(found.value)
        assert str(found.value).endswith(', '.join(tree.joint_names))
        with pytest.raises(UnknownNameError, match=r'no link named .*; the links are link0, link1'):
            tree.frame(name)


def test_limits_are_those_of_joints_with_coordinates():
    """In the order of `joint_names`; infinite without any; nobody can write them."""
    description = random_description(2, 6, mimic=2)
    joints = tuple(
        replace(joint, limits=Limits() if k == 4 else Limits(-k, 2.0 * k, 3.0 * k, 4.0 * k))
        for k, joint in enumerate(description.joints)
    )
    tree = build_tree(replace(description, joints=joints))
    owners = [joint.limits for joint in joints if joint.mimic is None]
    assert len(owners) == 4
    for name in ('lower', 'upper', 'velocity', 'effort'):
        limit = getattr(tree.limits, name)
        assert limit.dtype == float
        np.testing.assert_array_equal(limit, [getattr(each, name) for each in owners])
        with pytest.raises(ValueError, match='read-only'):
            limit[0] = 0.0
    assert Limits() in owners


def test_the_digest_depends_on_everything():
    """The same for the same robot; another one for any other number, name or place."""
    drives = {'joint1': Drive(1e-4, 50.0)}

    def tree(**changed: object) -> Tree:
        return replace(build_tree(description_of_all(), drives=drives), **changed)

    one = tree()
    assert one.digest == tree().digest
    body = one.bodies[2]
    other = {
        float: lambda x: x + 1e-13,
        str: lambda x: x + '_',
        int: lambda x: x + 1,
        bool: lambda x: not x,
        slice: lambda x: slice(x.start, x.stop + 1),
        np.ndarray: lambda x: x + 1e-13,
        Drive: lambda x: replace(x, damping=0.1),
        type(None): lambda x: np.zeros((2, 3)),
    }
    digests = {one.digest: 'itself'}
    for each in fields(body):
        value = getattr(body, each.name)
        changed = replace(body, **{each.name: other[type(value)](value)})
        digest = tree(bodies=(*one.bodies[:2], changed, *one.bodies[3:])).digest
        assert digest not in digests, each.name
        digests[digest] = each.name
    for changed in (
        replace(one, coordinates=dict(list(one.coordinates.items())[1:])),
        replace(one, joint_names=one.joint_names[::-1]),
    ):
        assert changed.digest not in digests


def two_links(**joints: Mimic | None) -> RobotDescription:
    """Return a chain of revolute joints, on links that turn all the way into general poses."""
    rng = np.random.default_rng(11)
    names = list(joints)
    links = [Link('base', random_inertia(rng))]
    made = []
    for k, name in enumerate(names):
        links.append(Link(f'link{k}', random_inertia(rng)))
        made.append(
            Joint(
                name, 'revolute', links[-2].name, links[-1].name, random_pose(rng),
                random_unit(rng), mimic=joints[name],
            )
        )  # fmt: skip
    flange = Joint('flange', 'fixed', links[-1].name, 'flange', random_pose(rng), np.eye(3)[2])
    links.append(Link('flange', Inertia(0.0, np.zeros(3), np.zeros((3, 3)))))
    return RobotDescription.from_parts('chain', links, [*made, flange])


def test_rotors_are_bodies_without_mass():
    """C-054: they mimic their joint, and what they have about their axis leaves the carrier."""
    description = two_links(a=None, b=Mimic('a', -0.5, 0.2))
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    for carrier, body, joint in (('flange', 1, 'a'), (None, GROUND, 'a'), (None, 0, 'b')):
        drive = Drive(0.003, 40.0, rotor_axis=tuple(3.0 * axis), carrier=carrier)
        bare, tree = build_tree(description), build_tree(description, drives={joint: drive})
        rotor = tree.bodies[-1]
        frame = tree.frames[carrier or description.joints[0 if joint == 'a' else 1].parent]
        assert len(tree.bodies) == len(bare.bodies) + 1
        assert (rotor.joint, rotor.parent) == (f'rotor of {joint}', body)
        assert rotor.name == (carrier or ('base' if joint == 'a' else 'link0'))
        assert rotor.is_rotor
        assert not any(each.is_rotor for each in tree.bodies[:-1])
        assert (rotor.q, rotor.v) == (slice(0, 1), slice(0, 1))
        assert rotor.multiplier == 40.0 * (1.0 if joint == 'a' else -0.5)
        assert rotor.offset == 0.0
        assert rotor.m == 0.0
        np.testing.assert_array_equal(rotor.h, np.zeros(3))
        np.testing.assert_array_equal(rotor.X, [[0], [0], [1], [0], [0], [0]])
        np.testing.assert_array_equal(rotor.I, np.diag([0.0, 0.0, 0.003]))
        direction = frame.S[:3, :3] @ axis
        np.testing.assert_allclose(rotor.B[:3, 2], direction, atol=1e-15)
        np.testing.assert_array_equal(rotor.B[:3, 3], frame.S[:3, 3])
        for k, (one, other) in enumerate(zip(bare.bodies, tree.bodies)):
            left = 0.003 * np.outer(direction, direction) if k == body else 0.0
            np.testing.assert_allclose(one.I - other.I, left + np.zeros((3, 3)), atol=1e-15)


def test_coupled_motors():
    """Rows, inertias C^T J C in units of joints, and friction at the rate of the motor."""
    description = two_links(a=None, b=None, c=None)
    drive = Drive(
        2e-4, 30.0, damping=7.0, coulomb=8.0, motor_damping=0.3, motor_coulomb=0.4, smoothing=0.02,
        coupled_joints=('a', 'b'), coupling_ratios=(0.5, -2.0),
    )  # fmt: skip
    tree = build_tree(description, drives={'c': drive}, floating_base=True)
    (motor,) = tree.motors
    row = [0.0] * 6 + [0.5, -2.0, 1.0]
    assert motor.joint == 'c'
    np.testing.assert_array_equal(motor.row, row)
    assert motor.inertia == pytest.approx(2e-4 * 30.0**2)
    assert motor.friction == Friction(damping=0.3, coulomb=0.4, smoothing=0.02)
    np.testing.assert_allclose(tree.coupled_inertias, 0.18 * np.outer(row, row))
    assert tree.is_coupled
    alone = build_tree(description)
    assert alone.motors == ()
    assert not alone.is_coupled
    np.testing.assert_array_equal(alone.coupled_inertias, np.zeros((3, 3)))


def test_pivots_of_a_counterbalance():
    """In the frames of the predecessor and of the body: points of the links at any position."""
    description = two_links(a=None, b=None)
    above, below = (0.1, 0.2, -0.3), (-0.2, 0.1, 0.25)
    spring = {
        'counterbalance_on_parent': above,
        'counterbalance_on_child': below,
        'counterbalance_preload': 10.0,
    }
    tree = build_tree(description, drives={'b': Drive(**spring)})
    assert tree.bodies[0].pivots is None
    for end, link, body in ((0, 'link0', 0), (1, 'link1', 1)):
        frame, point = tree.frames[link], (above, below)[end]
        assert frame.body == body
        np.testing.assert_allclose(
            tree.bodies[1].pivots[end], (frame.S @ [*point, 1.0])[:3], atol=1e-15
        )


def test_friction_is_a_part_of_the_equations_if_drives_are_given():
    description = two_links(a=None)
    assert not build_tree(description).with_friction
    assert build_tree(description, drives={}).with_friction
    assert build_tree(description, friction=True).with_friction
    assert not build_tree(description, drives={}, friction=False).with_friction
    with pytest.raises(TypeError, match='positional'):  # no flag without its name
        build_tree(description, True)
    assert not build_tree(description).has_load_friction
    rough = build_tree(description, drives={'a': Drive(load_friction=0.1)})
    assert rough.has_load_friction
