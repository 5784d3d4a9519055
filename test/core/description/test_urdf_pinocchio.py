# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Every robot of example-robot-data, read here and by Pinocchio."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core.description import Mimic, read_urdf
from screw_dynamics_ros.core.description.urdf_inertias import with_dynamics
from screw_dynamics_ros.core.description.urdf_writer import with_origins, write_urdf
from screw_dynamics_ros.core.errors import DescriptionError
from support.models import random_description
from support.robots import UNREADABLE, all_example_robots, robot_id, sampled_robots

pin = pytest.importorskip('pinocchio')


def link_poses_at_zero(description):
    poses = {description.root: np.eye(4)}
    for j in description.joints:
        poses[j.child] = poses[j.parent] @ j.origin
    return poses


def folded(description):
    """Inertia (6, 6), linear part first, of each moving body in the frame of its joint (B-095)."""
    carrier = {description.root: ('universe', np.eye(4))}
    for j in description.joints:
        body, pose = carrier[j.parent]
        carrier[j.child] = (body, pose @ j.origin) if j.type == 'fixed' else (j.name, np.eye(4))
    bodies = {}
    for link in description.links:
        body, pose = carrier[link.name]
        if link.inertia is not None:
            m, turn = link.inertia.mass, pose[:3, :3]
            cross = pin.skew(turn @ link.inertia.com + pose[:3, 3])
            rotational = turn @ link.inertia.matrix @ turn.T - m * cross @ cross
            one = np.block([[m * np.eye(3), -m * cross], [m * cross, rotational]])
            bodies[body] = bodies.get(body, np.zeros((6, 6))) + one
    return bodies


@pytest.mark.parametrize('path', sampled_robots(), ids=robot_id)
def test_agrees_with_pinocchio(path):
    check(read_urdf(path), pin.buildModelFromUrdf(str(path), mimic=False))


@pytest.mark.parametrize('seed', range(3))
def test_pinocchio_reads_what_is_written(seed):
    """A robot of ours; then with the inertias and friction of another, and other origins."""
    kinds = ('revolute', 'prismatic', 'fixed')
    made, other = (random_description(seed + k, 8, kinds) for k in (0, 10))
    made, other = (
        replace(
            each,
            joints=tuple(
                replace(joint, damping=0.1 * k + i, friction=0.3 * k)
                for k, joint in enumerate(each.joints)
            ),
        )
        for i, each in enumerate((made, other))
    )
    text = write_urdf(made)
    check(made, pin.buildModelFromXML(text))
    inertias = {link.name: link.inertia for link in other.links}
    friction = {joint.name: (joint.damping, joint.friction) for joint in other.joints}
    origins = {joint.name: joint.origin for joint in other.joints}
    joints = [
        replace(joint, damping=friction[joint.name][0], friction=friction[joint.name][1],
                origin=origins[joint.name])
        for joint in made.joints
    ]  # fmt: skip
    links = [replace(link, inertia=inertias[link.name]) for link in made.links]
    text = with_origins(with_dynamics(text, inertias, friction), origins)
    check(replace(made, links=tuple(links), joints=tuple(joints)), pin.buildModelFromXML(text))


def check(description, model):
    """Tree, origins, axes, limits, damping, friction; masses and inertias of the moving bodies."""
    data = model.createData()

    movable = [j for j in description.joints if j.type != 'fixed']
    assert sorted(model.names) == sorted(['universe', *(j.name for j in movable)])
    frames = {f.name: i for i, f in enumerate(model.frames) if f.type == pin.FrameType.BODY}
    assert sorted(frames) == sorted(link.name for link in description.links)

    pin.framesForwardKinematics(model, data, pin.neutral(model))
    for name, pose in link_poses_at_zero(description).items():
        np.testing.assert_allclose(
            data.oMf[frames[name]].homogeneous, pose, rtol=0, atol=1e-12, err_msg=name
        )

    for j in movable:
        joint_id = model.getJointId(j.name)
        jmodel, jdata = model.joints[joint_id], model.joints[joint_id].createData()
        if jmodel.nv != 1:
            continue
        jmodel.calc(jdata, pin.neutral(model))
        subspace = np.asarray(jdata.S).reshape(6)  # linear part first
        rows = slice(0, 3) if j.type == 'prismatic' else slice(3, 6)
        np.testing.assert_allclose(subspace[rows], j.axis, rtol=0, atol=1e-12, err_msg=j.name)
        assert np.count_nonzero(np.abs(np.delete(subspace, np.r_[rows]))) == 0
        v = jmodel.idx_v
        assert model.damping[v] == j.damping
        assert model.upperDryFrictionLimit[v] == j.friction
        if math.isfinite(j.limits.lower):
            q = jmodel.idx_q
            assert model.lowerPositionLimit[q] == j.limits.lower
            assert model.upperPositionLimit[q] == j.limits.upper
            assert model.velocityLimit[v] == j.limits.velocity
            assert model.effortLimit[v] == j.limits.effort

    ours = folded(description)
    for name, theirs in zip(model.names, model.inertias, strict=True):
        mine = ours.get(name, np.zeros((6, 6)))
        np.testing.assert_allclose(
            mine, theirs.matrix(), rtol=1e-12, atol=1e-12 * max(mine[0, 0], 1e-3), err_msg=name
        )


@pytest.mark.parametrize('path', sampled_robots(), ids=robot_id)
def test_mimic_agrees_with_pinocchio(path):
    description = read_urdf(path)
    try:
        model = pin.buildModelFromUrdf(str(path), mimic=True)
    except ValueError:
        pytest.skip('Pinocchio cannot place these mimic joints: leader after follower, or chained')
    followers = {model.names[i]: model.joints[i].extract() for i in model.mimicking_joints}
    ours = {j.name: j.mimic for j in description.joints if j.mimic is not None}
    assert sorted(followers) == sorted(ours)
    for follower, leader in zip(model.mimicking_joints, model.mimicked_joints, strict=True):
        mimic, theirs = ours[model.names[follower]], followers[model.names[follower]]
        assert mimic == Mimic(model.names[leader], theirs.scaling, theirs.offset)


@pytest.mark.parametrize(
    'path', [p for p in all_example_robots() if p.name in UNREADABLE], ids=robot_id
)
def test_examples_that_are_no_robots_say_why(path):
    with pytest.raises(DescriptionError) as caught:
        read_urdf(path)
    assert UNREADABLE[path.name] in str(caught.value)
