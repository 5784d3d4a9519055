# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Instants of equations: blocks held out, margins, shifted efforts, equations of two recordings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Drive, Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.identification import (
    EffortModel,
    JointRecording,
    KnownLoad,
)
from screw_dynamics_ros.core.identification.effort_delay import (
    delayed_efforts,
    estimated_delay,
    shifted_efforts,
    without_delay,
)
from screw_dynamics_ros.core.identification.effort_equations import (
    divided,
    equations,
)
from screw_dynamics_ros.core.identification.filtering import needed_time
from screw_dynamics_ros.core.identification.unknowns import Unknowns
from support.effort_equations import effort_equations
from support.simulated_recording import SMOOTHING, computed, some_motion

CUTOFF = 4.0  # Hz


# --- blocks that are held out ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ('share', 'blocks'),
    [
        (0.1, [9]),
        (0.2, [4, 9]),
        (0.25, [3, 7]),
        (0.3, [3, 6, 9]),
        (0.5, [1, 3, 5, 7, 9]),
        (0.0, []),
    ],
)
def test_tenths_of_each_part_are_held_out(share, blocks):
    """The others are fitted, except nearer than a period of the cutoff, 0.25 s, to those."""
    part = np.repeat([0, 1], [200, 100])
    t = np.concatenate([0.1 * np.arange(200), 100.0 + 0.1 * np.arange(100)])
    given = effort_equations(np.arange(300.0)[:, None], t=t, part=part)
    fitted, held = divided(given, share, CUTOFF)
    expected = np.concatenate(
        [np.isin(np.arange(size) // (size // 10), blocks) for size in (200, 100)]
    )
    np.testing.assert_array_equal(held.t, t[expected])
    apart = np.full(300, np.inf)
    for k in range(300):
        same = expected & (part == part[k])
        if same.any():
            apart[k] = np.abs(t[same] - t[k]).min()
    np.testing.assert_array_equal(fitted.effort[:, 0], np.flatnonzero(apart > 0.24))
    np.testing.assert_array_equal(fitted.part, part[apart > 0.24])


def test_a_share_of_less_than_a_block_is_refused():
    given = effort_equations(np.ones((100, 1)))
    with pytest.raises(ArgumentError, match=r'held_out: 0\.05 of 10 blocks is not even one'):
        divided(given, 0.05, CUTOFF)


# --- shifted efforts ------------------------------------------------------------------------------


@pytest.mark.parametrize('delay', [0.0137, -0.0137])
def test_efforts_are_shifted_by_a_spline_and_constant_beyond_the_ends(delay):
    t = np.arange(0.0, 4.0, 0.01)
    tau = np.stack([np.sin(3.0 * t), np.full_like(t, np.nan)], axis=1)
    given = JointRecording(t, tau, None, tau)
    found = shifted_efforts(given, delay)
    expected = np.sin(3.0 * np.clip(t + delay, t[0], t[-1]))
    np.testing.assert_allclose(found.tau[:, 0], expected, atol=1e-6)
    assert np.isnan(found.tau[:, 1]).all()
    assert found.q is tau
    assert found.t is t


@pytest.mark.parametrize('delay', [0.3, -0.3])
def test_equations_without_delay_end_where_efforts_do(delay):
    """Filtered efforts of the times t + delay; ends shorter than the delay are omitted."""
    t = np.arange(0.0, 20.0, 0.01)
    tau = np.sin(3.0 * t)[:, None]
    runs = [JointRecording(t, tau, None, tau)]
    effort = delayed_efforts(0.0, runs, CUTOFF, False)
    step = 0.08  # s: 12 Hz, in whole samples
    at = t[0] + 0.01 * (len(t) - 1) / 2 + step * (np.arange(len(effort)) - (len(effort) - 1) / 2)
    given = effort_equations(effort, t=at)
    found = without_delay(given, delay, runs, CUTOFF, False)
    inner = (at - at[0] >= 0.3 - 1e-9) & (at[-1] - at >= 0.3 - 1e-9)
    np.testing.assert_array_equal(found.t, at[inner])
    start = np.argmin(np.abs(np.sin(3.0 * (at[:, None] + np.linspace(-0.2, 0.2, 4001)))
                             - effort).sum(axis=0))  # fmt: skip
    offset = np.linspace(-0.2, 0.2, 4001)[start]
    expected = np.sin(3.0 * (at[inner] + offset + delay))
    np.testing.assert_allclose(found.effort[:, 0], expected, atol=2e-3)


def test_too_little_motion_has_no_delay():
    """Fewer than a hundred instants inside of the largest delay, or fewer than five blocks."""
    t = np.arange(0.0, 9.0, 0.01)
    tau = np.sin(3.0 * t)[:, None]
    runs = [JointRecording(t, tau, None, tau)]
    effort = delayed_efforts(0.0, runs, CUTOFF, False)
    assert len(effort) < 100
    given = effort_equations(effort, np.ones((len(effort), 1, 1)), t=0.08 * np.arange(len(effort)))
    found = estimated_delay(given, np.ones(1), runs, CUTOFF, False)
    assert (found.value, found.deviation) == (0.0, np.inf)


# --- equations of recordings ----------------------------------------------------------------------

DRIVES = {
    'joint1': Drive(armature=0.3, damping=0.5, coulomb=1.0, smoothing=SMOOTHING),
    'joint2': Drive(armature=0.1, damping=0.2, coulomb=0.4, smoothing=SMOOTHING),
}
LOAD = RigidBody(0.8, [0.1, 0.05, 0.0], np.diag([1e-3, 1e-3, 2e-3]))


@pytest.fixture(scope='module')
def arm():
    return Robot.from_urdf('urdf/planar_2r.urdf', gravity=(0, -9.81, 0), drives=DRIVES,
                           backend='python')  # fmt: skip


def test_equations_hold_with_the_true_parameters(arm):
    """Efforts of the robot are W theta + known; with a payload, and a load whose mass is known."""
    model = EffortModel(estimate=('inertia', 'friction', 'armature'), smoothing=SMOOTHING)
    unknowns = Unknowns(arm, model, KnownLoad('link2', 0.8))
    load = {'link2': LOAD}
    plain = computed(arm, some_motion(2), 9.0)
    carried = computed(arm, some_motion(2, seed=4), 8.0, load)
    unknown = replace(carried, payloads={}, load=KnownLoad('link2', 0.8))
    columns, grouping = unknowns.base(np.ones(2, bool), np.ones(2, bool), {True, False})
    found = equations([plain, carried, unknown], unknowns, columns, CUTOFF)
    values = dict(zip(unknowns.names, unknowns.nominal))
    h, I = LOAD.first_moment, LOAD.inertia  # noqa: E741
    numbers = (0.8, *h, I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2])
    names = ('m', 'mx', 'my', 'mz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz')
    values |= {f'load/{name}': x for name, x in zip(names, numbers)}
    theta = np.array([values[name] for name in unknowns.names])
    torque = found.W @ (grouping @ theta) + found.known
    scale = np.abs(found.effort).max()
    np.testing.assert_allclose(torque, found.effort, atol=2e-3 * scale)
    # those of the nominal robot, with friction and without
    first = found.recording == 0
    np.testing.assert_allclose(found.nominal[first], found.effort[first], atol=2e-3 * scale)
    second = found.recording == 1
    np.testing.assert_allclose(found.nominal[second], found.effort[second], atol=2e-3 * scale)
    damping = [0.5, 0.2] * found.v + [0.3, 0.1] * found.a + [1.0, 0.4] * found.direction
    np.testing.assert_allclose(found.rigid + damping, found.nominal, atol=1e-9)
    assert found.loaded.tolist() == (~first).tolist()
    assert np.unique(found.part).tolist() == [0, 1, 2]
    np.testing.assert_array_equal(found.part, found.recording)
    # the motion of each, filtered: exact rates of a slow motion
    for number, seed in ((0, 3), (1, 4)):
        rows = found.recording == number
        _, v, a = some_motion(2, seed=seed).at(found.t[rows])
        np.testing.assert_allclose(found.v[rows], v, atol=2e-3)
        np.testing.assert_allclose(found.a[rows], a, atol=2e-2)


def test_rows_are_chosen_in_all_arrays():
    given = effort_equations(np.arange(6.0)[:, None], np.arange(12.0).reshape(6, 1, 2))
    mask = np.array([True, False] * 3)
    found = given.rows(mask)
    assert found.effort[:, 0].tolist() == [0.0, 2.0, 4.0]
    assert found.W[:, 0, 0].tolist() == [0.0, 4.0, 8.0]
    assert found.t.tolist() == given.t[mask].tolist()
    assert len(found.loaded) == len(found.part) == len(found.direction) == 3


def test_recordings_that_are_too_short_say_how_long_they_must_be(arm):
    short = needed_time(CUTOFF) - 0.1
    runs = [computed(arm, some_motion(2), time) for time in (short, 1.0)]
    unknowns = Unknowns(arm, EffortModel())
    with pytest.raises(
        ArgumentError,
        match=f'too short: {runs[0].t[-1]:.3g} s, but a cutoff of 4 Hz needs at least 1.87 s',
    ):
        equations(runs, unknowns, np.arange(2), CUTOFF)
