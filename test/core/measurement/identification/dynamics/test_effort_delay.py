# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The delay of efforts behind positions: the true one is in its interval, and is corrected."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import Drive, Robot
from screw_dynamics_ros.core.measurement.identification.dynamics import (
    EffortModel,
    IdentificationOptions,
    identify_recordings,
)
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
