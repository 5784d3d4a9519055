# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings of simulated arms that are not what their description says, with known truth."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import CubicSpline

from screw_dynamics_ros.core import Drive, Robot
from screw_dynamics_ros.core.description import RobotDescription
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.dynamics.regressor import inertial_parameters
from screw_dynamics_ros.core.identification import JointRecording
from screw_dynamics_ros.core.identification.fourier_motion import (
    FourierMotion,
    FourierSeries,
)
from screw_dynamics_ros.core.identification.pseudo_inertia import (
    inertia_of,
    parameters_of,
    physical,
)
from screw_dynamics_ros.core.simulation import SimulatedRobot
from screw_dynamics_ros.core.simulation.joint_sensor import JointSensor, SensorFaults
from screw_dynamics_ros.core.simulation.joint_servo import JointServo

STEP = 2_000_000  # ns
SMOOTHING = 0.02  # rad/s


@dataclass(frozen=True, eq=False)
class Truth:
    """What a recording was made with: parameters by name, as `Unknowns` has them."""

    robot: Robot
    values: dict[str, float]

    def of(self, group):
        """Return the true value of a base parameter."""
        return sum(x * self.values.get(name, 0.0) for name, x in group.items())


def other_bodies(description, rng, size=0.15):
    """Return a description whose links are others: heavier or lighter, wider, displaced."""

    def other(link):
        if link.inertia is None or link.inertia.mass == 0.0:
            return link
        parameters = inertial_parameters(description, (link.name,))
        U = np.eye(4)
        U[:3, :3] += rng.uniform(-size, size, (3, 3))
        U[:3, 3] = rng.uniform(-size, size, 3) * 0.15  # m
        U *= np.exp(rng.uniform(-size, size) / 2)
        return replace(link, inertia=inertia_of(parameters_of(U @ physical(parameters) @ U.T)))

    links = [other(link) for link in description.links]
    return RobotDescription.from_parts(description.name, links, description.joints)


def true_robot(nominal, rng, offsets, payload=None, size=0.15):
    """Return a robot with other bodies and drives, and its parameters by name.

    A `payload` {link: RigidBody} is part of the links of the robot that moves.
    """
    description = other_bodies(nominal.description, rng, size)
    effort = np.minimum(nominal.limits.effort, 150.0)
    drives = {
        joint: Drive(
            armature=rng.uniform(0.05, 0.4) * (0.2 + limit / 100),
            damping=rng.uniform(0.02, 0.06) * limit,
            coulomb=rng.uniform(0.02, 0.06) * limit,
            smoothing=SMOOTHING,
        )
        for joint, limit in zip(nominal.joint_names, effort)
    }
    values = {}
    for link in description.links:
        for name, x in zip(
            ('m', 'mx', 'my', 'mz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz'),
            inertial_parameters(description, (link.name,)),
        ):
            values[f'{link.name}/{name}'] = float(x)
    for (joint, drive), offset in zip(drives.items(), offsets):
        values |= {f'{joint}/{kind}': getattr(drive, kind) for kind in KINDS}
        values[f'{joint}/offset'] = float(offset)
    for link, body in (payload or {}).items():
        values |= loaded_values(body)
        description = with_payload(description, link, body)
    return Truth(Robot(description, drives=drives, gravity=nominal.gravity), values)


KINDS = ('armature', 'damping', 'coulomb')


def loaded_values(body):
    """Return the parameters of a payload by name."""
    m, h, I = body.mass, body.first_moment, body.inertia  # noqa: E741
    numbers = (m, *h, I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2])
    names = ('m', 'mx', 'my', 'mz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz')
    return {f'payload/{name}': float(x) for name, x in zip(names, numbers)}


def with_payload(description, link, body):
    """Return a description with a body added to a link."""

    def loaded(each):
        if each.name != link:
            return each
        own = each.inertia
        total = body if own is None else RigidBody(own.mass, own.com, own.matrix) + body
        return replace(each, inertia=total)

    links = [loaded(each) for each in description.links]
    return RobotDescription.from_parts(description.name, links, description.joints)


def simulated_recording(truth, nominal, motion: FourierMotion, time, faults, offsets, seed):
    """Return what a driver reports while servos follow a motion, at 500 Hz.

    Efforts are the mean torques around each stamp, less the offsets: torque = effort + offset.
    """
    simulated = SimulatedRobot(truth.robot, motion.at(np.zeros(1))[0][0])
    servo = JointServo(nominal, frequency=30.0)
    sensor = JointSensor(truth.robot.joint_names, seed)
    sensor.faults = faults
    modes = ['position'] * nominal.nv
    count = int(time * 1e9) // STEP
    q, v, _ = motion.at(np.arange(count) * STEP * 1e-9)
    before = None
    for k in range(count):
        tau = servo.torques(simulated.q, simulated.v, modes, q[k], v[k], np.zeros(nominal.nv))
        if before is not None:
            sensor.measure(k * STEP, simulated.q, simulated.v, (before + tau) / 2 - offsets)
        simulated.step(tau, STEP * 1e-9)
        before = tau
    measured = sensor.arrived(count * STEP)
    stamps = np.array([each.stamp for each in measured]) * 1e-9
    values = np.stack([each.values for each in measured])
    return JointRecording(stamps, values[:, 0], values[:, 1], values[:, 2])


def noise(nominal, share=0.002):
    """Return faults of sensors: encoders with 2e-5 rad, efforts with a share of their limits."""
    limits = np.minimum(nominal.limits.effort, 150.0)
    return SensorFaults(
        position_noise=(2e-5,),
        velocity_noise=(2e-3,),
        effort_noise=tuple(float(share * x) for x in limits),
    )


def some_motion(joints, seed=3, speed=1.2, period=10.0, harmonics=5):
    """Return a Fourier motion whose joints reach a speed [rad/s]."""
    series = FourierSeries(period, harmonics)
    a, b = series.coefficients(np.random.default_rng(seed).normal(size=(joints, series.size)))
    motion = FourierMotion(period, np.zeros(joints), a, b)
    times = np.linspace(0, period, round(30 * period))
    fastest = np.abs(motion.at(times)[1]).max(axis=0)[:, None]
    return FourierMotion(period, np.zeros(joints), speed * a / fastest, speed * b / fastest)


def computed(robot, motion, time=20.0, payloads=None, rate=200.0, effort_noise=0.0, seed=0):
    """Return what robot and motion give exactly, with noise on efforts."""
    t = np.arange(0.0, time, 1.0 / rate)
    q, v, a = motion.at(t)
    tau = robot.inverse_dynamics(q, v, a)
    if payloads:
        tau = tau + robot.payload_torques(q, v, a, payloads)
    tau = tau + np.random.default_rng(seed).normal(size=tau.shape) * effort_noise
    return JointRecording(t, q, v, tau, payloads or {})


def friction_of_gears(t, v, tau, coulomb):
    """Return friction (N, n) that no model of the package has, of steady motion and of reversals.

    With hysteresis over 0.02 rad (Dahl 1968), more near standstill (Stribeck), and a share of the
    transmitted torque `tau`; `coulomb` (n,) is its size.
    """
    hysteresis, friction = np.zeros_like(v), np.zeros(v.shape[1])
    for k, step in enumerate(np.diff(t, prepend=t[0])):
        end = np.sign(v[k]) * coulomb
        friction = end + (friction - end) * np.exp(-np.abs(v[k]) * step / 0.02)
        hysteresis[k] = friction
    stribeck = 0.5 * coulomb * np.sign(v) * np.exp(-((v / 0.1) ** 2))
    return hysteresis + stribeck + 0.08 * np.abs(tau) * np.tanh(v / SMOOTHING)


def with_friction_of_gears(recording, coulomb):
    """Return an exact recording with `friction_of_gears` in its efforts."""
    friction = friction_of_gears(recording.t, recording.v, recording.tau, coulomb)
    return replace(recording, tau=recording.tau + friction)


def late(recording, delay):
    """Return a recording whose efforts are late by a time [s], without the first and last."""
    tau = CubicSpline(recording.t, recording.tau)(np.clip(recording.t - delay, 0.0, None))
    kept = slice(20, -20)
    t, q, v = (x[kept] for x in (recording.t, recording.q, recording.v))
    return replace(recording, t=t, q=q, v=v, tau=tau[kept])
