# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The delay of efforts behind positions: the true one is in its interval, and is corrected."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.cli.identify.output_files import parameter_file
from screw_dynamics_ros.core import Drive, Robot
from screw_dynamics_ros.core.identification import (
    EffortModel,
    IdentificationOptions,
    identification,
    identify_recordings,
)
from screw_dynamics_ros.core.identification.effort_delay import (
    EffortDelay,
    _basis,
    _blocks,
    _inside,
    _rates,
    estimated_delay,
    shifted_efforts,
)
from screw_dynamics_ros.core.identification.recording import JointRecording
from support.effort_equations import effort_equations
from support.paths import URDF
from support.simulated_recording import (
    SMOOTHING,
    computed,
    late,
    some_motion,
    with_friction_of_gears,
)

DRIVES = {
    'joint1': Drive(damping=0.5, coulomb=1.0, smoothing=SMOOTHING),
    'joint2': Drive(damping=0.2, coulomb=0.4, smoothing=SMOOTHING),
}
COULOMB = np.array([0.5, 0.2])
OPTIONS = IdentificationOptions(model=EffortModel(smoothing=SMOOTHING), scale='known')


@pytest.fixture(scope='module')
def arm():
    text = (URDF / 'planar_2r.urdf').read_text()
    return Robot.from_urdf(text, gravity=(0, -9.81, 0), drives=DRIVES)


@pytest.fixture(scope='module')
def clean(arm):
    """Return 20 s at 200 Hz: delays are fractions of samples."""
    return computed(arm, some_motion(2), effort_noise=0.02)


@pytest.mark.parametrize('delay', [-0.0213, 0.0, 0.0067, 0.1123])
@pytest.mark.parametrize('is_modeled', [True, False])
def test_the_true_delay_is_in_its_interval(arm, clean, delay, is_modeled):
    """Also where friction has a hysteresis, which is late without a delay of efforts."""
    given = clean if is_modeled else with_friction_of_gears(clean, COULOMB)
    result = identify_recordings(arm, [late(given, delay)], OPTIONS)
    found = result.effort_delay
    assert abs(found.value - delay) < found.half_width()
    assert abs(found.value - delay) < (1e-4 if is_modeled else 3e-3)
    assert found.half_width() < (2e-3 if is_modeled else 0.03)
    texts = [str(each) for each in result.findings if 'positions of the same stamp' in str(each)]
    if is_modeled and delay:
        (text,) = texts
        assert f'ms {"later" if delay > 0 else "earlier"} than' in text
        assert result.drives['joint1'].damping == pytest.approx(0.5, abs=0.02)  # corrected
    elif not delay:
        assert texts == []


def test_a_motion_that_does_not_determine_it(arm, clean):
    """Efforts that are noise alone are not shifted."""
    noise = np.random.default_rng(1).normal(size=clean.tau.shape)
    found = identify_recordings(arm, [replace(clean, tau=noise)], OPTIONS).effort_delay
    assert not found.is_certain
    assert found.half_width() > 0.02


def test_a_delay_that_does_not_help_is_not_compensated(arm, clean, monkeypatch):
    """By errors of held-out efforts, though its interval excludes zero."""
    monkeypatch.setattr(identification, 'estimated_delay', lambda *_: EffortDelay(0.03, 1e-3, 9))
    plain = identify_recordings(arm, [clean], OPTIONS)
    assert not plain.effort_delay.is_certain
    assert 'effort_delay' not in parameter_file(plain)
    assert identify_recordings(arm, [late(clean, 0.03)], OPTIONS).effort_delay.is_certain


# --- its parts ------------------------------------------------------------------------------------


@pytest.mark.parametrize(('size', 'rank'), [(1.2e-12, 4), (0.8e-12, 3)])
def test_columns_far_smaller_than_others_are_none(size, rank):
    """Of any unit: a millionth of a millionth of the largest one; the others are spanned."""
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(50, 4))
    columns *= np.array([1e3, 1.0, 1e-5, 1e3 * size]) / np.linalg.norm(columns, axis=0)
    Q = _basis(np.column_stack([columns, np.zeros(50)]))
    assert Q.shape == (50, rank)
    np.testing.assert_allclose(Q.T @ Q, np.eye(rank), atol=1e-9)
    unit = columns[:, :rank] / np.linalg.norm(columns[:, :rank], axis=0)
    np.testing.assert_allclose(Q @ (Q.T @ unit), unit, atol=1e-9)
    assert _basis(np.zeros((5, 2))).shape == (5, 0)


@pytest.mark.parametrize(('sine', 'rank'), [(2.2e-6, 2), (1.8e-6, 1)])
def test_columns_nearly_parallel_are_one(sine, rank):
    """Their smaller squared singular value is sin^2 / 4 of the larger one."""
    columns = np.array([[1.0, 1.0], [0.0, sine], [0.0, 0.0]])
    assert _basis(columns * [1.0, 70.0]).shape[1] == rank


@pytest.mark.parametrize(('time', 'length'), [(30.0, 2.0), (5.0, 1.0)])
def test_blocks_of_two_seconds_or_a_fifth(time, length):
    t = np.linspace(0.0, time, 498)
    blocks = _blocks(np.concatenate([t, t[:40]]), np.repeat([3, 8], [len(t), 40]))
    np.testing.assert_array_equal(blocks[: len(t)], np.floor(t / length))
    assert (blocks[len(t) :] > blocks[len(t) - 1]).all()


def test_instants_inside_of_parts_and_rates():
    t = np.concatenate([np.arange(11.0), np.arange(7.0)])
    part = np.repeat([0, 1], [11, 7])
    given = effort_equations(np.zeros((18, 1)), t=t, part=part)
    inside = [*(2 <= k <= 8 for k in range(11)), *(2 <= k <= 4 for k in range(7))]
    assert _inside(given, 2.0).tolist() == inside
    cubic = np.stack([t**3, t], axis=1)
    np.testing.assert_allclose(_rates(t, part, cubic)[:, 0], 3 * t**2, atol=1e-9)
    few = np.array([0, 0, 0, 1, 1, 1, 1])
    rates = _rates(np.array([0.0, 1, 2, 0, 1, 2, 3]), few, np.ones((7, 1)) * np.arange(7)[:, None])
    np.testing.assert_allclose(rates[:, 0], [0, 0, 0, 1, 1, 1, 1], atol=1e-12)


@pytest.mark.parametrize('delay', [0.013, -0.021])
def test_efforts_of_another_time(delay):
    """Constant beyond the ends; joints without efforts stay so."""
    t = np.arange(0.0, 4.0, 0.01)
    tau = np.stack([np.sin(3.0 * t), np.where(t > 1.0, np.nan, 1.0)], axis=1)
    found = shifted_efforts(JointRecording(t, tau, None, tau), delay).tau
    at = np.clip(t + delay, 0.0, t[-1])
    np.testing.assert_allclose(found[:, 0], np.sin(3.0 * at), atol=1e-6)
    assert np.isnan(found[:, 1]).all()


def test_too_few_instants_have_no_delay():
    """A hundred, two tenths of a second from the ends; and less equations than columns."""
    t = 0.01 * np.arange(139.0)
    short = effort_equations(np.ones((139, 1)), t=t)
    assert estimated_delay(short, np.ones(1), [], 4.0, False) == EffortDelay()
    assert EffortDelay().half_width() == np.inf
    t = 0.01 * np.arange(141.0)
    W = np.random.default_rng(0).normal(size=(141, 1, 60))
    wide = effort_equations(np.ones((141, 1)), W, t=t)
    assert estimated_delay(wide, np.ones(1), [], 4.0, False) == EffortDelay()
