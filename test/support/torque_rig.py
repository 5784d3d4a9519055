# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What the tests of commanded torques share: a command that is driven at regular times."""

from __future__ import annotations

import math

import numpy as np

from screw_dynamics_ros.core.motion.control import CommandSettings, Mode, TorqueCommand

INF = math.inf
WANTED, WEIGHT = np.array([20.0, -8.0]), np.array([10.0, 4.0])


def make(joints=('a', 'b'), limits=INF, rates=INF, **changes) -> CommandSettings:
    values = {'blend_time': 0.2, 'ramp_time': 0.4, 'age_limit': 0.05, 'on_loss': 'hold', **changes}
    n = len(joints)
    return CommandSettings(joints, np.broadcast_to(limits, n), np.broadcast_to(rates, n), **values)


class Rig:
    """Drives a command at regular times; `now` is the time of the last call [s]."""

    def __init__(self, dt=0.01, **changes):
        self.dt, self.now = dt, 0.0
        self.command = TorqueCommand(make(**changes))

    @property
    def mode(self):
        return self.command.report().mode

    def later(self):
        self.now += self.dt
        return self.now

    def step(self, wanted=WANTED, gravity=WEIGHT, age=0.001):
        now = self.later()
        return listed(self.command.step(now, np.array(wanted), np.array(gravity), now - age))

    def steps(self, duration, wanted=WANTED):
        return [self.step(wanted) for _ in range(round(duration / self.dt))]

    def ticks(self, duration):
        return [listed(self.command.tick(self.later())) for _ in range(round(duration / self.dt))]

    def activate(self, wanted=WANTED):
        self.command.enable()
        self.steps(1.0, wanted)
        assert self.mode is Mode.ACTIVE
        return self

    def lose(self):
        """Let the last state grow as old as it may."""
        self.now += self.command.settings.age_limit - 0.001 - 1e-6
        assert self.command.tick(self.now) is None
        return self


def listed(command):
    return None if command is None else command.tolist()


def spread(commands):
    """Largest change between two commands that follow each other."""
    return np.abs(np.diff(np.array(commands), axis=0)).max()
