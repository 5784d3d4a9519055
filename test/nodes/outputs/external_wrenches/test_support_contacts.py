# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contact wrenches of feet: in equilibrium by Pinocchio, and of a robot that stands."""

import numpy as np
import pytest

pytest.importorskip('pinocchio')
pytest.importorskip('nav_msgs')

import pinocchio as pin
from rclpy.parameter import Parameter
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.simulation import ContactPoint, Plane, SimulatedRobot
from screw_dynamics_ros.ros.status import Level
from support.free_robot import MS, SWAPPED, FreeRobot, in_equilibrium, numbers, standing
from support.robots import urdf_path

FEET = ['FL_FOOT', 'FR_FOOT', 'HL_FOOT', 'HR_FOOT']
STANDING = np.array([0.0, 0.8, -1.6] * 4)


@pytest.fixture
def robot(monkeypatch, keep):
    def make():
        made = keep(FreeRobot(monkeypatch, urdf_path('solo12')))
        configure(made, support_frames=FEET)
        return made

    return make


def configure(made, **values):
    """Set parameters of the wrench estimator."""
    node = made.bench.part.nodes[1]
    result = node.set_parameters_atomically([Parameter(n, value=x) for n, x in values.items()])
    assert result.successful, result.reason
    made.bench.finish()


def stand(made):
    """Let the robot be at rest in a tilted pose."""
    made.q, made.v, made.twist = STANDING + 0.1 * np.sin(np.arange(12)), np.zeros(12), np.zeros(6)
    made.R = Rotation.from_euler('xyz', [0.1, -0.05, 1.0])
    configure(made, support_share=0.001)


def check(sent, wrenches):
    for foot in FEET:
        expected = wrenches.get(foot, np.zeros(6))
        np.testing.assert_allclose(
            numbers(sent[f'wrenchestimator/contact_wrench/{foot}']), expected, atol=1e-8
        )
    flags = numbers(sent['wrenchestimator/support'])
    assert flags.tolist() == [float(foot in wrenches) for foot in FEET]


def test_wrenches_that_carry_the_robot(robot):
    """Of three and of four feet, in a tilted pose; the foot that is lifted exerts nothing."""
    made = robot()
    stand(made)
    stamp = made.now()
    for lifted in ((), ('FR_FOOT',), ()):
        stamp += MS
        made.measured(stamp)
        wrenches = standing(made, [foot for foot in FEET if foot not in lifted])
        tau, lacking = in_equilibrium(made, wrenches)
        np.testing.assert_allclose(lacking, 0.0, atol=1e-10)
        sent = made.joint_state(stamp, tau)
        check(sent, wrenches)
        covariance = numbers(sent['wrenchestimator/contact_wrench_covariance/FL_FOOT'])
        assert (np.linalg.eigvalsh(covariance.reshape(6, 6)[:3, :3]) > 0.0).all()
    status = next(g for g in made.host.builder.groups if hasattr(g, '_support')).status()
    assert status.values['in contact'] == ', '.join(FEET)


def test_a_foot_that_is_not_in_contact_exerts_nothing(robot):
    """Errors of the torques belong to the other feet."""
    made = robot()
    stand(made)
    stamp = made.now()
    made.measured(stamp)
    wrenches = standing(made, [foot for foot in FEET if foot != 'FR_FOOT'])
    tau, _ = in_equilibrium(made, wrenches)
    sent = made.joint_state(stamp, tau + 1e-4 * np.cos(np.arange(12)))
    assert numbers(sent['wrenchestimator/support']).tolist() == [1.0, 0.0, 1.0, 1.0]
    assert not numbers(sent['wrenchestimator/contact_wrench/FR_FOOT']).any()
    force = numbers(sent['wrenchestimator/contact_wrench/FL_FOOT'])
    assert 1e-6 < np.abs(force - wrenches['FL_FOOT']).max() < 0.1


def test_feet_that_the_robot_lacks_and_a_fixed_base(robot):
    made = robot()
    group = next(g for g in made.host.builder.groups if hasattr(g, '_support'))
    node = made.bench.part.nodes[1]
    refused = node.set_parameters_atomically([Parameter('support_frames', value=['hand'])])
    assert "no link 'hand'" in refused.reason
    made.bench.node.set_parameters([Parameter('base_source', value='fixed')])
    made.bench.finish()
    assert group.status().level == Level.ERROR
    assert 'the base is fixed; set base_source' in group.status().summary


def test_a_standing_robot_carries_its_weight(robot):
    """The simulated robot settles on a plane; the estimate is what the simulation applies."""
    path = urdf_path('solo12')
    subject = Robot.from_urdf(path, floating_base=True)
    points = [ContactPoint(foot) for foot in FEET]
    q = subject.neutral()
    q[7:] = STANDING
    lowest = min(subject.link_pose(q, foot)[2, 3] for foot in FEET)
    q[2] = -lowest
    simulated = SimulatedRobot(
        subject, q, planes=[Plane([0.0, 0.0, 0.0], [0.0, 0.0, 1.0])], contact_points=points
    )
    for _ in range(2000):
        tau = 30.0 * (STANDING - simulated.q[7:]) - 0.5 * simulated.v[6:]
        simulated.step(np.concatenate([np.zeros(6), tau]), 1e-3)
    made = robot()
    made.q, made.v, made.twist = simulated.q[7:], simulated.v[6:], simulated.v[:6]
    made.R, made.p = Rotation.from_quat(simulated.q[3:7]), simulated.q[:3]
    stamp = made.now()
    made.measured(stamp)
    sent = made.joint_state(stamp, tau)
    total = np.zeros(3)
    for foot in FEET:
        R = subject.link_pose(simulated.q, foot)[:3, :3]
        force = numbers(sent[f'wrenchestimator/contact_wrench/{foot}'])[:3]
        total += R @ force
        np.testing.assert_allclose(force, simulated.contact_wrenches[foot][3:], atol=0.3)
    weight = 9.81 * sum(link.inertia.mass for link in subject.description.links if link.inertia)
    np.testing.assert_allclose(total, [0.0, 0.0, weight], atol=0.01 * weight)


@pytest.mark.parametrize(('observer', 'atol'), [('momentum', 0.02), ('static', np.inf)])
def test_a_robot_that_accelerates(robot, observer, atol):
    """Its feet push it upward with twice its weight, then let go: the momentum shows it."""
    made = robot()
    made.q, made.v = STANDING, 0.2 * np.cos(np.arange(12))
    made.R, made.twist = Rotation.identity(), np.zeros(6)
    configure(made, observer=observer, observer_time_constant=0.003, support_share=0.01)
    load = {'payload_mass': 1.5, 'payload_center_of_mass': [0.1, 0.0, 0.05]}
    values = [Parameter(name, value=value) for name, value in load.items()]
    made.bench.node.set_parameters([Parameter('payload_link', value=made.root), *values])
    made.bench.finish()
    center = np.array(load['payload_center_of_mass'])
    made.model.inertias[1] += pin.Inertia(load['payload_mass'], center, np.zeros((3, 3)))
    model, data, (x, w) = made.model, made.data, made.state()
    weight = pin.computeGeneralizedGravity(model, data, x)[2]
    pushing = {foot: np.array([1.0, -0.5, 0.5 * weight, 0.0, 0.0, 0.0]) for foot in FEET}
    stamp = made.now()
    for k in range(60):
        wrenches = pushing if k < 30 else {}
        for _ in range(10):
            M, forces = pin.crba(model, data, x), -pin.nonLinearEffects(model, data, x, w)
            M = np.triu(M) + np.triu(M, 1).T
            for foot, wrench in wrenches.items():
                frame = model.getFrameId(foot, pin.BODY)
                J = pin.computeFrameJacobian(model, data, x, frame, pin.LOCAL)
                forces += J.T @ wrench
            a = np.linalg.solve(M[:6, :6], forces[:6])  # the joints keep their rates
            w[:6] += 1e-4 * a
            x = pin.integrate(model, x, 1e-4 * w)
        tau = M[6:, :6] @ a - forces[6:]
        stamp += MS
        made.bench.clock.offset += 1e-3
        if observer == 'static' and k not in (29, 59):
            continue
        made.q, made.p, made.R = x[np.array(made.order[6:]) + 1], x[:3], Rotation.from_quat(x[3:7])
        made.twist = w[:6][SWAPPED]
        made.measured(stamp)
        sent = made.joint_state(stamp, tau[np.array(made.order[6:]) - 6])
        if k not in (29, 59):
            continue
        errors = [
            numbers(sent[f'wrenchestimator/contact_wrench/{foot}'])
            - wrenches.get(foot, np.zeros(6))
            for foot in FEET
        ]
        assert np.abs(errors).max() < atol
        if observer == 'static':  # without the acceleration, half of the forces is absent
            assert np.abs(errors).max() > 0.2 * weight
        else:
            assert numbers(sent['wrenchestimator/support']).any() == bool(wrenches)
