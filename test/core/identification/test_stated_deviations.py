# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Deviations that observers state with a model of residuals, against true errors."""

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.annotation.annotate import annotate_arrays
from screw_dynamics_ros.core.annotation.settings import AnnotationSettings
from screw_dynamics_ros.core.identification.residual_fit import fit_residual
from support.robots import urdf_path
from support.unmodeled_friction import FrictionalArm

TIP, SLOW = 'tool0', 0.05  # rad/s
NOISE = 0.003 / np.sqrt(2.0)  # white noise of efforts by the largest
VELOCITY = 2e-3  # rad/s
SEEDS = 2, 4


def recorded(arm, seed):
    """Return a minute with velocities and torques."""
    arm.rng = np.random.default_rng(seed)
    arm.speed = arm.rng.uniform(0.3, 1.5)
    run = arm.recording(60.0)
    v = arm.followed[1] + VELOCITY * arm.rng.normal(size=run.q.shape)
    return replace(run, v=v, tau=run.tau + arm.offsets)


@pytest.fixture(scope='module', params=SEEDS)
def learned(request):
    """An identified robot, settings, motions for models of residuals, other motions."""
    nominal = Robot.from_urdf(urdf_path('ur_description/urdf/ur5_robot'))
    arm = FrictionalArm(nominal, seed=request.param, period=60.0, size=0.0)
    robot = arm.identified(nominal)
    settings = AnnotationSettings(
        observer_joints=robot.joint_names,
        observer_velocity_deviation=(VELOCITY,),
        observer_effort_deviation=tuple(NOISE * arm.limit),
    )
    trained, judged = ([recorded(arm, seed) for seed in range(k, k + 10)] for k in (0, 20))
    return robot, settings, trained, judged


@pytest.mark.parametrize('observer', ['momentum', 'kalman', 'sliding'])
def test_true_errors_are_as_large_as_stated(learned, observer):
    """Of joints, also in slow motion, and of the axes of wrenches, over ten minutes of others."""
    robot, settings, trained, judged = learned
    settings = replace(settings, observer=observer)
    model = fit_residual(robot, trained, settings).model
    torques, slow, axes = [], [], []
    for run in judged:
        found = annotate_arrays(
            robot,
            np.round(run.t * 1e9).astype(np.int64),
            run.q,
            run.v,
            run.tau,
            outputs=['external_torque'],
            settings=settings,
            residual=model,
        )
        e, P = found['external_torque'], found['external_torque_covariance']
        good = np.isfinite(e).all(axis=1)
        torques.append([(e**2)[good], P.diagonal(axis1=1, axis2=2)[good]])
        slow.append((np.abs(run.v) < SLOW)[good])
        for k in np.flatnonzero(good)[::50]:
            G = np.linalg.pinv(robot.jacobian(run.q[k], TIP).T)
            if np.linalg.norm(G, 2) < 10.0:  # not near a singularity
                axes.append([(G @ e[k]) ** 2, np.diag(G @ P[k] @ G.T)])
    true, stated = np.concatenate(torques, axis=1)
    ratios = [np.sqrt(np.mean(true / stated, axis=0))]
    ratios.append(np.sqrt(np.mean(true / stated, axis=0, where=np.concatenate(slow))))
    true, stated = np.swapaxes(axes, 0, 1)
    ratios.append(np.sqrt(np.mean(true / stated, axis=0)))
    found = np.concatenate(ratios)
    assert found.min() > 0.8, found
    assert found.max() < 1.25, found
