# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Descriptions as programs read them: rigid bodies, chains, joints that follow others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.comparison.explanation import structural_differences
from screw_dynamics_ros.comparison.reading import (
    MASSLESS,
    DescriptionReading,
    JointMap,
    carriers,
    chain_to,
    combined,
    rigid_bodies,
    subtracted,
    with_rigid_body,
)
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import (
    Inertia,
    Joint,
    Limits,
    Link,
    Mimic,
    RobotDescription,
)
from screw_dynamics_ros.core.errors import DescriptionError
from support.models import random_description, random_inertia, random_pose

GRAVITY = np.array([0.0, 0.0, -9.81])
X = np.array([1.0, 0.0, 0.0])


def following(**mimics) -> RobotDescription:
    """Return a chain of prismatic joints a, b and c along x, after a fixed one."""
    names = ('mount', 'a', 'b', 'c')
    links = [Link(f'link{k}') for k in range(5)]
    joints = [
        Joint(name, 'prismatic' if k else 'fixed', f'link{k}', f'link{k + 1}', np.eye(4), X,
              Limits(-9, 9, 9, 9), mimics.get(name))
        for k, name in enumerate(names)
    ]  # fmt: skip
    return RobotDescription.from_parts('followers', links, joints)


def test_chains_of_joints_that_follow_each_other():
    """a = 2 b + 0.1, b = -0.5 c + 0.3: a = -c + 0.7; the tip moves by the sum of all."""
    found = JointMap.of(following(a=Mimic('b', 2.0, 0.1), b=Mimic('c', -0.5, 0.3)))
    assert found.names == ('a', 'b', 'c')
    np.testing.assert_allclose(found.gain, [[-1.0], [-0.5], [1.0]])
    np.testing.assert_allclose(found.offset, [0.7, 0.3, 0.0], atol=1e-15)
    both = JointMap.of(following(b=Mimic('a', 3.0)))
    np.testing.assert_array_equal(both.gain, [[1, 0], [3, 0], [0, 1]])


def test_a_master_beside_the_chain_is_refused():
    description = following(a=Mimic('c'))
    with pytest.raises(DescriptionError, match=r"'a' follows joint 'c'.* choose another"):
        JointMap.of(chain_to(description, 'link3'))


def test_the_chain_to_a_link():
    tree = random_description(2, 9)
    tip = tree.links[-1].name
    chain = chain_to(tree, tip)
    above = {joint.child: joint.parent for joint in tree.joints}
    names = [tip]
    while names[0] in above:
        names.insert(0, above[names[0]])
    assert 2 < len(names) < 10
    assert [link.name for link in chain.links] == names
    assert [joint.child for joint in chain.joints] == names[1:]


def test_bodies_of_fixed_links():
    """A link and all that hang on it by fixed joints; the body of the root does not move."""
    description = random_description(4, 8, ('revolute', 'fixed'))
    robot = Robot(description, backend='reference')
    poses = dict(zip(robot.link_names, robot.link_poses(np.zeros(robot.nq))))
    held = carriers(description)
    moving = {joint.child for joint in description.joints if not joint.kind.is_fixed}
    assert {head for head, _ in held.values()} == moving | {'link0'}
    assert any(head != link for link, (head, _) in held.items())
    for link, (head, pose) in held.items():
        np.testing.assert_allclose(poses[head] @ pose, poses[link], atol=1e-12)
    assert set(rigid_bodies(description)) == moving


def test_a_rigid_body_is_put_in():
    description = random_description(4, 8, ('revolute', 'fixed'))
    head = next(h for link, (h, _) in carriers(description).items() if h not in (link, 'link0'))
    wanted = random_inertia(np.random.default_rng(0))
    wanted = replace(wanted, mass=9.0 * wanted.mass)
    made = with_rigid_body(description, head, wanted)
    before, after = rigid_bodies(description), rigid_bodies(made)
    for name, body in after.items():
        expected = wanted if name == head else before[name]
        assert body.mass == pytest.approx(expected.mass)
        np.testing.assert_allclose(body.com, expected.com, atol=1e-12)
        np.testing.assert_allclose(body.matrix, expected.matrix, atol=1e-12)
    assert [a.name for a, b in zip(description.links, made.links) if a != b] == [head]


def test_a_whole_that_is_its_parts_leaves_nothing():
    """Rounding residues of masses are zero, others are kept; a mass is never negative."""
    rng = np.random.default_rng(3)
    part = random_inertia(rng)
    parts = [(random_pose(rng), part), (random_pose(rng), part)]
    whole = combined(parts)
    for factor, mass in ((1.0, 0.0), (1.0 + 1e-13, 0.0), (1.0 - 1e-3, 0.0)):
        rest = subtracted(replace(whole, mass=factor * whole.mass), parts)
        assert rest.mass == mass
        assert np.isfinite(rest.com).all()
    np.testing.assert_allclose(subtracted(whole, parts).com, whole.com)
    np.testing.assert_allclose(subtracted(whole, parts).matrix, np.zeros((3, 3)), atol=1e-12)
    rest = subtracted(replace(whole, mass=whole.mass * (1.0 + 1e-11)), parts)
    assert rest.mass == pytest.approx(1e-11 * whole.mass, rel=1e-3)


def test_parts_without_a_mass():
    moments = np.diag([1.0, 2.0, 3.0])
    whole = combined([(np.eye(4), MASSLESS), (np.eye(4), Inertia(0.0, X, moments))])
    assert whole.mass == 0.0
    np.testing.assert_array_equal(whole.com, np.zeros(3))
    np.testing.assert_array_equal(whole.matrix, moments)


def test_the_robot_of_a_reading():
    """Armatures are added to the mass matrix, viscous friction acts, Coulomb friction does not."""
    description = random_description(5, 3, chain=True)
    joints = tuple(replace(joint, damping=0.4, friction=5.0) for joint in description.joints)
    description = replace(description, joints=joints)
    plain = DescriptionReading(description).robot(GRAVITY, 'reference')
    geared = DescriptionReading(description, {'joint2': 0.3}).robot(GRAVITY, 'reference')
    q, v = np.array([0.3, -0.2, 0.5]), np.array([0.1, 0.7, -0.4])
    added = geared.mass_matrix(q) - plain.mass_matrix(q)
    np.testing.assert_allclose(added, np.diag([0.0, 0.3, 0.0]), atol=1e-12)
    bias = plain.coriolis_torques(q, v) + plain.gravity_torques(q)
    a = np.linalg.solve(plain.mass_matrix(q), -0.4 * v - bias)
    np.testing.assert_allclose(plain.forward_dynamics(q, v, np.zeros(3)), a, atol=1e-10)
    assert plain.gravity_torques(q) == pytest.approx(
        Robot(description, gravity=GRAVITY, backend='reference').gravity_torques(q)
    )


# --- links that one description does not have -----------------------------------------------------


def with_tool(*, mass: float) -> RobotDescription:
    """Return a chain with a frame and a tool fixed to its last link."""
    chain = random_description(6, 2, chain=True)
    rng = np.random.default_rng(1)
    poses = [random_pose(rng), random_pose(rng)]
    tool = replace(random_inertia(rng), mass=mass) if mass else None
    joints = [
        Joint('a', 'fixed', 'link2', 'frame', poses[0], X),
        Joint('b', 'fixed', 'frame', 'tool', poses[1], X),
    ]
    links = (*chain.links, Link('frame'), Link('tool', tool))
    return RobotDescription.from_parts('tooled', links, [*chain.joints, *joints])


def without_tool(description: RobotDescription) -> RobotDescription:
    return replace(description, links=description.links[:3], joints=description.joints[:2])


def test_a_tool_that_only_one_has():
    """It is dropped, or added to the link that carries it, where the tool would be."""
    loaded = with_tool(mass=0.4)
    plain = without_tool(loaded)
    tool = loaded.links[-1].inertia
    text = f'0.4 kg at {" ".join(f"{x:.6g}" for x in tool.com)} m, '
    (here,) = structural_differences(loaded, plain)
    assert (here.subject, here.field, here.theirs) == ('link tool', 'inertial', 'no such link')
    assert here.ours.startswith(text)
    (there,) = structural_differences(plain, loaded)
    assert (there.subject, there.field, there.ours) == ('link tool', 'inertial', 'no such link')
    assert there.theirs == f'{here.ours}, fixed to link link2'
    q = np.array([0.4, -0.3])
    M = {
        name: DescriptionReading(each).robot(GRAVITY, 'reference').mass_matrix(q)
        for name, each in {
            'loaded': loaded,
            'plain': plain,
            'added': there.change(DescriptionReading(plain)).description,
            'dropped': here.change(DescriptionReading(loaded)).description,
        }.items()
    }
    np.testing.assert_allclose(M['added'], M['loaded'], atol=1e-12)
    np.testing.assert_allclose(M['dropped'], M['plain'], atol=1e-12)
    assert np.abs(M['loaded'] - M['plain']).max() > 0.01


def test_a_frame_that_only_one_has_is_no_difference():
    framed = with_tool(mass=0.0)
    assert not list(structural_differences(framed, without_tool(framed)))
    assert not list(structural_differences(without_tool(framed), framed))
