# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Redundancy: criteria for the joint rates that a twist leaves free, and their combination.

Section 5.9.1 of the book lists ten criteria. In the program they are of five kinds:

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
9    bounded rates through singularities  `BoundedRates`                            bounds
10   RMS current of the motors            `path_current.least_current_path`         global
===  ===================================  ========================================  ==============

One to nine are instantaneous: they choose joint rates for the twist of this moment. What they lead
to over a path need not be the best path; the tenth is global and takes the path as a whole.

A cost H(q) is lowered by steepest descent in the joint metric M, within the null space of the task,
v = -w Z Z^T grad H with Z^T M Z = 1: then dH/dt = -w |Z^T grad H|^2 <= 0, whatever M. (Minus the
gradient, projected by 1 - J^# J, need not be downhill if M is not the identity.) The weight w is a
gain [rad^2/s per unit of the cost], so that springs in rad^2 have one in 1/s.

The task comes first, tasks of lower rank follow (`task_priority`), the costs use the remaining
freedom, in the metric that is the sum of all metrics::

    v = sum of the tasks - Z Z^T sum_i w_i grad H_i,      Z^T M Z = 1,  (tasks) Z = 0

Bounded rates come last: the rates within bounds that serve the task best and, among those, are
nearest to v, which is v itself if it is within them.

Source: Bruyninckx 2010, section 5.9 (C-026 to C-040).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import vector
from ...errors import ArgumentError
from ...tree.multibody_tree import Tree
from ...types import Array
from .bounded_velocity import JointLimitedResult, joint_limited_velocity
from .link_motion import DifferentiableMotion
from .task_priority import Task, TaskLevel, TaskPriorityResult, level, task_priority
from .velocity import rate
from .velocity_bounds import JointBounds
from .weighted_inverse import AdaptiveDamping, finite, metric


class RobotModel(DifferentiableMotion, Protocol):
    """What criteria ask of a robot; `Robot` has it."""

    @property
    def tree(self) -> Tree:
        """Tree with its joints."""

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """Return the displacement (nv,) from q0 to q1."""

    def increment_rate(self, q: ArrayLike, displacement: ArrayLike, v: ArrayLike) -> Array:
        """Return the rate (nv,) of the displacement by which q moves away with v."""

    def link_pose(self, q: ArrayLike, link: str) -> Array:
        """Return the pose (4, 4) of a link."""

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


@dataclass(frozen=True)
class BoundedRates:
    """Criterion 9: rates stay bounded, through singularities too (C-037).

    Attributes
    ----------
    dt : float
        Sampling time [s], for which the rates are held.
    acceleration_limit : float or (nv,) array, optional
        [rad/s^2, m/s^2]
    previous : (nv,) array, optional
        Rates of the last sample; matter with limits of acceleration.
    damping : float or AdaptiveDamping, optional
        Of the bounded problem; without it only the bounds hold the rates down.
    """

    dt: float
    acceleration_limit: ArrayLike | None = None
    previous: ArrayLike | None = None
    damping: float | AdaptiveDamping | None = None
    name: str = 'bounded rates'


Criterion = Cost | Metric | Task | BoundedRates


@dataclass(frozen=True, eq=False)
class Contribution:
    """What one criterion did.

    Attributes
    ----------
    name, unit : str
    value : float
        H(q) of a cost in `unit`, v^T W v of a metric, the residual of a lower task, the change of
        rates by bounds.
    rates : (nv,) array
        What it added to the rates [rad/s, m/s]; zero for metrics, which decide how, not what.
    slope : float
        dH/dt of a cost by its own rates, in `unit`/s: never positive. Zero for others.
    message : str
    """

    name: str
    unit: str
    value: float
    rates: Array
    slope: float
    message: str


@dataclass(frozen=True, eq=False)
class RedundancyResult:
    """Joint rates, and where they come from.

    Attributes
    ----------
    v : (nv,) array
        Joint rates [rad/s, m/s].
    success : bool
        Whether the first task is reached: |residual| at most 1e-6 of its twist.
    residual : (m,) array
        Residual of the first task.
    freedom : int
        Dimension of the motions in the null space of all tasks, which costs determine.
    task_rates : (nv,) array
        Rates of the first task alone; with all `contributions` they add up to v.
    contributions : tuple of Contribution
        One for each criterion, in their order.
    message : str
    """

    v: Array
    success: bool
    residual: Array
    freedom: int
    task_rates: Array
    contributions: tuple[Contribution, ...]
    message: str


def resolve_redundancy(
    robot: RobotModel, q: ArrayLike, task: Task, criteria: Sequence[Criterion]
) -> RedundancyResult:
    """Return joint rates for a task and criteria.

    Parameters
    ----------
    robot : Robot
    q : (nq,)
    task : Task
        What a link should do, or some components of it.
    criteria : sequence
        Costs, metrics, a `Task` each of lower and lower rank, `BoundedRates`; in any order.

    Raises
    ------
    ArgumentError
        If there is something else among the criteria, bounds appear twice, a shape is wrong, or a
        number not finite.
    """
    q = finite('q', vector('q', robot.nq, q))
    sort = sorted_criteria(criteria)
    weighed = [(each, each.weight * each.matrix(robot, q)) for each in sort.metrics]
    M = metric('sum of the metrics', robot.nv, sum(W for _, W in weighed) if weighed else None)
    levels = [level(robot, q, None, each) for each in (task, *sort.tasks)]
    stages = [task_priority(levels[: k + 1], joint_metric=M) for k in range(len(levels))]
    last, Z = stages[-1], stages[-1].null_space
    parts: dict[int, Contribution] = {}
    for k, lower in enumerate(sort.tasks, start=1):
        parts[id(lower)] = task_part(lower, last, k, stages[k].v - stages[k - 1].v)
    v = last.v
    for cost in sort.costs:
        parts[id(cost)] = cost_part(robot, q, cost, Z)
        v = v + parts[id(cost)].rates
    success, residual = last.levels[0].success, last.levels[0].residual
    message = last.levels[0].message
    if sort.bounds is not None:
        found = bounded(robot, q, levels[0], sort.bounds, M, v)
        parts[id(sort.bounds)] = bounds_part(sort.bounds, found, v)
        v, success, residual, message = found.v, found.success, found.residual, found.message
    for each, W in weighed:
        energy, rest = float(v @ W @ v), np.zeros(robot.nv)
        parts[id(each)] = Contribution(each.name, each.unit, energy, rest, 0.0, 'a metric')
    contributions = tuple(parts[id(criterion)] for criterion in criteria)
    return RedundancyResult(v, success, residual, Z.shape[1], stages[0].v, contributions, message)


@dataclass(frozen=True)
class SortedCriteria:
    """Criteria by what they are."""

    costs: list[Cost]
    metrics: list[Metric]
    tasks: list[Task]
    bounds: BoundedRates | None


def sorted_criteria(criteria: Sequence[Criterion]) -> SortedCriteria:
    """Return the criteria by kind; raises `ArgumentError`."""
    if not isinstance(criteria, Sequence) or isinstance(criteria, str):
        raise ArgumentError(f'criteria must be a list of criteria, got {criteria!r}')
    sort, bounds = SortedCriteria([], [], [], None), []
    for criterion in criteria:
        if isinstance(criterion, Task):
            sort.tasks.append(criterion)
        elif isinstance(criterion, BoundedRates):
            bounds.append(criterion)
        elif isinstance(criterion, Cost):
            sort.costs.append(criterion)
        elif isinstance(criterion, Metric):
            sort.metrics.append(criterion)
        else:
            raise ArgumentError(
                'a criterion is a cost (value, gradient), a metric (matrix), a Task or '
                f'BoundedRates, got {criterion!r}'
            )
    if len(bounds) > 1:
        raise ArgumentError('BoundedRates may be given once only')
    return SortedCriteria(sort.costs, sort.metrics, sort.tasks, bounds[0] if bounds else None)


def cost_part(robot: RobotModel, q: Array, cost: Cost, Z: Array) -> Contribution:
    """Return the descent of one cost in the null space with the M-orthonormal basis Z."""
    gradient = rate(f'the gradient of {cost.name}', robot.nv, cost.gradient(robot, q))
    along = Z.T @ gradient
    rates = -cost.weight * (Z @ along)
    message = 'descends' if Z.shape[1] else 'no freedom is left'
    if Z.shape[1] and np.linalg.norm(along) <= 1e-9 * (1.0 + np.linalg.norm(gradient)):
        message = 'at its optimum in the null space'
    slope = -cost.weight * float(along @ along)
    return Contribution(cost.name, cost.unit, cost.value(robot, q), rates, slope, message)


def task_part(task: Task, result: TaskPriorityResult, k: int, rates: Array) -> Contribution:
    """Return what level k did."""
    left = float(np.linalg.norm(result.levels[k].residual))
    return Contribution(
        f'task of {task.link}', 'rad/s, m/s', left, rates, 0.0, result.levels[k].message
    )


def bounded(
    robot: RobotModel, q: Array, task: TaskLevel, bounds: BoundedRates, M: Array, v: Array
) -> JointLimitedResult:
    """Return the rates within bounds that serve the task best, of these the nearest to v."""
    limits = JointBounds(robot.tree, bounds.dt, bounds.acceleration_limit)
    return joint_limited_velocity(
        task.J,
        task.rate,
        limits.at(q, bounds.previous),
        joint_metric=M,
        task_metric=task.metric,
        damping=bounds.damping,
        secondary=v,
    )


def bounds_part(bounds: BoundedRates, found: JointLimitedResult, v: Array) -> Contribution:
    """Return what bounds changed in the rates v."""
    change = found.v - v
    size = float(np.linalg.norm(change))
    return Contribution(bounds.name, 'rad/s', size, change, 0.0, found.message)
