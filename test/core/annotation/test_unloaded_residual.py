# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Claimed errors of external torques of an identified arm, and true ones in another motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.annotation.annotate import annotate_arrays
from screw_dynamics_ros.core.annotation.settings import AnnotationSettings
from screw_dynamics_ros.core.annotation.unloaded_residual import (
    OBSERVER,
    as_of_nodes,
    unloaded_residual,
)
from screw_dynamics_ros.core.identification import (
    EffortModel,
    IdentificationOptions,
    identify_recordings,
)
from support.robots import urdf_path
from support.simulated_recording import (
    SMOOTHING,
    computed,
    some_motion,
    true_robot,
    with_friction_of_gears,
)

COULOMB = np.array([3.0, 3.0, 2.0, 0.5, 0.5, 0.5])


@pytest.fixture(scope='module')
def nominal():
    return Robot.from_urdf(urdf_path('ur_description/urdf/ur5_robot'))


@pytest.fixture(scope='module')
def truth(nominal):
    return true_robot(nominal, np.random.default_rng(0), np.zeros(6)).robot


def recorded(truth, seed, period, speed, time):
    """Return what sensors with noise record, with friction that the model does not have."""
    motion = some_motion(6, seed, speed, period, round(period / 2.5))
    exact = with_friction_of_gears(computed(truth, motion, time, rate=250.0), COULOMB)
    rng = np.random.default_rng(seed)
    return replace(
        exact,
        q=exact.q + 2e-5 * rng.normal(size=exact.q.shape),
        v=exact.v + 2e-3 * rng.normal(size=exact.q.shape),
        tau=exact.tau + 0.2 * rng.normal(size=exact.q.shape),
    )


@pytest.fixture(scope='module')
def identified(nominal, truth):
    """Return the identified robot, and what is claimed of its external torques."""
    recording = recorded(truth, 3, 25.0, 1.2, 50.0)
    options = IdentificationOptions(model=EffortModel(smoothing=SMOOTHING), scale='known')
    result = identify_recordings(nominal, [recording], options)
    robot = Robot(result.description, drives=result.drives)
    return (
        robot,
        result,
        unloaded_residual(robot, result, [recording], as_of_nodes(robot, result, [recording])),
    )


def errors(identified, recording):
    robot, result, _ = identified
    found = annotate_arrays(
        robot,
        np.round(recording.t * 1e9).astype(np.int64),
        recording.q,
        recording.v,
        recording.tau + result.effort_offset,
        outputs=['external_torque'],
        settings=AnnotationSettings(observer=OBSERVER),
    )['external_torque']
    return found[np.isfinite(found).all(axis=1)]


def test_another_motion_has_the_claimed_errors(identified, truth, nominal):
    """Within a factor of 1.5 for each joint, most of it by friction; no flag is raised."""
    e = errors(identified, recorded(truth, 104, 25.0, 1.0, 50.0))
    claimed = identified[2]
    assert claimed.joint_names == nominal.joint_names
    factor = claimed.deviation / np.sqrt(np.mean(e**2, axis=0))
    assert np.abs(np.log(factor)).max() < np.log(1.5)
    assert (claimed.model_deviation > 0.9 * claimed.deviation).all()
    assert (np.abs(e).max(axis=0) < claimed.contact_threshold).all()
    assert (claimed.contact_threshold < 12.0 * claimed.deviation).all()
    assert (claimed.collision_threshold > 1.2 * claimed.contact_threshold).all()


def test_without_errors_of_the_model_noise_is_found(nominal):
    """Deviations of efforts and velocities from one state to the next."""
    rng, motion = np.random.default_rng(5), some_motion(6, 3, 1.2)
    exact = computed(nominal, motion, 25.0, rate=250.0)
    noisy = replace(
        exact,
        v=exact.v + 4e-3 * rng.normal(size=exact.q.shape),
        tau=exact.tau + 0.5 * rng.normal(size=exact.q.shape),
    )
    options = IdentificationOptions(
        model=EffortModel(estimate=('offset',), smoothing=SMOOTHING), scale='known'
    )
    result = identify_recordings(nominal, [noisy], options)
    found = unloaded_residual(nominal, result, [noisy], as_of_nodes(nominal, result, [noisy]))
    np.testing.assert_allclose(found.effort_deviation, 0.5, rtol=0.15)
    np.testing.assert_allclose(found.velocity_deviation, 4e-3, rtol=0.15)
    assert (found.model_deviation < 0.5 * found.deviation).all()
