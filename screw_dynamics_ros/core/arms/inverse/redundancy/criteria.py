# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""What a criterion of redundancy is: a cost, a metric, a task of lower rank, or bounds.

Section 5.9.1 of the book lists ten. In the program they are of five kinds:

===  ===================================  ========================================  ==============
no.  criterion                            class                                     kind
===  ===================================  ========================================  ==============
1    springs to a posture, joint centers  `joint_springs.PostureSprings`,           cost
                                          `joint_springs.LimitCentering`
2    least kinetic energy                 `metrics.KineticEnergy`                   metric
3    power from the stronger motors       `metrics.MotorPower`                      metric
4    manipulability                       `dexterity.Manipulability`                cost
5    joint torque                         `torque.HoldingTorque`, at the level of   cost, options
                                          accelerations `torque.least_torque`
6    tasks in order of priority           `task_priority.Task`                      lower task
7    springs away from obstacles          `obstacles.ObstacleRepulsion`             cost
8    distance from singularities          `dexterity.SingularityDistance`           cost
9    bounded rates through singularities  `resolution.BoundedRates`                 bounds
10   RMS current of the motors            `path_current.least_current_path`         global
===  ===================================  ========================================  ==============

One to nine are instantaneous: they choose joint rates for the twist of this moment. What they lead
to over a path need not be the best path; the tenth is global and takes the path as a whole.

A cost H(q) is lowered by steepest descent in the joint metric M, within the null space of the task,
v = -w Z Z^T grad H with Z^T M Z = 1: then dH/dt = -w |Z^T grad H|^2 <= 0, whatever M. (Minus the
gradient, projected by 1 - J^# J, need not be downhill if M is not the identity.) The weight w is a
gain [rad^2/s per unit of the cost], so that springs in rad^2 have one in 1/s.

Source: Bruyninckx 2010, section 5.9.1 (C-030 to C-038).
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from numpy.typing import ArrayLike

from screw_dynamics_ros.core.tree.multibody_tree import JointLimits, Tree
from screw_dynamics_ros.core.types import Array


class RobotModel(Protocol):
    """What criteria ask of a robot; `Robot` has it."""

    @property
    def nq(self) -> int:
        """Number of coordinates."""

    @property
    def nv(self) -> int:
        """Number of velocities."""

    @property
    def tree(self) -> Tree:
        """Tree with its joints."""

    @property
    def limits(self) -> JointLimits:
        """Limits of the joints."""

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """Return the displacement (nv,) from q0 to q1."""

    def increment_rate(self, q: ArrayLike, displacement: ArrayLike, v: ArrayLike) -> Array:
        """Return the rate (nv,) of the displacement by which q moves away with v."""

    def link_pose(self, q: ArrayLike, link: str) -> Array:
        """Return the pose (4, 4) of a link."""

    def jacobian(self, q: ArrayLike, link: str, representation: str) -> Array:
        """Return the Jacobian (6, nv) of a link."""

    def jacobian_partials(self, q: ArrayLike, link: str, representation: str) -> Array:
        """Return its partial derivatives (6, nv, nv)."""

    def acceleration(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, link: str, representation: str
    ) -> Array:
        """Return the acceleration (6,) of a link."""

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return the mass matrix (nv, nv), inertias of rotors included."""

    def gravity_torques(self, q: ArrayLike) -> Array:
        """Return the torques (nv,) that hold the robot still."""

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike
    ) -> tuple[Array, Array, Array]:
        """Return derivatives of the torques with respect to q, v and a."""


class WeightedCriterion(Protocol):
    """What costs and metrics say of themselves."""

    @property
    def name(self) -> str:
        """For results and messages."""

    @property
    def unit(self) -> str:
        """Unit of H(q), or of v^T W v."""

    @property
    def weight(self) -> float:
        """Gain w of the descent, or factor of W in the sum of all metrics."""


@runtime_checkable
class Cost(WeightedCriterion, Protocol):
    """A function H(q) that should become small."""

    def value(self, robot: RobotModel, q: ArrayLike) -> float:
        """Return H(q)."""

    def gradient(self, robot: RobotModel, q: ArrayLike) -> Array:
        """Return dH along each velocity, (nv,)."""


@runtime_checkable
class Metric(WeightedCriterion, Protocol):
    """A measure v^T W v of joint rates that should be small."""

    def matrix(self, robot: RobotModel, q: ArrayLike) -> Array:
        """Return W(q), (nv, nv), symmetric and positive semidefinite."""
