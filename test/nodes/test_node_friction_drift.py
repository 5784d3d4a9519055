# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Friction below that of the model: what the node reports, in the loop and in Python."""

import re

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.compile.typed.library import calls
from screw_dynamics_ros.core.estimation.contact_flag import ContactFlag, set_thresholds_of_state
from screw_dynamics_ros.core.estimation.residual_offset import ResidualOffset
from screw_dynamics_ros.nodes.outputs.external_wrenches.wrench_outputs import WrenchEstimator
from screw_dynamics_ros.ros.diagnostics import Level
from support.loop_pair import PLANAR
from support.residual_models import some_model

COULOMB = 2.0  # N m
URDF = re.sub(
    '(<axis [^>]*/>)',
    rf'\1<dynamics friction="{COULOMB}"/>',
    PLANAR,
)
TOPICS = '/external_torque', '/contact'
THRESHOLD = 2.0  # N m
STEP = 0.09  # s
MINUTE = 670  # states


class Arm:
    """Two nodes and an arm that moves."""

    def __init__(self, pair):
        self.both = pair(
            description=URDF, model_state=[''], max_delay=0.0, timeout=1.0, state_timeout=0.0
        )
        self.set(
            1,
            flag_joints=['joint1', 'joint2'],
            contact_thresholds=[THRESHOLD] * 2,
            collision_thresholds=[9.0, 9.0],
        )
        self.robot, self.number = Robot.from_urdf(URDF, friction=True), 0

    def set(self, *owner, **values):
        self.both.set(*owner, **values)
        self.both.listen(TOPICS)

    def move(self, states, share, push=0.0):
        """Move with a share of the friction of the model; return what is reported."""
        for _ in range(states):
            t = self.number * STEP
            q, v = np.sin([0.9 * t, 1.1 * t]), [0.9, 1.1] * np.cos([0.9 * t, 1.1 * t])
            # What is zero for the static observer: there are no accelerations.
            tau = self.robot.inverse_dynamics(q, v, np.zeros(2))
            tau += (share - 1.0) * self.robot.friction_torques(v) - push
            self.both.wait(STEP)
            self.both.send(q=q, v=v, tau=tau)
            self.number += 1
        reports = self.both.reports()
        assert reports[0].summary == reports[1].summary
        return reports[0]

    def contact(self, push):
        """Push both joints, with the friction of the model; return whether it is a contact."""
        return 'contact at' in self.move(20, 1.0, push).summary


def test_the_report_and_the_thresholds(pair):
    arm = Arm(pair)
    assert 'friction' not in arm.move(2 * MINUTE, 0.7).summary
    report = arm.move(2 * MINUTE, 0.7)
    assert report.level == Level.WARN
    assert re.search(
        'friction of joint1 has been 30 % below the model for [34] min', report.summary
    )
    assert 'friction of joint2 has been 30 %' in report.summary
    assert arm.both.loop.outcomes[-1] == 'done'
    allowed = THRESHOLD + 0.3 * COULOMB
    assert not arm.contact(allowed - 0.05)
    assert arm.contact(allowed + 0.05)
    assert not arm.contact(0.0)
    arm.set(1, friction_drift=0.0)
    assert 'friction' not in arm.move(1, 0.7).summary
    assert arm.contact(THRESHOLD + 0.05)


def test_where_nothing_is_compared(pair):
    """After a new description; efforts without friction."""
    arm = Arm(pair)
    arm.move(3 * MINUTE // 2, 0.7)
    arm.both.describe(URDF.replace('planar_2r', 'another'))
    arm.both.listen(TOPICS)
    assert 'friction' not in arm.move(2 * MINUTE, 0.7).summary
    groups = [g for node in arm.both.nodes for g in node.host.builder.groups]
    stages = [g._friction.stage() for g in groups if isinstance(g, WrenchEstimator)]
    assert all(each.is_needed() for each in stages)
    arm.set(effort_terms=['gravity', 'coriolis', 'inertia', 'payload'])
    assert not any(each.is_needed() for each in stages)


def test_thresholds_of_a_residual_model_are_widened():
    flag, offset = ContactFlag(3), ResidualOffset()
    offset.model, flag.offset = some_model(), offset
    flag.release_ratio, flag.factors[:] = 0.5, 4.0
    offset.model.advance(np.linspace(-0.5, 0.5, 9), 0)
    found = []
    for widening in (np.zeros(3), np.array([0.1, 0.2, 0.3])):
        flag.widening[:] = widening
        calls(set_thresholds_of_state)[0](flag, offset)
        found.append([flag.upper - widening, flag.lower - widening])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)
    assert (found[0][0] > 0.0).all()
