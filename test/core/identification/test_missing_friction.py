# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Terms of friction that the model lacks, in efforts of simulated arms that have them."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from screw_dynamics_ros.core import Drive, Robot, UnknownNameError
from screw_dynamics_ros.core.identification import (
    EffortModel,
    IdentificationOptions,
    identify_recordings,
)
from screw_dynamics_ros.core.identification.missing_friction import friction_findings
from support.paths import URDF
from support.simulated_recording import SMOOTHING, computed, some_motion

OPTIONS = IdentificationOptions(model=EffortModel(smoothing=SMOOTHING))
DOWN = (0.0, -9.81, 0.0)


def recorded(seed=0, time=30.0, **friction):
    """Return an arm, and efforts with further friction of joint 2, and noise."""
    drives = {
        'joint1': Drive(armature=0.3, damping=0.5, coulomb=1.0, smoothing=SMOOTHING),
        'joint2': Drive(armature=0.1, damping=0.2, coulomb=0.6, smoothing=SMOOTHING, **friction),
    }
    arm = Robot.from_urdf(URDF / 'planar_2r.urdf', gravity=DOWN, backend='python')
    truth = Robot(arm.description, gravity=DOWN, drives=drives, backend='python')
    return arm, computed(truth, some_motion(2, seed), time, effort_noise=0.05, seed=seed)


def remedies(found):
    """Return the remedies that name a term of friction, with their joints."""
    about = [each for each in found.findings if 'friction has a term' in each.message]
    return {each.remedy: each.subject for each in about}


@pytest.mark.parametrize('seed', range(4))
def test_friction_of_the_model_is_enough(seed):
    arm, recording = recorded(seed)
    assert remedies(identify_recordings(arm, [recording], OPTIONS)) == {}


@pytest.mark.parametrize(
    ('friction', 'remedy'),
    [
        ({'breakaway': 1.5, 'stribeck_speed': 0.2}, r'--stribeck 0\.[125]'),
        ({'load_friction': 0.1}, '--friction load_friction'),
        ({'damping_asymmetry': 0.15}, '--friction damping_asymmetry'),
    ],
)
def test_a_term_that_is_missing_is_named(friction, remedy):
    """Of the joint that has it; with it, errors of efforts are those of noise."""
    arm, recording = recorded(**friction)
    plain = identify_recordings(arm, [recording], OPTIONS)
    ((found, subject),) = remedies(plain).items()
    assert re.fullmatch(remedy, found)
    assert subject == 'joint joint2'
    name, value = found.split()
    more = {'stribeck_speed': float(value)} if name == '--stribeck' else {'terms': (value,)}
    options = replace(OPTIONS, model=replace(OPTIONS.model, **more))
    better = identify_recordings(arm, [recording], options)
    assert better.errors()[1][1] < 0.95 * plain.errors()[1][1]
    assert remedies(better) == {}
    for field, value in friction.items():
        if field != 'stribeck_speed':
            assert getattr(better.drives['joint2'], field) == pytest.approx(value, rel=0.15)


@pytest.mark.parametrize(
    ('errors', 'subjects'),
    [
        ([0.96, 0.90], ['joint b']),
        ([0.90, 0.90], ['joints a, b']),
        ([0.96, 1.00], []),
        ([0.50, 1.20], ['joint a']),
        ([0.90, 1.50], []),  # half of the joints are worse by more than the others are better
    ],
)
def test_a_term_must_reduce_errors_of_held_out_efforts(errors, subjects):
    """Of a joint by 5 %, relative to its torques, whatever the residuals promise."""

    def of_errors(values, factor):
        torques = factor * np.full(2, 10.0), factor * np.array(values), np.zeros(2)
        return SimpleNamespace(joint_names=('a', 'b'), errors=lambda: torques)

    terms = [(EffortModel(terms=('load_friction',)), np.ones(2, dtype=bool))]
    again = of_errors(errors, 3.0)  # scales of efforts may differ
    found = list(friction_findings(of_errors([1.0, 1.0], 1.0), terms, lambda _: again))
    assert [each.subject for each in found] == subjects


def test_no_term_without_held_out_data():
    arm, recording = recorded(load_friction=0.1)
    found = identify_recordings(arm, [recording], replace(OPTIONS, held_out=0.0))
    assert remedies(found) == {}


def test_a_term_that_does_not_exist():
    arm, recording = recorded(time=5.0)
    options = replace(OPTIONS, model=replace(OPTIONS.model, terms=('drag',)))
    with pytest.raises(UnknownNameError, match="terms: no 'drag'; choose from damping, "):
        identify_recordings(arm, [recording], options)


def test_a_term_of_all_joints():
    """Both have it, and friction by load follows the identified torques."""
    arm, recording = recorded(load_friction=0.1)
    options = replace(OPTIONS, model=replace(OPTIONS.model, terms=('load_friction',)))
    found = identify_recordings(arm, [recording], options)
    assert found.drives['joint1'].load_friction == pytest.approx(0.0, abs=0.01)
    assert np.isin([f'joint{k}/load_friction' for k in (1, 2)], found.parameters).all()
