# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Payloads: their torques against Pinocchio."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('pinocchio')

from screw_dynamics_ros.core import ArgumentError, Drive, InertiaError, Robot, UnknownNameError
from screw_dynamics_ros.core.description import Inertia
from screw_dynamics_ros.core.description.rigid_body import PARAMETERS, RigidBody
from screw_dynamics_ros.core.dynamics.payload import (
    carried_alone,
    payload_mass_matrix,
    payload_parameters,
    with_inertia_changes,
)
from screw_dynamics_ros.core.tree.multibody_tree import GROUND, build_tree
from support.loaded_robots import loaded
from support.models import random_configuration, random_description, random_inertia, to_urdf

KINDS = ('revolute', 'prismatic', 'continuous')


def body(rng):
    inertia = random_inertia(rng)
    return RigidBody(inertia.mass, inertia.com, inertia.matrix)


@pytest.mark.parametrize(
    ('kinds', 'mimic', 'floating'),
    [(KINDS, 0, False), (KINDS, 2, False), (KINDS, 0, True), ((*KINDS, 'floating'), 0, True)],
)
def test_payload_torques_against_pinocchio(kinds, mimic, floating):
    """Robot and payloads together have the torques of the robot with these bodies (D-27)."""
    rng = np.random.default_rng(4)
    description = random_description(7, 6, kinds, mimic=mimic)
    robot = Robot(description, floating_base=floating)
    payloads = {name: body(rng) for name in ('link0', 'link3', 'link6')}
    oracle = loaded(robot, to_urdf(description), payloads)
    for _ in range(3):
        q = random_configuration(robot, rng)
        v, a = rng.normal(size=(2, robot.nv))
        torques = robot.inverse_dynamics(q, v, a) + robot.payload_torques(q, v, a, payloads)
        np.testing.assert_allclose(
            torques, oracle.inverse_dynamics(q, v, a), rtol=1e-10, atol=1e-10
        )
    parameters = payload_parameters(robot.tree, payloads)
    M = robot.mass_matrix(q) + payload_mass_matrix(robot.tree, q, parameters)
    np.testing.assert_allclose(M, oracle.mass_matrix(q), rtol=1e-10, atol=1e-10)


def test_payloads_in_stacks():
    rng = np.random.default_rng(5)
    robot = Robot(random_description(8, 4, KINDS), backend='reference')
    payloads = {'link4': body(rng)}
    other = replace(
        robot.description,
        links=tuple(
            link
            if link.name != 'link4'
            else replace(link, inertia=together(link, payloads['link4']))
            for link in robot.description.links
        ),
    )
    expected = Robot(other, backend='reference')
    q, v, a = rng.normal(size=(3, 9, 4))
    stack = robot.payload_torques(q, v, a, payloads)
    as_numbers = robot.payload_parameters(payloads)
    for k in range(9):
        difference = expected.inverse_dynamics(q[k], v[k], a[k]) - robot.inverse_dynamics(
            q[k], v[k], a[k]
        )
        np.testing.assert_allclose(stack[k], difference, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(
            robot.payload_torques(q[k], v[k], a[k], payloads), stack[k], rtol=1e-12, atol=1e-12
        )
        np.testing.assert_allclose(
            robot.payload_torques(q[k], v[k], a[k], as_numbers), stack[k], rtol=1e-12, atol=1e-12
        )


def together(link, load):
    whole = RigidBody(link.inertia.mass, link.inertia.com, link.inertia.matrix) + load
    return Inertia(whole.mass, whole.com, whole.matrix)


def test_a_payload_on_what_does_not_move_changes_nothing():
    robot = Robot(random_description(9, 3))
    load = {'link0': RigidBody(5.0, [1, 2, 3], np.eye(3))}
    assert not robot.payload_torques(*np.ones((3, 3)), load).any()
    assert not robot.payload_torques(*np.ones((3, 3)), {}).any()


@pytest.mark.parametrize(
    ('payloads', 'error', 'reason'),
    [
        ({'hook': RigidBody(1.0, np.zeros(3), np.zeros((3, 3)))}, UnknownNameError, "'hook'"),
        ({'link1': 2.0}, ArgumentError, "'link1' must be a RigidBody"),
        (np.zeros(3), ArgumentError, 'payload must have shape'),
    ],
)
def test_impossible_payloads_are_refused(payloads, error, reason):
    robot = Robot(random_description(9, 3))
    with pytest.raises(error, match=reason):
        robot.payload_torques(*np.ones((3, 3)), payloads)


def test_negative_mass_is_no_payload():
    with pytest.raises(InertiaError, match='cannot be negative'):
        RigidBody(-1.0, np.zeros(3), np.zeros((3, 3)))


def test_parameters_of_bodies():
    """Those of payloads alone, without drives, or added: mass, first moment, six moments."""
    description = random_description(8, 3, KINDS)
    tree = build_tree(description, drives={'joint1': Drive(armature=0.3)})
    rows = np.random.default_rng(6).normal(size=(3, len(PARAMETERS)))
    alone, changed = carried_alone(tree, rows.ravel()), with_inertia_changes(tree, rows.ravel())
    for row, before, load, after in zip(rows, tree.bodies, alone.bodies, changed.bodies):
        x = dict(zip(PARAMETERS, row))
        h = np.array([x['mx'], x['my'], x['mz']])
        moments = np.array([[x[f'I{min(i, j)}{max(i, j)}'] for j in 'xyz'] for i in 'xyz'])
        assert (load.m, after.m) == (x['m'], before.m + x['m'])
        np.testing.assert_array_equal(load.h, h)
        np.testing.assert_array_equal(after.h, before.h + h)
        np.testing.assert_array_equal(load.I, moments)
        np.testing.assert_array_equal(after.I, before.I + moments)
        assert load.drive == Drive()
        assert after.drive == before.drive
    assert tree.bodies[0].drive.armature == 0.3


def test_payloads_are_bodies_of_links():
    """In the frames of their links; on the root of a fixed base they have no effect."""
    rng = np.random.default_rng(7)
    tree, load = build_tree(random_description(8, 3, (*KINDS, 'fixed'))), body(rng)
    for link, frame in tree.frames.items():
        rows = payload_parameters(tree, {link: load}).reshape(-1, len(PARAMETERS))
        expected = np.zeros_like(rows)
        if frame.body != GROUND:
            expected[frame.body] = load.moved(frame.S).parameters
        np.testing.assert_array_equal(rows, expected)
    both = payload_parameters(tree, {'link2': load, 'link3': load})
    single = [payload_parameters(tree, {link: load}) for link in ('link2', 'link3')]
    np.testing.assert_allclose(both, sum(single))
    with pytest.raises(ArgumentError, match=r'^payloads must be a dict .*, got 3$'):
        payload_parameters(tree, 3)
    with pytest.raises(
        ArgumentError, match=r"^the payload on 'link1' must be a RigidBody, got 2\.0"
    ):
        payload_parameters(tree, {'link1': 2.0})
