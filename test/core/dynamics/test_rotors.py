# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rotors that spin with their joints, against robots that have them as links.

Spec ID: C-054.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import Drive, Robot
from screw_dynamics_ros.core.description import Inertia, Joint, Link, Mimic, RobotDescription
from screw_dynamics_ros.core.tree.multibody_tree import rotation_of_z_to
from support.drives import GRAVITY, SCALAR, close, state, two_masses
from support.models import random_description, random_wrenches


def with_rotors(floating: bool):
    """Return a robot with spinning rotors, and the same one with its rotors as links."""
    rng = np.random.default_rng(8)
    description = random_description(8, 6, SCALAR, chain=True)
    rotors = {  # joint: (inertia, gear ratio, axis, carrier)
        'joint2': (2e-3, 40.0, [0.3, -0.5, 0.8], None),
        'joint4': (1e-3, -25.0, [0.0, 0.0, 1.0], 'link3'),
        'joint5': (3e-3, 15.0, [1.0, 0.0, 0.0], 'link5'),  # on the moved link itself
        'joint6': (1e-3, 30.0, [0.0, 1.0, 0.0], 'link2'),  # behind a belt over several joints
    }
    drives = {
        name: Drive(J, G, armature=0.1, rotor_axis=tuple(axis), carrier=carrier)
        for name, (J, G, axis, carrier) in rotors.items()
    }
    made, joints = {link.name: link for link in description.links}, list(description.joints)
    for name, (J, G, axis, carrier) in rotors.items():
        carrier = carrier or next(j.parent for j in joints if j.name == name)
        origin = np.eye(4)
        origin[:3, :3] = rotation_of_z_to(np.array(axis) / np.linalg.norm(axis))
        origin[:3, 3] = rng.uniform(-0.1, 0.1, 3)
        # the carrier was weighed with the rotor in it: its mass, and its held inertia
        m, across = 0.2, 0.6 * J
        R, r = origin[:3, :3], origin[:3, 3]
        whole = made[carrier].inertia
        left = whole.mass - m
        com = (whole.mass * whole.com - m * r) / left
        about = [
            mass * (d @ d * np.eye(3) - np.outer(d, d))
            for mass, d in ((left, com - whole.com), (m, r - whole.com))
        ]
        held = R @ np.diag([across, across, J]) @ R.T
        matrix = whole.matrix - about[0] - about[1] - held
        made[carrier] = replace(made[carrier], inertia=Inertia(left, com, matrix))
        made[f'{name}_rotor'] = Link(
            f'{name}_rotor', Inertia(m, np.zeros(3), np.diag([across, across, J]))
        )
        joints.append(
            Joint(
                f'{name}_spin', 'continuous', carrier, f'{name}_rotor', origin, np.eye(3)[2],
                mimic=Mimic(name, G),
            )
        )  # fmt: skip
    explicit = RobotDescription.from_parts('explicit', list(made.values()), joints)
    armatures = {name: Drive(armature=0.1) for name in rotors}
    arguments = {'floating_base': floating, 'gravity': GRAVITY, 'backend': 'reference'}
    return (
        Robot(description, drives=drives, **arguments),
        Robot(explicit, drives=armatures, **arguments),
    )


@pytest.mark.parametrize('floating', [False, True])
def test_spinning_rotors_are_links_that_mimic(floating):
    """C-054: all functions equal those of a robot that has every rotor as a link of its own."""
    robot, explicit = with_rotors(floating)
    assert robot.joint_names == explicit.joint_names
    assert robot.link_names == tuple(n for n in explicit.link_names if not n.endswith('_rotor'))
    q, v, a = state(robot)
    wrenches = random_wrenches(robot, np.random.default_rng(9))
    close(robot.mass_matrix(q), explicit.mass_matrix(q))
    close(robot.coriolis_matrix(q, v) @ v, explicit.coriolis_torques(q, v))
    tau = explicit.inverse_dynamics(q, v, a, wrenches)
    close(robot.inverse_dynamics(q, v, a, wrenches), tau)
    close(robot.forward_dynamics(q, v, tau, wrenches), a, 1e-9)
    close(robot.gravity_torques(q), explicit.gravity_torques(q))
    close(robot.center_of_mass(q), explicit.center_of_mass(q))
    assert robot.kinetic_energy(q, v) == pytest.approx(explicit.kinetic_energy(q, v), rel=1e-12)
    # wrenches between the links, spin included; those on rotors belong to their carriers
    rows = dict(zip(explicit.link_names, explicit.joint_wrenches(q, v, a)))
    close(robot.joint_wrenches(q, v, a), np.stack([rows[link] for link in robot.link_names]), 1e-10)
    # and the spin matters: felt at the joint only, torques are others
    felt = {
        name: Drive(drive.rotor_inertia, drive.gear_ratio, drive.armature)
        for name, drive in robot.drives.items()
    }
    arguments = {'floating_base': floating, 'gravity': GRAVITY}
    simple = Robot(robot.description, drives=felt, backend='reference', **arguments)
    assert np.abs(simple.inverse_dynamics(q, v, a) - tau).max() > 1e-2
    # compiled, on regrouped masses
    compiled = Robot(robot.description, drives=robot.drives, backend='python', **arguments)
    close(compiled.inverse_dynamics(q, v, a, wrenches), tau)
    close(compiled.joint_wrenches(q, v, a), robot.joint_wrenches(q, v, a))


def test_spin_of_a_rotor_by_hand():
    """C-054: the joint feels J n (n q'' + a . w'), the base joint J n a . (a q'')."""
    arm = two_masses()
    J, n = 1e-3, 20.0
    driven = Robot(arm, backend='reference', drives={'q2': Drive(J, n, rotor_axis=(0, 0, 2.0))})
    bare = Robot(arm, backend='reference')
    q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, 2))
    extra = driven.inverse_dynamics(q, v, a) - bare.inverse_dynamics(q, v, a)
    close(extra, J * n * np.array([a[1], n * a[1] + a[0]]))


def test_felt_inertia_is_the_limit_of_large_gear_ratios():
    """C-054: with G^2 J kept, the spin's part goes with 1 / G."""
    q, v, a = np.random.default_rng(1).uniform(-1, 1, (3, 2))
    felt = Robot(two_masses(), backend='reference', drives={'q2': Drive(armature=0.4)})
    errors = []
    for G in (10.0, 100.0, 1000.0):
        spinning = Drive(0.4 / G**2, G, rotor_axis=(0, 0, 1))
        exact = Robot(two_masses(), backend='reference', drives={'q2': spinning})
        difference = exact.inverse_dynamics(q, v, a) - felt.inverse_dynamics(q, v, a)
        errors.append(np.abs(difference).max())
    assert errors[0] / errors[1] == pytest.approx(10, rel=1e-6)
    assert errors[1] / errors[2] == pytest.approx(10, rel=1e-6)
