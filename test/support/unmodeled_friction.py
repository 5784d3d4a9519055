# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings of arms whose friction and noise are not those of the model that is identified."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from screw_dynamics_ros.core import Drive, Robot
from screw_dynamics_ros.core.identification import JointRecording
from screw_dynamics_ros.core.identification.fourier_motion import (
    FourierMotion,
    FourierSeries,
)
from support.simulated_recording import SMOOTHING, loaded_values, true_robot

RATE = 200.0  # Hz


@dataclass(frozen=True, eq=False)
class Friction:
    """Friction of n joints: load-dependent, Stribeck, presliding, with less than linear damping.

    The level is c (1 + l |load| / limit) (1 + s / (1 + (v / w)^2)) + d |v| / (1 + |v| / u); Dahl's
    bristle z carries this share of it: z approaches sign v over the distance `presliding`.
    """

    limit: np.ndarray  # n, N m
    c: np.ndarray
    d: np.ndarray
    l: np.ndarray  # noqa: E741
    s: np.ndarray
    w: np.ndarray  # rad/s
    u: np.ndarray  # rad/s
    presliding: np.ndarray  # rad

    @classmethod
    def random(cls, limit, rng):
        """Return friction of the size of harmonic drives, for joints with limits [N m]."""
        n = len(limit)
        return cls(
            limit,
            rng.uniform(0.02, 0.06, n) * limit,
            rng.uniform(0.02, 0.06, n) * limit,
            rng.uniform(0.3, 1.5, n),
            rng.uniform(0.0, 0.5, n),
            rng.uniform(0.05, 0.3, n),
            rng.uniform(2.0, 6.0, n),
            10.0 ** rng.uniform(-3.3, -2.3, n),
        )

    def along(self, q, v, load):
        """Return the torques (N, n) along a motion that carries a load (N, n) [N m]."""
        level = self.c * (1.0 + self.l * np.abs(load) / self.limit)
        level = level * (1.0 + self.s / (1.0 + (v / self.w) ** 2))
        level += self.d * np.abs(v) / (1.0 + np.abs(v) / self.u)
        z = np.zeros(q.shape)
        steps = np.diff(q, axis=0)
        decay = np.exp(-np.abs(steps) / self.presliding)
        for k in range(len(steps)):
            z[k + 1] = np.sign(steps[k]) + (z[k] - np.sign(steps[k])) * decay[k]
        return level * z


def colored(rng, shape, correlation_time):
    """Return noise (N, n) of unit variance, half of it correlated over a time [s]."""
    white = rng.normal(size=(2, *shape))
    keep = np.exp(-1.0 / (RATE * correlation_time))
    slow = np.empty(shape)
    slow[0] = white[1, 0]
    for k in range(1, shape[0]):
        slow[k] = keep * slow[k - 1] + np.sqrt(1.0 - keep**2) * white[1, k]
    return np.sqrt(0.5) * (white[0] + slow)


def random_motion(joints, rng, period, speed, moves):
    """Return a Fourier motion of 0.6 Hz bandwidth, some joints of which stay at rest."""
    series = FourierSeries(period, max(5, round(0.6 * period)))
    a, b = series.coefficients(rng.normal(size=(joints, series.size)))
    motion = FourierMotion(period, rng.uniform(-1.0, 1.0, joints), a, b)
    fastest = np.abs(motion.at(np.linspace(0, period, 500))[1]).max(axis=0)[:, None]
    share = speed * np.asarray(moves)[:, None] / fastest
    return FourierMotion(period, motion.center, a * share, b * share)


class FrictionalArm:
    """A true robot for a nominal one, with unmodeled friction.

    Attributes
    ----------
    truth : Truth
        Parameters by name; those of friction are the best that the model has, over five
        other motions of the same kind.
    followed : (q, v, a)
        The motion of the last recording.
    """

    def __init__(
        self,
        nominal,
        seed,
        period=10.0,
        moves=None,
        payload=None,
        size=0.15,
        offsets=0.01,
        modeled=False,
    ):
        self.rng = rng = np.random.default_rng(seed)
        n = nominal.nv
        self.moves = np.ones(n, dtype=bool) if moves is None else moves
        self.period, self.speed = period, rng.uniform(0.8, 2.0)
        self.limit = np.minimum(nominal.limits.effort, 150.0)
        self.offsets = offsets * rng.uniform(-1.0, 1.0, n) * self.limit
        self.truth = true_robot(nominal, rng, self.offsets, payload, size)
        for body in (payload or {}).values():  # of known mass, as well
            values = {f'load/{k.rpartition("/")[2]}': x for k, x in loaded_values(body).items()}
            self.truth.values.update(values)
        self.friction = Friction.random(self.limit, rng)
        self.armature = np.array(
            [self.truth.values[f'{joint}/armature'] for joint in nominal.joint_names]
        )
        self.modeled = modeled
        if modeled:
            return
        self.truth.values.update(self._modeled_friction(nominal.joint_names))

    def motion(self):
        """Return another motion of the same kind."""
        n = len(self.limit)
        return random_motion(n, self.rng, self.period, self.speed, self.moves)

    def torques(self, q, v, a):
        """Return rigid torques with rotors (N, n), and friction."""
        robot = self.truth.robot
        if self.modeled:
            return robot.inverse_dynamics(q, v, a), 0.0
        stacked = (x.reshape(-1, x.shape[-1]) for x in (q, v, a))
        no_friction = robot.inverse_dynamics(*stacked).reshape(q.shape) - robot.friction_torques(
            v.reshape(-1, v.shape[-1])
        ).reshape(v.shape)
        load = no_friction - self.armature * a
        return no_friction, self.friction.along(q, v, load)

    def _modeled_friction(self, names, motions=5):
        """Return the damping and Coulomb friction that fit other motions best, by parameter."""
        t = np.arange(0.0, self.period, 1.0 / RATE)
        q, v, a = np.stack([self.motion().at(t) for _ in range(motions)], axis=2)
        f = self.torques(q, v, a)[1].reshape(-1, len(names))
        v = v.reshape(f.shape)
        found = {}
        for i, joint in enumerate(names):
            A = np.stack([v[:, i], v[:, i] / np.sqrt(v[:, i] ** 2 + SMOOTHING**2)], axis=1)
            damping, coulomb = np.linalg.lstsq(A, f[:, i], rcond=None)[0]
            found |= {f'{joint}/damping': float(damping), f'{joint}/coulomb': float(coulomb)}
        return found

    def identified(self, nominal):
        """Return the nominal robot with the best rotors and friction of the model."""
        of = self.truth.values
        drives = {
            joint: Drive(
                armature=of[f'{joint}/armature'],
                damping=max(of[f'{joint}/damping'], 0.0),
                coulomb=max(of[f'{joint}/coulomb'], 0.0),
                smoothing=SMOOTHING,
            )
            for joint in nominal.joint_names
        }
        return Robot(nominal.description, drives=drives, gravity=nominal.gravity)

    def recording(self, seconds, noise=0.003, start=0.0):
        """Return a recording of a new motion at 200 Hz with noise of encoders and efforts."""
        t = np.arange(0.0, seconds, 1.0 / RATE)
        q, v, a = self.followed = self.motion().at(start + t)
        rigid, friction = self.torques(q, v, a)
        sensor = noise * self.limit * colored(self.rng, q.shape, self.rng.uniform(0.05, 0.3))
        tau = rigid + friction + sensor - self.offsets
        q = q + 2e-5 * self.rng.normal(size=q.shape)
        tau[:, ~self.moves] = np.nan
        return JointRecording(t, q, None, tau)
