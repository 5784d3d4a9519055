# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Closed-loop inverse kinematics: tracking of target poses, one step per sample.

With the pose C of a link, its target C_d with the body-fixed twist V_d, and the error
e = log(C^-1 C_d), the desired body-fixed twist of the link is

    V = Ad_{C^-1 C_d} V_d + K e

so that e' = -K e: the error decays along its screw axis with the rate K. (The formula of the book
has V_d without Ad, which is correct only if the frames coincide.) The joint rates within the joint
limits whose twist is nearest (`joint_limited_velocity`) are constant during one sampling time dt,
so that K dt must be below 2. Cut loops are closed in the same way: each frame of the cut is the
target of the other (`CoincidentFrames`).

Latency: the result of `step` is valid at the end of the sample of its target. Without V_d the link
lags behind a target of constant twist by V_d / K, with V_d there is no lag. The control law does
not include acceleration limits: an error e requires up to K^2 e, and the link overshoots if the
limit is lower. Choose a smaller K for targets that jump. Cost per step: one compiled call for poses
and Jacobians, one logarithm and one least-squares solution, a bounded one only while a bound is
active. Equal inputs give bitwise equal outputs.

Source: Bruyninckx 2010, sections 5.14 and 5.15 (C-048, C-049).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import check_number, vector
from ...errors import ArgumentError
from ...kinematics.reconstruction import integrate
from ...lie import screws, se3
from ...tree.multibody_tree import Tree
from ...types import Array
from .bounded_velocity import joint_limited_velocity
from .link_motion import per_link
from .singularity_policies import PolicyStatus, SingularityPolicy, SingularityStatus, check_policy
from .velocity import selected_rows
from .velocity_bounds import JointBounds
from .weighted_inverse import AdaptiveDamping, finite


@dataclass(frozen=True)
class CoincidentFrames:
    """Two links whose frames must coincide: the ends of a cut loop.

    Attributes
    ----------
    first, second : str
    selection : (m, 6) array, optional
        Components of the error (rotation, displacement), in the frame of `first`, that must vanish;
        all by default. For a cut revolute joint, omit the rotation about its axis.
    """

    first: str
    second: str
    selection: ArrayLike | None = None


@dataclass(frozen=True, eq=False)
class ClosedLoopStep:
    """Result of one sample.

    Attributes
    ----------
    q : (nq,) array
        Configuration at the end of the sample, to be commanded.
    v : (nv,) array
        Joint rates during the sample.
    error : (k, 6) array
        Error of each link at the beginning of the sample: rotation vector [rad] and displacement
        [m] from link to target, in the frame of the link.
    closure_error : (g,) array
        Error of each loop at the beginning of the sample, rotation [rad] and displacement [m] in
        one norm.
    success : bool
        Whether the joints track the target: the twists are reached without a conflict of limits.
    active : tuple of str
        Joints held at a bound.
    message : str
    status : PolicyStatus or None
        Result of the policy for singularities, if there is one.
    """

    q: Array
    v: Array
    error: Array
    closure_error: Array
    success: bool
    active: tuple[str, ...]
    message: str
    status: PolicyStatus | None = None


class ClosedLoop:
    """Tracks target poses with one or several links.

    Parameters
    ----------
    kernel : callable
        Function of q that returns the `outputs`: poses of links and closures, then their body-fixed
        Jacobians.
    tree : Tree
    links : sequence of str
    q : (nq,) array
        Initial configuration.
    dt : float
        Sampling time [s].
    gain, closure_gain : float
        K of the links and of the closures [1/s].
    closures : sequence of CoincidentFrames
    acceleration_limit : float or (nv,) array, optional
        Of the joints [rad/s^2, m/s^2].
    joint_metric, task_metric, damping
        As in `joint_limited_velocity`; task_metric over all links, then all closures.
    policy : SingularityPolicy, optional
        Policy near singularities, instead of `joint_limited_velocity`; it has its own damping.
    partials : callable, optional
        Function of q that returns the partial derivatives of the link Jacobians, for the policy.

    Attributes
    ----------
    q : (nq,) array
        Current configuration.
    v : (nv,) array
        Joint rates of the last sample.
    """

    def __init__(
        self,
        kernel: Callable[[Array], Sequence[Array]],
        tree: Tree,
        links: Sequence[str],
        q: Array,
        dt: float,
        *,
        gain: float = 20.0,
        closures: Sequence[CoincidentFrames] = (),
        closure_gain: float | None = None,
        acceleration_limit: ArrayLike | None = None,
        joint_metric: ArrayLike | None = None,
        task_metric: ArrayLike | None = None,
        damping: float | AdaptiveDamping | None = None,
        policy: SingularityPolicy | None = None,
        partials: Callable[[Array], Array] | None = None,
    ) -> None:
        check_number('the sampling time dt', dt, positive=True)
        closure_gain = 1.0 / dt if closure_gain is None else closure_gain
        for name, value in (('gain', gain), ('closure_gain', closure_gain)):
            check_number(name, value, positive=True)
            if not value * dt < 2.0:
                raise ArgumentError(
                    f'{name} {value:g} /s is unstable at a sampling time of {dt:g} s: it must be '
                    f'below {2.0 / dt:g} /s'
                )
        if policy is not None:
            check_policy(policy)
        self._kernel, self._tree, self._links = kernel, tree, tuple(links)
        self._closures = [(closure, selection(closure)) for closure in closures]
        self._dt, self._gain, self._closure_gain = dt, gain, closure_gain
        self._bounds = JointBounds(tree, dt, acceleration_limit)
        self._joint_metric, self._task_metric, self._damping = joint_metric, task_metric, damping
        self._policy, self._partials = policy, None if closures else partials
        self.reset(q)

    def reset(self, q: ArrayLike) -> None:
        """Start again from q, at rest."""
        self.q = finite('q', vector('q', self._tree.nq, q)).copy()
        self.v = np.zeros(self._tree.nv)

    def step(
        self,
        target: ArrayLike,
        twist: ArrayLike | None = None,
        q: ArrayLike | None = None,
        representation: str = 'hybrid',
    ) -> ClosedLoopStep:
        """Take one step towards the target of this sample.

        Parameters
        ----------
        target : (4, 4) or (k, 4, 4)
            Poses of the links in the root frame [m].
        twist : (6,) or (k, 6), optional
            Twists of the targets, in `representation` at their own poses [rad/s, m/s]; zero by
            default.
        q : (nq,), optional
            Measured configuration to start from, instead of the result of the last step.
        representation : {'hybrid', 'body', 'spatial', 'mixed'}

        Raises
        ------
        ArgumentError
            If a target is not a rigid motion, a shape is wrong, or a number is not finite; the
            state then does not change.
        """
        k = len(self._links)
        C_d = per_link('target', target, k, (4, 4))
        V_d = None if twist is None else per_link('twist', twist, k, (6,))
        start = self.q if q is None else finite('q', vector('q', self._tree.nq, q))
        outputs = self._kernel(start)
        half = len(outputs) // 2
        poses, jacobians = outputs[:half], outputs[half:]

        error, closure_error, rows, rates = np.zeros((k, 6)), np.zeros(len(self._closures)), [], []
        for i in range(k):
            E = se3.inverse(poses[i]) @ C_d[i]
            error[i] = se3.log(E)
            rows.append(jacobians[i])
            rates.append(self._gain * error[i])
            if V_d is not None:
                ahead = screws.convert_twist(V_d[i], C_d[i], representation, 'body')
                rates[i] = rates[i] + screws.transform_twist(E, ahead)
        for i, (_, S) in enumerate(self._closures):
            first, second = k + 2 * i, k + 2 * i + 1
            E = se3.inverse(poses[first]) @ poses[second]
            e = S @ se3.log(E)
            closure_error[i] = np.linalg.norm(e)
            rows.append(S @ (jacobians[first] - se3.Ad(E) @ jacobians[second]))
            rates.append(self._closure_gain * e)

        J, V = np.concatenate(rows), np.concatenate(rates)
        found, status = self._answer(J, V, start)
        self.q, self.v = integrate(self._tree, start, found.v * self._dt), found.v
        return ClosedLoopStep(
            self.q.copy(),
            found.v,
            error,
            closure_error,
            found.success,
            found.active,
            found.message,
            status,
        )

    def _answer(self, J: Array, V: Array, q: Array) -> tuple[Answer, PolicyStatus | None]:
        """Return the joint rates for the rows J v = V, and the status of the policy."""
        bounds = self._bounds.at(q, self.v)
        if self._policy is None:
            found = joint_limited_velocity(
                J,
                V,
                bounds,
                joint_metric=self._joint_metric,
                task_metric=self._task_metric,
                damping=self._damping,
            )
            return Answer(found.v, found.success, found.active, found.message), None
        partials = self._partials
        situation = SingularityStatus(
            J,
            V,
            bounds,
            None if partials is None else lambda: partials(q),
            task_metric=self._task_metric,
            joint_metric=self._joint_metric,
        )
        status = self._policy.follow(situation)
        followed = status.state == 'followed'
        return Answer(status.v, followed, status.limiting, status.message), status


@dataclass(frozen=True, eq=False)
class Answer:
    """Joint rates of a sample, as in `ClosedLoopStep`."""

    v: Array
    success: bool
    active: tuple[str, ...]
    message: str


def outputs(links: Sequence[str], closures: Sequence[CoincidentFrames]) -> list[tuple[str, ...]]:
    """Return what the kernel of a `ClosedLoop` computes."""
    for closure in closures:
        if not isinstance(closure, CoincidentFrames):
            raise ArgumentError(f'closures must hold CoincidentFrames objects, got {closure!r}')
    frames = [*links, *(link for closure in closures for link in (closure.first, closure.second))]
    return [
        *(('link_pose', frame) for frame in frames),
        *(('jacobian', frame, 'body') for frame in frames),
    ]


def selection(closure: CoincidentFrames) -> Array:
    """Return the selection of a closure, (m, 6); raises `ArgumentError`."""
    what = f'the selection of the closure {closure.first}-{closure.second}'
    return selected_rows(what, closure.selection)
