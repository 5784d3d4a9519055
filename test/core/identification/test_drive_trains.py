# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Coupled motors, springs and friction by load in identification, against known truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Drive, Robot
from screw_dynamics_ros.core.description.friction import load_friction_of
from screw_dynamics_ros.core.identification import (
    EffortModel,
    IdentificationOptions,
    JointRecording,
    identify_recordings,
)
from support.simulated_recording import SMOOTHING, computed, some_motion

GRAVITY = (0.0, -9.81, 0.0)
OPTIONS = IdentificationOptions(model=EffortModel(smoothing=SMOOTHING), scale='known')
PLANAR = 'urdf/planar_2r.urdf'
TRUE = {
    'joint1': Drive(armature=0.3, damping=0.5, coulomb=1.0, smoothing=SMOOTHING),
    'joint2': Drive(armature=0.1, damping=0.2, coulomb=0.4, smoothing=SMOOTHING),
}
NOISE = 0.05  # N m


def identified(changes, nominal, *, efforts=lambda tau: tau, noise=NOISE, options=OPTIONS):
    """Return the truth with `changes` of drives, and what is found with nominal drives."""
    drives = {joint: replace(drive, **changes.get(joint, {})) for joint, drive in TRUE.items()}
    truth = Robot.from_urdf(PLANAR, gravity=GRAVITY, drives=drives, backend='python')
    recording = computed(truth, some_motion(2))
    tau = efforts(recording.tau)
    tau = tau + noise * np.random.default_rng(0).normal(size=tau.shape)
    recording = JointRecording(recording.t, recording.q, recording.v, tau)
    given = {joint: Drive(**fields) for joint, fields in nominal.items()}
    robot = Robot.from_urdf(PLANAR, gravity=GRAVITY, drives=given, backend='python')
    return truth, identify_recordings(robot, [recording], options)


def r2(result):
    """Return the explained share of the variance of held-out efforts (n,)."""
    rows = result.torques.held_out
    measured, found = result.torques.measured[rows], result.torques.identified[rows]
    return 1.0 - np.var(measured - found, axis=0) / np.var(measured, axis=0)


def same_torques(truth, result):
    """Return the largest relative error of torques in another motion."""
    found = Robot(result.description, gravity=GRAVITY, drives=result.drives, backend='python')
    q, v, a = some_motion(2, seed=8).at(np.linspace(0, 10, 100))
    expected = truth.inverse_dynamics(q, v, a)
    return np.abs(found.inverse_dynamics(q, v, a) - expected).max() / np.abs(expected).max()


COUPLED = {'coupled_joints': ('joint1',), 'coupling_ratios': (1.0,)}


def test_coupled_motors():
    """Motor 2 turns with both joints: efforts make sense only with the coupling."""
    motor = {'rotor_inertia': 2e-5, 'gear_ratio': 100.0, 'motor_damping': 1.5, 'motor_coulomb': 2.0}
    changes = {'joint2': {**COUPLED, **motor}}

    def motors(tau):
        return np.stack([tau[:, 0] - tau[:, 1], tau[:, 1]], axis=1)

    truth, result = identified(
        changes, {'joint2': {**COUPLED, 'gear_ratio': 100.0}}, efforts=motors
    )
    assert r2(result).min() > 0.999
    assert same_torques(truth, result) < 5e-3
    found = result.drives['joint2']
    assert found.motor_damping == pytest.approx(1.5, rel=0.05)
    assert found.motor_coulomb == pytest.approx(2.0, rel=0.05)
    assert found.coulomb == pytest.approx(0.4, rel=0.1)
    assert found.rotor_inertia == pytest.approx(2e-5, rel=0.05)
    assert result.drives['joint1'].coulomb == pytest.approx(1.0, rel=0.1)
    _, without = identified(changes, {}, efforts=motors)
    assert r2(without).min() < 0.97


def test_springs():
    """Of a spring along a joint and a counterbalance, from other forces."""
    pivots = {
        'counterbalance_on_parent': (0.3, 0.2, 0.0),
        'counterbalance_on_child': (0.1, -0.2, 0.0),
    }
    changes = {
        'joint1': {**pivots, 'counterbalance_preload': -300.0, 'counterbalance_stiffness': 900.0},
        'joint2': {'spring_stiffness': 6.0, 'spring_position': 0.4},
    }
    nominal = {
        'joint1': {**pivots, 'counterbalance_preload': -100.0, 'counterbalance_stiffness': 500.0},
        'joint2': {'spring_stiffness': 3.0, 'spring_position': 0.4},
    }
    truth, result = identified(changes, nominal, noise=0.01)
    assert same_torques(truth, result) < 5e-3
    assert result.drives['joint2'].spring_stiffness == pytest.approx(6.0, rel=0.05)
    # the stiffness acts as a first moment of the link does, only the preload is another function
    assert result.drives['joint1'].counterbalance_preload == pytest.approx(-300.0, rel=0.1)
    assert any(
        'joint1/counterbalance_stiffness' in each and len(each) > 1 for each in result.groups
    )
    assert result.units[result.parameters.index('joint2/spring_stiffness')] == 'N m/rad'
    held = replace(
        OPTIONS, model=replace(OPTIONS.model, estimate=('inertia', 'armature', 'friction'))
    )
    _, result = identified(changes, changes, options=held)
    assert result.drives['joint2'].spring_stiffness == 6.0
    assert r2(result).min() > 0.999


def test_friction_by_load():
    """mu of both gears, which takes iteration: torques and friction are found together."""
    changes = {'joint1': {'load_friction': 0.15}, 'joint2': {'load_friction': 0.1}}
    nominal = {'joint1': {'load_friction': 0.01}, 'joint2': {'load_friction': 0.01}}
    truth, result = identified(changes, nominal)
    # without iteration they are 0.156 and 0.096
    assert result.drives['joint1'].load_friction == pytest.approx(0.15, abs=0.002)
    assert result.drives['joint2'].load_friction == pytest.approx(0.1, abs=0.002)
    assert result.drives['joint1'].coulomb == pytest.approx(1.0, abs=0.15)
    assert same_torques(truth, result) < 1e-3
    _, without = identified(changes, {})
    assert (r2(result) > r2(without)).all()
    assert r2(result).min() > 0.999


def test_friction_by_the_direction_of_power():
    """mu and delta of a gear of efficiencies 0.75 and 0.85 from noisy torques."""
    gear = load_friction_of(0.75, 0.85)
    nominal = {'load_friction': 0.01, 'load_friction_asymmetry': 0.005}
    truth, result = identified(dict.fromkeys(TRUE, gear), dict.fromkeys(TRUE, nominal))
    for name in TRUE:
        for field, value in gear.items():
            assert getattr(result.drives[name], field) == pytest.approx(value, abs=0.01)
            k = next(k for k, each in enumerate(result.groups) if [*each] == [f'{name}/{field}'])
            lower, upper = result.intervals(0.99)[k]
            assert lower < value < upper
    assert same_torques(truth, result) < 2e-3


def test_cogging():
    """Its amplitude and phase, from another amplitude of the same order."""
    true = {'cogging': 0.5, 'cogging_order': 9.0, 'cogging_phase': -0.8}
    guess = {'cogging': 0.1, 'cogging_order': 9.0}
    truth, result = identified({'joint2': true}, {'joint2': guess})
    found = result.drives['joint2']
    assert found.cogging == pytest.approx(0.5, abs=0.02)
    assert found.cogging_phase == pytest.approx(-0.8, abs=0.04)
    assert same_torques(truth, result) < 2e-3


def test_load_friction_of_another_sign_is_no_friction():
    """Friction that falls with the load cannot be that of a gear: it is zero then."""
    _, result = identified({}, {'joint1': {'load_friction': 0.1}})
    assert result.drives['joint1'].load_friction == pytest.approx(0.0, abs=0.01)


def test_robots_with_loops_have_no_such_drives():
    from screw_dynamics_ros.core.identification.drive_unknowns import (
        DriveUnknowns,
    )

    robot = Robot.from_urdf(PLANAR, drives={'joint2': Drive(**COUPLED)})

    class Closed:
        """What identification sees of a mechanism: motors, and the tree of all joints."""

        joint_names, tree, drives = ('joint2',), robot.tree, robot.drives

    with pytest.raises(ArgumentError, match='robots with loops'):
        DriveUnknowns(Closed(), frozenset(), None, 0.01)
