# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Links that a program merges wrongly: each known fault is named, an unknown one by its body.

The merged bodies are made here as a program with that fault would make them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.comparison.merged_bodies import FAULTS, merging_faults
from screw_dynamics_ros.comparison.reading import (
    DescriptionReading,
    combined,
    inertia_of,
    rigid_bodies,
    subtracted,
)
from screw_dynamics_ros.core.description import Inertia
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from support.models import random_description, random_inertia, random_pose

SAME = 1e-7


def fixed_pairs(seed: int) -> tuple[DescriptionReading, list[str]]:
    """Return a random tree with some fixed joints below moving ones, and their names."""
    reading = DescriptionReading(random_description(seed, 8, chain=True))
    names = ['joint3', 'joint4', 'joint7']
    for name in names:
        reading = reading.with_joint(replace(reading.joint(name), type='fixed'))
    return reading, names


@pytest.mark.parametrize('seed', range(3))
def test_a_sum_of_the_parts_is_no_fault(seed):
    """The same sums by `RigidBody`, which has another formula."""
    reading, _ = fixed_pairs(seed)
    bodies = rigid_bodies(reading.description)
    assert not list(merging_faults(reading, bodies, SAME))
    links = {link.name: link.inertia for link in reading.description.links}
    third, fourth = reading.joint('joint3').origin, reading.joint('joint4').origin
    parts = [(np.eye(4), 'link2'), (third, 'link3'), (third @ fourth, 'link4')]
    first, *rest = (
        RigidBody(links[name].mass, links[name].com, links[name].matrix).moved(pose)
        for pose, name in parts
    )
    whole = sum(rest, first)
    assert bodies['link2'].mass == pytest.approx(whole.mass)
    np.testing.assert_allclose(bodies['link2'].com, whole.com, atol=1e-12)
    np.testing.assert_allclose(bodies['link2'].matrix, whole.matrix, atol=1e-12)


@pytest.mark.parametrize('fault', FAULTS, ids=lambda fault: fault.dropped.replace(' ', '_'))
@pytest.mark.parametrize('name', ['joint4', 'joint7'])
def test_a_known_fault_is_named(name, fault):
    reading, _ = fixed_pairs(1)
    joint = reading.joint(name)
    wrong = rigid_bodies(fault.change(reading, joint).description)
    (found,) = merging_faults(reading, wrong, SAME)
    subject = f'link {joint.child}' if fault.field == 'inertial' else f'joint {name}'
    assert (found.subject, found.field) == (subject, fault.field)
    assert f'when link {joint.child} is merged into link ' in found.theirs
    put_in = rigid_bodies(found.change(reading).description)
    for head, body in wrong.items():
        np.testing.assert_allclose(put_in[head].matrix, body.matrix, atol=1e-12)


def test_what_the_faults_do():
    """Center of mass and inertia of the child as if the axes of both links were parallel."""
    reading, _ = fixed_pairs(1)
    head, child = (inertia_of(reading.link(name)) for name in ('link6', 'link7'))
    origin = reading.joint('joint7').origin
    R, r = origin[:3, :3], origin[:3, 3]

    def whole(com, matrix):
        mass = head.mass + child.mass
        c = (head.mass * head.com + child.mass * com) / mass
        about = sum(
            m * (d @ d * np.eye(3) - np.outer(d, d))
            for m, d in ((head.mass, head.com - c), (child.mass, com - c))
        )
        return Inertia(mass, c, head.matrix + matrix + about)

    turned = R @ child.matrix @ R.T
    expected = {
        'dropped': whole(child.com + r, child.matrix),
        'dropped for center of mass and inertia': whole(child.com + r, child.matrix),
        'dropped for the inertia': whole(R @ child.com + r, child.matrix),
    }
    right = rigid_bodies(reading.description)['link6']
    np.testing.assert_allclose(right.matrix, whole(R @ child.com + r, turned).matrix, atol=1e-12)
    for fault in FAULTS[:3]:
        changed = fault.change(reading, reading.joint('joint7')).description
        made = rigid_bodies(changed)['link6']
        np.testing.assert_allclose(made.com, expected[fault.dropped].com, atol=1e-12)
        np.testing.assert_allclose(made.matrix, expected[fault.dropped].matrix, atol=1e-12)


def test_an_unknown_fault_is_named_by_its_body():
    """The turned fixed joints of the body are suspected, and its values put in."""
    reading, _ = fixed_pairs(2)
    wrong = dict(rigid_bodies(reading.description))
    wrong['link6'] = replace(wrong['link6'], com=wrong['link6'].com + [0.01, 0.0, 0.0])
    (found,) = merging_faults(reading, wrong, SAME)
    assert (found.subject, found.field) == ('joint joint7', 'origin rpy')
    assert found.ours.startswith('inertial origin xyz ')
    assert found.theirs.endswith(' of the body that it makes of link link6 and link link7')
    put_in = rigid_bodies(found.change(reading).description)['link6']
    np.testing.assert_allclose(put_in.com, wrong['link6'].com, atol=1e-12)
    np.testing.assert_allclose(put_in.matrix, wrong['link6'].matrix, atol=1e-12)


def test_a_part_can_be_taken_off_again():
    rng = np.random.default_rng(0)
    pose, own, part = random_pose(rng), random_inertia(rng), random_inertia(rng)
    whole = combined([(np.eye(4), own), (pose, part)])
    rest = subtracted(whole, [(pose, part)])
    assert rest.mass == pytest.approx(own.mass)
    np.testing.assert_allclose(rest.com, own.com, atol=1e-12)
    np.testing.assert_allclose(rest.matrix, own.matrix, atol=1e-12)
