# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Kinematics and dynamics of robots with loops, in the coordinates of the actuated joints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import float_array, vector
from ...arms.inverse.position import InverseKinematicsResult
from ...dynamics.drive_forces import refuse_load_friction
from ...errors import ArgumentError, InfeasibleConstraintsError, SingularClosureError
from ...lie._arrays import finite_pose
from ...robot import actuated_robot as formulas
from ...robot.actuated_robot import Source
from ...robot.fused_kernel import Formula
from ...robot.robot import Robot
from ...tree.multibody_tree import JointLimits
from ...types import Array
from . import dependent_motion, hybrid
from .closure_equations import Mobility, closure_bias, closure_jacobian, mobility
from .dependent_motion import Partition
from .inverse_kinematics import ClosedInverseKinematics
from .loop_closures import LoopClosures
from .position_closure import Closing, PositionClosure

#: Independence of the passive joints below which a configuration is singular: their rates
#: are some 1 / SINGULARITY_TOLERANCE times those of the actuated joints there, and with a gap of
#: the tolerance this is also the accuracy of their positions.
SINGULARITY_TOLERANCE = 1e-4
#: Configuration of all joints to start from.
Seed = ArrayLike | None


@dataclass(frozen=True, eq=False)
class ClosedState:
    """State of all joints of a closed mechanism.

    Attributes
    ----------
    q, v : (n,) arrays
        Positions and rates of the joints of the tree, in the order of `Robot.joint_names`.
    G : (n, k) array
        Maps rates of the actuated joints to those of all joints, v = G v_a.
    d : (n,) array
        Accelerations of all joints for zero accelerations of the actuated ones, a = G a_a + d.
    """

    q: Array
    v: Array
    G: Array
    d: Array

    def torques(self, of_all: Array) -> Array:
        """Return G^T tau (k, ...): torques (n, ...) of all joints as those of the actuated ones."""
        reduced: Array = self.G.T @ of_all
        return reduced


class ClosedRobot:
    """Kinematics and dynamics of a robot with closed loops.

    Conventions are those of `Robot`. Configurations, velocities, accelerations and torques are
    those of the k actuated joints, as many as the mechanism has degrees of freedom. The closures
    are ideal: they do no work, so that joint torques tau are equivalent to G^T tau in the actuated
    joints.

    `seed` of each function is a configuration (n,) of all joints from which the iteration starts:
    the last state of a motion. By default it starts from the assembly of `LoopClosures`, so that
    results do not depend on earlier calls. Functions accept single samples.

    Parameters
    ----------
    robot : Robot
        The tree without the cut joints; all its joints have one coordinate.
    loops : LoopClosures
    tolerance : float
        Largest closure error, rotations [rad] and displacements [m] in one norm.

    Attributes
    ----------
    joint_names : tuple of str
        The actuated joints.
    passive : tuple of str
        The others.
    places : list of int
        Indices of the actuated joints among all joints.
    partition : Partition
        The closures, with the actuated joints given.
    assembly : (n,) array
        Configuration of all joints for which the loops were first closed.

    Raises
    ------
    UnknownNameError
        If the robot does not have a link or joint.
    ArgumentError
        If a joint has several coordinates, or a mimic joint is actuated or sensed.
    InfeasibleConstraintsError
        If the loops cannot be closed, or the number of actuated joints is not that of the degrees
        of freedom.
    SingularClosureError
        If the actuated or the sensed joints do not determine the others.

    Examples
    --------
    >>> from screw_dynamics_ros.core.mechanisms.closures.example_loops import golden_four_bar
    >>> linkage = golden_four_bar()
    >>> linkage.joint_names, linkage.mobility([np.pi / 3]).mobility
    (('crank_joint',), 1)
    >>> linkage.state([np.pi / 3], [1.0]).v.round(6)
    array([ 1.      , -1.211458,  0.147301])
    """

    def __init__(self, robot: Robot, loops: LoopClosures, *, tolerance: float = 1e-10) -> None:
        self.robot, self.loops, self.tolerance = robot, loops, tolerance
        loops.check(robot)
        refuse_load_friction(robot.tree, 'a mechanism with loops')
        self.joint_names = tuple(loops.actuated)
        self.places = [robot.joint_names.index(name) for name in self.joint_names]
        self.passive = tuple(name for name in robot.joint_names if name not in self.joint_names)
        self.partition = self._partition(self.joint_names)
        self._closure = self.closure_from(self.joint_names)
        self._solvers: dict[str, ClosedInverseKinematics] = {}
        start = np.zeros(robot.nq)
        for joint, position in loops.positions.items():
            start[robot.joint_names.index(joint)] = position
        first = self._closure.close(start[self.places], start, tolerance)
        if not first.success:
            raise InfeasibleConstraintsError(
                f'{first.message}; start nearer: positions of {", ".join(self.passive)}'
            )
        self.assembly = first.q
        self._check_roles()

    def closure_from(self, joints: Sequence[str]) -> PositionClosure:
        """Return what closes the loops for given positions of other joints than the actuated."""
        robot = self.robot
        periodic = {j.name for j in robot.description.joints if j.kind.is_periodic}
        return PositionClosure(
            robot.regrouped_tree,
            self._partition(joints),
            np.array([name in periodic for name in joints], dtype=bool),
            robot.backend,
            redundant=len(joints) > self.nv,
        )

    def _partition(self, joints: Sequence[str]) -> Partition:
        """Return the closures with these joints given."""
        given = tuple(self.robot.joint_names.index(name) for name in joints)
        others = tuple(k for k in range(self.robot.nq) if k not in given)
        return Partition(tuple(self.loops.closures), given, others)

    def _check_roles(self) -> None:
        """Refuse joints with motors or sensors that are too few, too many or the wrong ones."""
        J = self.closure_jacobian(self.assembly)
        found = mobility(J, self.partition.others)
        count = len(self.joint_names)
        if found.mobility != count:
            raise InfeasibleConstraintsError(
                f'the mechanism has {found.mobility} freedoms ({found.joint_freedoms} joints, '
                f'{found.rank} independent closure equations) and {count} actuated joints '
                f'({", ".join(self.joint_names) or "none"}); name as many as there are freedoms'
            )
        for role, joints in (('actuated', self.joint_names), ('sensed', self.loops.sensed)):
            rest = [k for k, name in enumerate(self.robot.joint_names) if name not in joints]
            gained = mobility(J, rest).gained
            if gained:
                raise SingularClosureError(
                    f'the {role} joints {", ".join(joints)} leave the others {gained} freedoms at '
                    'the assembly: choose other joints, or other positions if it is singular there'
                )

    # --- what it is -------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return (
            f'ClosedRobot({self.robot.description.name!r}, nv={self.nv} of {self.robot.nv} joints, '
            f'{len(self.loops.closures)} closures)'
        )

    @property
    def nq(self) -> int:
        """Number of actuated joints."""
        return len(self.joint_names)

    @property
    def nv(self) -> int:
        """Number of degrees of freedom, equal to `nq`."""
        return len(self.joint_names)

    @property
    def link_names(self) -> tuple[str, ...]:
        """All links."""
        return self.robot.link_names

    @property
    def limits(self) -> JointLimits:
        """Limits of the actuated joints."""
        of_all = self.robot.limits
        return JointLimits(*(getattr(of_all, x.name)[self.places] for x in fields(of_all)))

    # --- formulas, see `ActuatedRobot` ------------------------------------------------------------

    has_loops = True

    @property
    def sensed(self) -> tuple[str, ...]:
        """Joints with sensors, in the order of the tree."""
        return tuple(name for name in self.robot.joint_names if name in self.loops.sensed)

    @property
    def velocity_labels(self) -> list[str]:
        """Names of the actuated joints: the other velocities are not free."""
        return list(self.joint_names)

    def freedoms_of(self, link: str) -> int:
        """Return the number of motors: any of them may move a link."""
        return self.nv

    def elements_of_motors(self, values: Source) -> Source:
        """Return the elements of a vector (n,) that belong to motors."""
        return formulas.elements(values, self.places)

    def torques_of_motors(self, torques: Source) -> Source:
        """Return G^T tau, (n,), zero in joints without a motor."""
        return self._along('G^T tau', dependent_motion.projected, torques)

    def columns_of_motors(self, jacobian: Source) -> Source:
        """Return J G."""
        return Formula('J G', (jacobian, self._dependent), dependent_motion.columns)

    def mass_matrix_of_motors(self) -> Source:
        """Return G^T M G, (k, k)."""
        return self.inertia_of_joints()

    def inertia_of_joints(self) -> Formula:
        """Return G^T M G, (k, k)."""
        return Formula('G^T M G', ('mass_matrix', self._dependent), dependent_motion.reduced)

    def rates_along(self, rates: Source) -> Source:
        """Return G x for the elements x of a vector (n,) that belong to the motors."""
        return self._along('motion of all joints', dependent_motion.moved_along, rates)

    def accelerations_along(self, accelerations: Source) -> Source:
        """Return G x + d likewise."""
        return self._along('motion of all joints', dependent_motion.accelerated, accelerations)

    def coriolis_torques_of_all(self) -> Source:
        """Return M d + C v, (n,)."""
        drift = self.accelerations_along(formulas.REST)
        forced = Formula('M d', ('mass_matrix', drift), formulas.inertial)
        return Formula('sum', ('coriolis_torques', forced), formulas.sum_of_torques)

    @cached_property
    def _dependent(self) -> Formula:
        return dependent_motion.dependent(self.robot.regrouped_tree, self.partition)

    def _along(self, name: str, function: Callable[..., Array], vector: Source) -> Formula:
        return Formula(name, (vector, self._dependent), function, (tuple(self.places),))

    # --- closure ----------------------------------------------------------------------------------

    def close(self, q: ArrayLike, seed: Seed = None, **options: Any) -> Closing:
        """Return positions of all joints for positions q (k,) of the actuated ones (C-008).

        `options`: tolerance, max_iterations; see `PositionClosure.close`.
        """
        given = finite('q', vector('q', self.nq, q))
        start = self.assembly if seed is None else vector('seed', self.robot.nq, seed)
        options = {'tolerance': self.tolerance, **options}
        return self._closure.close(given, finite('seed', start), **options)

    def configuration(self, q: ArrayLike, seed: Seed = None) -> Array:
        """Return the positions (n,) of all joints; raises `InfeasibleConstraintsError`."""
        closing = self.close(q, seed)
        if not closing.success:
            raise InfeasibleConstraintsError(f'at {named(self.joint_names, q)}: {closing.message}')
        return closing.q

    def state(self, q: ArrayLike, v: ArrayLike | None = None, seed: Seed = None) -> ClosedState:
        """Return the state of all joints for that of the actuated ones, (k,) each (C-009).

        Raises
        ------
        InfeasibleConstraintsError
            The loops do not close.
        SingularClosureError
            If the passive joints are not determined, or nearly so.
        """
        rates = np.zeros(self.nv) if v is None else finite('v', vector('v', self.nv, v))
        whole = self.configuration(q, seed)
        G, speeds, d, independence = self._closure.motion(whole, rates)
        if not independence > SINGULARITY_TOLERANCE:
            raise SingularClosureError(
                f'at {named(self.joint_names, q)} the passive joints are not held by the actuated '
                f'ones (independence {independence:.3g}): leave this singular configuration'
            )
        return ClosedState(whole, speeds, G, d)

    def closure_jacobian(self, whole: ArrayLike) -> Array:
        """Return the closure Jacobian (c, n) at a closed configuration (n,) of all joints."""
        q = vector('whole', self.robot.nq, whole)
        return closure_jacobian(self.robot.tree, q, self.loops.closures)

    def closure_bias(self, whole: ArrayLike, rates: ArrayLike) -> Array:
        """Return b (c,) of J q'' = -b, for positions and rates (n,) of all joints."""
        q, v = vector('whole', self.robot.nq, whole), vector('rates', self.robot.nv, rates)
        return closure_bias(self.robot.tree, q, v, self.loops.closures)

    def mobility(self, q: ArrayLike, seed: Seed = None) -> Mobility:
        """Return mobility, rank of the closure equations and gained degrees of freedom (C-011).

        Also valid in singular configurations.
        """
        J = self.closure_jacobian(self.configuration(q, seed))
        return mobility(J, self.partition.others)

    # --- kinematics -------------------------------------------------------------------------------

    def link_pose(self, q: ArrayLike, link: str, seed: Seed = None) -> Array:
        """Return the pose of a link in the root frame, (4, 4)."""
        return self.robot.link_pose(self.configuration(q, seed), link)

    def link_poses(self, q: ArrayLike, seed: Seed = None) -> Array:
        """Return the poses of all links, (n_links, 4, 4)."""
        return self.robot.link_poses(self.configuration(q, seed))

    def jacobian(
        self, q: ArrayLike, link: str, representation: str = 'hybrid', seed: Seed = None
    ) -> Array:
        """Return the active-joint Jacobian J G, (6, k): twist of a link for rates of the motors.

        The loops stay closed (Bruyninckx 2010, (5.29), C-010).
        """
        state = self.state(q, seed=seed)
        return np.asarray(self.robot.jacobian(state.q, link, representation) @ state.G)

    def velocity(
        self,
        q: ArrayLike,
        v: ArrayLike,
        link: str,
        representation: str = 'hybrid',
        seed: Seed = None,
    ) -> Array:
        """Return the twist of a link, (6,)."""
        state = self.state(q, v, seed)
        return self.robot.velocity(state.q, state.v, link, representation)

    def inverse_kinematics(
        self, target: ArrayLike, link: str, q0: ArrayLike | None = None, **options: Any
    ) -> InverseKinematicsResult:
        """Return positions of the actuated joints for a target pose (4, 4) of a link.

        `options`: tolerance, max_iterations, restarts, seed; see `ClosedInverseKinematics.solve`.
        A mechanism with k < 6 degrees of freedom reaches only some poses: see `success`. Raises
        ArgumentError for a target that is not a finite pose.
        """
        target = finite_pose('target', target)
        if link not in self._solvers:
            self._solvers[link] = ClosedInverseKinematics(
                self.robot, self._closure, self.loops.closures, self.places, link
            )
        start = self.assembly if q0 is None else self.configuration(q0)
        return self._solvers[link].solve(target, start, self.assembly, **options)

    # --- dynamics ---------------------------------------------------------------------------------

    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
        seed: Seed = None,
    ) -> Array:
        """Return the torques of the actuated joints, (k,) [N m, N]: G^T of those of all joints."""
        state = self.state(q, v, seed)
        whole = state.G @ finite('a', vector('a', self.nv, a)) + state.d
        return state.torques(
            self.robot.inverse_dynamics(state.q, state.v, whole, external_wrenches)
        )

    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
        seed: Seed = None,
    ) -> Array:
        """Return the accelerations of the actuated joints, (k,), under their torques."""
        state = self.state(q, v, seed)
        needed = self.robot.inverse_dynamics(state.q, state.v, state.d, external_wrenches)
        given = finite('tau', vector('tau', self.nv, tau))
        M = state.torques(self.robot.mass_matrix(state.q) @ state.G)
        a: Array = np.linalg.solve(M, given - state.torques(needed))
        return a

    def mass_matrix(self, q: ArrayLike, seed: Seed = None) -> Array:
        """Return G^T M G, (k, k)."""
        state = self.state(q, seed=seed)
        return state.torques(self.robot.mass_matrix(state.q) @ state.G)

    def gravity_torques(self, q: ArrayLike, seed: Seed = None) -> Array:
        """Return the torques of the actuated joints that balance gravity at rest, (k,)."""
        state = self.state(q, seed=seed)
        return state.torques(self.robot.gravity_torques(state.q))

    def coriolis_torques(self, q: ArrayLike, v: ArrayLike, seed: Seed = None) -> Array:
        """Return G^T (M d + C v), (k,): Coriolis and centrifugal torques, also of the loops."""
        state = self.state(q, v, seed)
        of_loops = self.robot.mass_matrix(state.q) @ state.d
        return state.torques(of_loops + self.robot.coriolis_torques(state.q, state.v))

    def kinetic_energy(self, q: ArrayLike, v: ArrayLike, seed: Seed = None) -> float:
        """Return the kinetic energy [J]."""
        state = self.state(q, v, seed)
        return float(self.robot.kinetic_energy(state.q, state.v))

    def potential_energy(self, q: ArrayLike, seed: Seed = None) -> float:
        """Return the potential energy [J], as `Robot.potential_energy`."""
        return float(self.robot.potential_energy(self.configuration(q, seed)))

    def center_of_mass(self, q: ArrayLike, seed: Seed = None) -> Array:
        """Return the center of mass in the root frame, (3,) [m]."""
        return self.robot.center_of_mass(self.configuration(q, seed))

    # --- motion of some joints, torques of the others ---------------------------------------------

    def hybrid_dynamics(
        self,
        whole: ArrayLike,
        rates: ArrayLike,
        accelerations: Mapping[str, float],
        torques: Mapping[str, float] | None = None,
    ) -> hybrid.ClosedHybridMotion:
        """Return the motion of all joints for given motions or torques of joints (C-014).

        Joints may have given motions or torques, actuated or not; see `hybrid.hybrid_motion`.

        Parameters
        ----------
        whole, rates : (n,)
            Positions and rates of all joints with closed loops, as of a `ClosedState`.
        accelerations : {joint: acceleration}
            Given accelerations [rad/s^2, m/s^2].
        torques : {joint: torque}
            Given torques of other joints [N m, N]; zero by default.
        """
        q, v = vector('whole', self.robot.nq, whole), vector('rates', self.robot.nv, rates)
        moved, motion, tau = hybrid.roles(self.robot.joint_names, accelerations, torques or {})
        at_rest = self.robot.inverse_dynamics(q, v, np.zeros(self.robot.nv))
        M, J, bias = self.robot.mass_matrix(q), self.closure_jacobian(q), self.closure_bias(q, v)
        return hybrid.hybrid_motion(M, J, moved, motion, tau, at_rest, bias)

    def hybrid_kinematics(
        self,
        whole: ArrayLike,
        displacements: Mapping[str, float],
        stiffness: ArrayLike,
        torques: Mapping[str, float] | None = None,
    ) -> hybrid.ClosedHybridMotion:
        """Return small displacements of all joints for given displacements or torques (C-014).

        Quasi-static: joints resist with their `stiffness` (n,) [N m/rad, N/m], 0 for those without
        springs. `torques` are additional to those that balance the mechanism in `whole`; otherwise
        as in `hybrid_dynamics`.
        """
        q = vector('whole', self.robot.nq, whole)
        K = finite('stiffness', vector('stiffness', self.robot.nv, stiffness))
        moved, motion, tau = hybrid.roles(self.robot.joint_names, displacements, torques or {})
        J = self.closure_jacobian(q)
        at_rest = np.zeros(len(K))
        return hybrid.hybrid_motion(np.diag(K), J, moved, motion, tau, at_rest, np.zeros(len(J)))


def finite(name: str, values: Array) -> Array:
    """Return an array; raises `ArgumentError` if it has elements that are not finite."""
    if not np.isfinite(values).all():
        raise ArgumentError(f'{name} must hold finite numbers, got {values}')
    return values


def named(joints: Sequence[str], q: ArrayLike) -> str:
    """Return positions of joints as text."""
    return ', '.join(f'{joint} = {x:.6g}' for joint, x in zip(joints, float_array('q', q)))
