# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Pairs of equal simulated arms that a law couples, with delays; many pairs at once."""

import numpy as np

from screw_dynamics_ros.core import Drive, Robot
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.description.urdf_fixed_joints import with_fixed_joints
from screw_dynamics_ros.core.simulation import SimulatedRobot
from support.robots import urdf_path

STEP = 1e-3  # s
TIP = 'panda_hand_tcp'
START = np.array([0.0, 0.2, 0.0, -1.9, 0.0, 2.1, 0.8])

#: Gains and friction of an arm with seven low-cost drives, which the Panda has instead of its own:
#: N m/rad, N m s/rad, N m; the reflected inertia is assumed [kg m^2].
STIFFNESS = np.array([240.0, 240.0, 240.0, 240.0, 24.0, 31.0, 25.0])
DAMPING = np.array([3.0, 3.0, 3.0, 3.0, 0.2, 0.2, 0.2])
COULOMB = np.array([0.306, 0.306, 0.40, 0.166, 0.050, 0.093, 0.172])
VISCOUS = np.array([0.063, 0.063, 0.604, 0.813, 0.029, 0.072, 0.084])
ARMATURE = np.array([0.03, 0.03, 0.03, 0.03, 0.01, 0.01, 0.01])


def low_cost_arm():
    """Return the arm, without its fingers."""
    text = urdf_path('panda').read_text(encoding='utf-8')
    description = read_urdf(with_fixed_joints(text, ['panda_finger_joint1']))
    rows = zip(description.joints, range(7))
    names = [f'panda_joint{k + 1}' for k, _ in enumerate(rows)][:7]
    drives = {
        name: Drive(armature=a, coulomb=c, damping=d, smoothing=0.05)
        for name, a, c, d in zip(names, ARMATURE, COULOMB, VISCOUS)
    }
    return Robot(description, drives=drives)


class Pairs:
    """A leader and a follower of each pair, coupled by a law that runs on both.

    Parameters
    ----------
    robot : Robot
    q : (N, n) array
        Where both begin.
    law : RobotLaw
    values : dict
        Of its parameters.
    delays : (N,) array of int
        One way [steps].
    **world
        Of the follower: planes and contact points.
    """

    def __init__(self, robot, q, law, values, delays, **world):
        count, self.law, self.robot = len(q), law, robot
        self.arms = [SimulatedRobot(robot, q, count=count, **each) for each in ({}, world)]
        self.kernel = (
            robot.fuse(law.torques, law.next_memory, parameters=law.sizes)
            if (law.memory.size)
            else robot.fuse(law.torques, parameters=law.sizes)
        )
        self.parameters, self.rows = law.values_of(values), np.arange(count)
        self.delays, self.k = np.asarray(delays), 0
        self.memories = np.zeros((2, count, law.memory.size))
        self.tau = np.tile(robot.gravity_torques(q), (2, 1, 1))
        sent = np.concatenate([q, np.zeros((count, 2 * robot.nv))], axis=1)
        self.sent = np.tile(sent, (2, self.delays.max() + 1, 1, 1))

    def step(self, hands):
        """Simulate a step; `hands` are torques of the human on the leader, (N, n)."""
        size, n = self.sent.shape[1], self.robot.nv
        for i, arm in enumerate(self.arms):
            self.sent[i, self.k % size, :, : 2 * n] = np.concatenate([arm.q, arm.v], axis=1)
            self.sent[i, self.k % size, :, 2 * n :] = self._external(i)
        for i, arm in enumerate(self.arms):
            other = self.sent[1 - i, (self.k - self.delays) % size, self.rows]
            self.tau[i] = self._torques(i, arm, other)
        self.k += 1
        for arm, tau, hand in zip(self.arms, self.tau, (hands, 0.0)):
            arm.step(tau + hand, STEP)

    def _external(self, i):
        place = self.law.memory.places.get('force_reflection.external')
        return 0.0 if place is None else self.memories[i][:, place:][:, : self.robot.nv]

    def _torques(self, i, arm, other):
        """Return the torques of the law, and keep its memory."""
        n, law = self.robot.nv, self.law
        reference = {'q': other[:, :n], 'v': other[:, n : 2 * n], 'tau': other[:, 2 * n :]}
        state = {'tau': self.tau[i], 'dt': np.full((len(other), 1), STEP if self.k else 0.0)}
        packed = {
            'q': arm.q,
            'v': arm.v,
            'gravity': self.robot.gravity,
            'law_state': joined(state, law.state),
            'law_reference': joined(reference, law.reference),
            'law_parameters': self.parameters,
            'law_memory': self.memories[i],
        }
        tau, *memory = self.kernel(*(packed[name] for name in self.kernel.inputs))
        if memory:
            self.memories[i] = memory[0]
        return tau

    @property
    def kinetic(self):
        """Kinetic energies of both arms, (N,) [J]."""
        return sum(self.robot.kinetic_energy(arm.q, arm.v) for arm in self.arms)


def joined(values, layout):
    """Return the fields of a layout for a stack, (N, size)."""
    return np.concatenate([values[name] for name in layout.shapes], axis=1) if layout.size else None
