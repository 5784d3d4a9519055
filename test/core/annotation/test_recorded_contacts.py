# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts of recorded motions: the intervals in which the flag of the nodes is raised."""

import math

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.annotation import AnnotationSettings
from screw_dynamics_ros.core.annotation.annotate import Annotator
from screw_dynamics_ros.core.annotation.contacts import ContactFinder
from screw_dynamics_ros.core.estimation.contact_flag import ContactFlag
from screw_dynamics_ros.core.estimation.residual_offset import ResidualOffset
from support.residual_models import some_model
from support.robots import urdf_path

STEP = 10_000_000  # ns
START = 1_700_000_000_000_000_000


def arm(backend='native'):
    return Robot.from_urdf(urdf_path('planar_2r'), backend=backend)


def finder(upper, rise=0.0, fall=0.0, places=(0, 1)):
    flag = ContactFlag(len(places))
    flag.set_thresholds(np.array(upper), 0.5 * np.array(upper))
    flag.rise, flag.fall = rise, fall
    return ContactFinder(flag, np.array(places))


def found(robot, external, contacts, stamps=None, size=10_000, residual=None):
    """Return the contacts of an arm at rest, whose external torques (N, 2) are given."""
    count = len(external)
    q, v = np.tile([0.4, -0.3], (count, 1)), np.zeros((count, 2))
    tau = robot.gravity_torques(q[0]) - external
    t = START + STEP * np.arange(count) if stamps is None else stamps
    annotator = Annotator(
        robot, ['external_torque'], settings=AnnotationSettings(), residual=residual
    )
    for _ in annotator.blocks(annotator.motion(t, q, v, tau), size, contacts):
        pass
    return contacts.found


@pytest.mark.parametrize('backend', ['native', 'reference'])
def test_two_pushes(backend):
    """Each with the torques beyond thresholds only, by hand."""
    external = np.zeros((60, 2))
    external[10:20] = [3.0, -1.0]
    external[13] = [5.0, -4.0]
    external[40:44] = [0.0, 2.5]
    first, second = found(arm(backend), external, finder([2.0, 2.0], rise=0.02))
    assert [first.begin - START, first.end - START] == [12 * STEP, 19 * STEP]
    np.testing.assert_allclose(first.torques, [5.0, -4.0])
    assert first.thresholds.tolist() == [2.0, 2.0]
    assert [second.begin - START, second.end - START] == [42 * STEP, 43 * STEP]
    np.testing.assert_allclose(second.torques, [0.0, 2.5])
    assert second.thresholds.tolist() == [0.0, 2.0]


@pytest.mark.parametrize('size', [1, 7, 8, 1000])
def test_they_are_those_of_the_flag_in_all_blocks(size):
    """Sample by sample, with a pause, lost efforts, and a contact until the end."""
    noise = np.random.default_rng(4).normal(size=(300, 2))
    external = 5.0 * np.sin(np.outer(np.arange(300), [0.1, 0.05])) ** 3 + noise
    external[-20:] = 9.0
    external[92:112] = 0.0
    external[[99, 105, 106]] = 9.0  # for the rise time only if what is lost counts
    lost = slice(100, 105)
    external[lost] = np.nan
    stamps = START + STEP * np.arange(300)
    stamps[200:] += 10**9
    upper, rise, fall = [3.0, 4.0], 0.02, 0.03
    contacts = found(arm(), external, finder(upper, rise, fall), stamps, size)
    flag = finder(upper, rise, fall).flag
    values = np.zeros(300, dtype=bool)
    for k in range(300):
        is_known = np.isfinite(external[k]).all()
        is_first = k in (0, 200, lost.stop)
        values[k] = flag.take(external[k], 0 if is_first else STEP) if is_known else values[k - 1]
    edges = np.flatnonzero(np.diff(values, prepend=False))
    begins, ends = edges[::2], [*edges[1::2], 300][: len(edges[::2])]
    assert [each.begin for each in contacts] == stamps[begins].tolist()
    assert len(contacts) > 3
    for each, begin, end in zip(contacts, begins, ends):
        known = [k for k in range(begin, end) if np.isfinite(external[k]).all()]
        assert each.end == stamps[known[-1]]
        beyond = np.where(np.abs(external[known]) > upper, np.abs(external[known]), 0.0)
        np.testing.assert_allclose(np.abs(each.torques), beyond.max(axis=0), atol=1e-12)


def test_only_joints_with_thresholds():
    external = np.full((20, 2), 5.0)
    (contact,) = found(arm(), external, finder([3.0], places=(1,)))
    np.testing.assert_allclose(contact.torques, [5.0])
    assert not found(arm(), external, finder([math.inf] * 2))


def test_thresholds_of_a_residual_model():
    """They are those of the model in the state with mean noise, times a factor."""
    model = some_model(n=2, turning=(1, 1))
    contacts = finder([1e-3, 1e-3])
    flag = contacts.flag
    flag.offset = ResidualOffset()
    flag.offset.model, flag.release_ratio, flag.factors[:] = model, 0.5, [2.0, 3.0]
    (contact,) = found(arm(), np.full((20, 2), 100.0), contacts, residual=model)
    deviations = np.sqrt(model.deviations**2 + model.noise**2 + model.doubts)
    assert (contact.thresholds > 0.0).all()
    np.testing.assert_allclose(flag.upper, [2.0, 3.0] * deviations)
