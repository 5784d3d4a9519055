# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The compiled functions of a robot: recursions with signatures and docstrings.

`compiled` adds the keywords `gravity` and `out`. `robot_functions.pyi` shows them to type checkers;
`python tools/robot_stub.py` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping

from numpy.typing import ArrayLike

from ..arms.inverse.force import inverse_force
from ..description.rigid_body import RigidBody
from ..dynamics.coriolis import coriolis_matrix
from ..dynamics.drive_forces import friction_torques, friction_under_load, transmitted_torques
from ..dynamics.energy_and_momentum import (
    center_of_mass,
    center_of_mass_velocity,
    centroidal_map,
    centroidal_momentum,
    kinetic_energy,
    potential_energy,
    total_momentum,
)
from ..dynamics.force_rates import inverse_dynamics_rates
from ..dynamics.forward_dynamics import forward_dynamics
from ..dynamics.inverse_dynamics import (
    coriolis_torques,
    drive_torques,
    gravity_torques,
    inverse_dynamics,
)
from ..dynamics.joint_wrenches import joint_wrenches, reaction_wrenches
from ..dynamics.mass_matrix import mass_matrix
from ..dynamics.momentum_dynamics import (
    momenta_and_rates,
    spatial_momenta,
    spatial_momentum_dynamics,
)
from ..dynamics.partial_derivatives import (
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
    inverse_dynamics_second_derivatives,
    inverse_mass_matrix,
    is_too_long,
    mass_matrix_partials,
)
from ..dynamics.payload import payload_mass_matrix, payload_momenta_and_rates, payload_torques
from ..dynamics.regressor import regressor
from ..kinematics.higher_order import acceleration, jacobian_derivative
from ..kinematics.jacobian_partials import jacobian_partials
from ..kinematics.jacobians import BRANCHING, analytical_jacobian, jacobian, velocity
from ..kinematics.poe import joint_transforms, link_pose, link_poses
from ..kinematics.reconstruction import increment_rate, integrate
from ..types import Array
from .function_evaluator import FunctionEvaluator
from .functions import compiled


class RobotFunctions(FunctionEvaluator):
    """Compiled recursions of the core for one robot; conventions as in `Robot`."""

    # --- configurations; doc/theory/kinematics.md -------------------------------------------------

    @compiled(integrate, 'q', 'displacement')
    def integrate(self, q: ArrayLike, displacement: ArrayLike, increments: str = 'body') -> Array:
        """Return the configuration (nq,) a displacement (nv,) away from q (D-44).

        Joint coordinates are additive. A free body moves by the exponential of a body-fixed twist,
        as in Pinocchio's `integrate`, or by 'spatial', 'mixed' or 'hybrid' `increments`.
        """

    @compiled(increment_rate, 'q', 'displacement', 'v')
    def increment_rate(
        self, q: ArrayLike, displacement: ArrayLike, v: ArrayLike, increments: str = 'body'
    ) -> Array:
        """Return the rate (nv,) of a displacement to q, for the velocity v."""

    # --- poses and twists of links; doc/theory/kinematics.md --------------------------------------

    @compiled(link_pose, 'q')
    def link_pose(self, q: ArrayLike, link: str) -> Array:
        """Return the (4, 4) pose of a link frame in the root frame [m] (Müller 2018a (8), K-13)."""

    @compiled(link_poses, 'q')
    def link_poses(self, q: ArrayLike) -> Array:
        """Return the (n_links, 4, 4) poses of all links, as in `link_names` (K-13)."""

    @compiled(joint_transforms, 'q')
    def joint_transforms(self, q: ArrayLike) -> Array:
        """Return the poses of child links in their parent links, (n, 7), of all `transform_joints`.

        Each row is (x, y, z, qx, qy, qz, qw) [m], as in geometry_msgs/Transform.
        """

    @compiled(jacobian, 'q')
    def jacobian(self, q: ArrayLike, link: str, representation: str = 'hybrid') -> Array:
        """Return the (6, nv) geometric Jacobian of a link: twist = jacobian @ v.

        `representation` is 'body', 'spatial', 'hybrid' or 'mixed' (K-09, K-21 to K-31).
        """

    @compiled(velocity, 'q', 'v')
    def velocity(
        self, q: ArrayLike, v: ArrayLike, link: str, representation: str = 'hybrid'
    ) -> Array:
        """Return the twist (omega, v), (6,), of a link [rad/s, m/s], as in `jacobian`."""

    @compiled(acceleration, 'q', 'v', 'a')
    def acceleration(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, link: str, representation: str = 'hybrid'
    ) -> Array:
        """Return the time derivative of a link's twist, (6,) [rad/s^2, m/s^2] (D-16).

        The linear part of a hybrid or mixed acceleration is the acceleration of the link's origin.
        """

    @compiled(jacobian_derivative, 'q', 'v')
    def jacobian_derivative(
        self, q: ArrayLike, v: ArrayLike, link: str, representation: str = 'hybrid'
    ) -> Array:
        """Return the time derivative of the Jacobian of a link, (6, nv) (D-14, D-16)."""

    @compiled(jacobian_partials, 'q')
    def jacobian_partials(self, q: ArrayLike, link: str, representation: str = 'hybrid') -> Array:
        """Return the (6, nv, nv) derivatives dJ_j / dq_k of a link's Jacobian (D-04).

        For a free body along its body-fixed velocity. `kinematics.jacobian_partials` has higher
        orders.
        """

    @compiled(analytical_jacobian, 'q', branching=BRANCHING)
    def analytical_jacobian(self, q: ArrayLike, link: str, orientation: str = 'xyz') -> Array:
        """Return the Jacobian of (orientation coordinates, position) of a link, (6, nv).

        `orientation` is one of 24 sets of Euler angles, 'rotation_vector', or 'quaternion' with
        (7, nv) (Bruyninckx 2010 (5.24), B-125). In gimbal lock the result
        is not finite, or an error is raised.
        """

    # --- torques and accelerations; doc/theory/dynamics.md ----------------------------------------

    @compiled(inverse_dynamics, 'q', 'v', 'a', 'gravity')
    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Return the torques of a motion, (nv,) [N m, N] (Müller 2018b (72) to (76), D-27).

        The torques are M a + C v + g - sum J^T w_ext, plus friction if the robot has `drives`.

        `external_wrenches` maps a link to the wrench (moment, force) that the environment exerts on
        it, at the origin and in the axes of the link frame.
        """

    @compiled(forward_dynamics, 'q', 'v', 'tau', 'gravity', divides=True)
    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Return the accelerations under torques tau, (nv,) (D-38).

        `external_wrenches` as in `inverse_dynamics`. Raises `InertiaError` in configurations in
        which links without inertia make accelerations undefined; such samples of a stack are NaN.
        """

    @compiled(gravity_torques, 'q', 'gravity')
    def gravity_torques(self, q: ArrayLike) -> Array:
        """Return g(q), (nv,): the torques that balance gravity and springs at rest [N m, N]."""

    @compiled(coriolis_torques, 'q', 'v')
    def coriolis_torques(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return C(q, v) v, (nv,): the centrifugal and Coriolis torques [N m, N]."""

    @compiled(friction_torques, 'v')
    def friction_torques(self, v: ArrayLike) -> Array:
        """Return f(v), (nv,): the joint torques that compensate friction [N m, N] (see `Drive`).

        Without what depends on load, see `friction_under_load`.
        """

    @compiled(friction_under_load, 'v', 'tau')
    def friction_under_load(self, v: ArrayLike, tau: ArrayLike) -> Array:
        """Return `friction_torques`, and that of drives that transmit the torques tau, (nv,)."""

    @compiled(transmitted_torques, 'v', 'tau')
    def transmitted_torques(self, v: ArrayLike, tau: ArrayLike) -> Array:
        """Return what friction leaves of the drive torques tau, (nv,) [N m, N] (see `Drive`)."""

    @compiled(drive_torques, 'q', 'v', 'a', 'gravity')
    def drive_torques(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Return the drive torques of a motion, (nv,): M a + C v + g plus friction [N m, N]."""

    @compiled(inverse_force, 'q')
    def inverse_force(
        self, q: ArrayLike, external_wrenches: Mapping[str, ArrayLike] | None = None
    ) -> Array:
        """Return the torques that balance wrenches on links, -sum J^T w, (nv,) [N m, N] (C-106).

        Wrenches as in `inverse_dynamics`. Gravity is not included, see `gravity_torques`.
        """

    # --- loads on links and bearings --------------------------------------------------------------

    @compiled(joint_wrenches, 'q', 'v', 'a', 'gravity')
    def joint_wrenches(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Return the wrench each joint, fixed or not, exerts on its child link (D-30).

        The (n_links, 6) rows (moment, force) [N m, N] are in the order of `link_names`, at the
        origin and in the axes of the link, as a force-torque sensor there measures them. The first
        row is the wrench of the ground on the root link.
        """

    @compiled(reaction_wrenches, 'q', 'v', 'a', 'gravity')
    def reaction_wrenches(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Return `joint_wrenches` without the forces of the drives: the load on the bearings."""

    # --- inertia ----------------------------------------------------------------------------------

    @compiled(mass_matrix, 'q')
    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return M(q), (nv, nv) [kg m^2, kg m, kg] (Müller 2018b, 5.2, D-37)."""

    @compiled(inverse_mass_matrix, 'q', divides=True)
    def inverse_mass_matrix(self, q: ArrayLike) -> Array:
        """Return the inverse of M(q), (nv, nv) (Müller 2018b, 6.1, D-40).

        Raises `InertiaError` as `forward_dynamics` does.
        """

    @compiled(coriolis_matrix, 'q', 'v')
    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return C(q, v), (nv, nv), with dM/dt - 2 C skew-symmetric (Müller 2018b (85), D-36)."""

    @compiled(regressor, 'q', 'v', 'a', 'gravity')
    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Return Y, (nv, 10 n_links): inverse_dynamics = Y @ inertial_parameters (D-43).

        For each of `link_names`, in its frame: mass m, first moment m c, and the inertia about its
        origin as xx, xy, yy, xz, yz, zz.
        """

    # --- derivatives; doc/theory/dynamics_derivatives.md ------------------------------------------

    @compiled(inverse_dynamics_derivatives, 'q', 'v', 'a', 'gravity')
    def inverse_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> tuple[Array, Array, Array]:
        """Return (dtau/dq, dtau/dv, M) of `inverse_dynamics`, (nv, nv) each (D-40).

        Row i belongs to torque i. For a floating base, derivatives with respect to q are along its
        body-fixed velocity (omega, v), the first six elements of v.
        """

    @compiled(forward_dynamics_derivatives, 'q', 'v', 'tau', 'gravity', divides=True)
    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> tuple[Array, Array, Array]:
        """Return (da/dq, da/dv, M^-1) of `forward_dynamics`, (nv, nv) each.

        Raises `InertiaError` as `forward_dynamics` does.
        """

    @compiled(inverse_dynamics_second_derivatives, 'q', 'v', 'a', 'gravity', too_long=is_too_long)
    def inverse_dynamics_second_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> tuple[Array, Array, Array, Array]:
        """Return (d2tau/dqdq, d2tau/dvdv, d2tau/dqdv, dM/dq), (nv, nv, nv) each (D-40).

        Element [i, j, k] is the derivative of torque i with respect to q_j and then q_k, to v_j and
        v_k, to q_j and v_k, and dM_ij/dq_k. The first array is symmetric in j and k, except between
        the velocities of a free body, along which derivatives do not commute. Functions of robots
        larger than a humanoid are not compiled: calls take tenths of a second.
        """

    @compiled(mass_matrix_partials, 'q')
    def mass_matrix_partials(self, q: ArrayLike) -> Array:
        """Return the (nv, nv, nv) derivatives dM_ij / dq_k (D-40).

        For a free body along its body-fixed velocity, as in `inverse_dynamics_derivatives`.
        """

    @compiled(inverse_dynamics_rates, 'q', 'v', 'a', 'jerk', 'snap', 'gravity')
    def inverse_dynamics_rates(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, jerk: ArrayLike, snap: ArrayLike
    ) -> tuple[Array, Array, Array]:
        """Return (tau, dtau/dt, d2tau/dt2) of a motion, (nv,) each (Müller 2018b, 6.3, D-42).

        `jerk` and `snap` are the third and fourth time derivatives of the joint coordinates.
        """

    # --- payloads ---------------------------------------------------------------------------------

    @compiled(payload_torques, 'q', 'v', 'a', 'payload', 'gravity')
    def payload_torques(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, payload: Mapping[str, RigidBody] | ArrayLike
    ) -> Array:
        """Return the torques that a payload adds to those of a motion, (nv,) [N m, N].

        `payload` maps links to the `RigidBody` fixed to them, in link frames, or is the result of
        `payload_parameters`. A change of the bodies needs no compilation.
        """

    @compiled(payload_momenta_and_rates, 'q', 'v', 'payload', 'gravity')
    def payload_momenta_and_rates(
        self, q: ArrayLike, v: ArrayLike, payload: Mapping[str, RigidBody] | ArrayLike
    ) -> tuple[Array, Array]:
        """Return the contribution of a payload to `momenta_and_rates`, (nv,) each."""

    @compiled(payload_mass_matrix, 'q', 'payload')
    def payload_mass_matrix(
        self, q: ArrayLike, payload: Mapping[str, RigidBody] | ArrayLike
    ) -> Array:
        """Return the contribution of a payload to the mass matrix, (nv, nv)."""

    # --- energy, momentum and the center of mass --------------------------------------------------

    @compiled(potential_energy, 'q', 'gravity')
    def potential_energy(self, q: ArrayLike) -> float | Array:
        """Return the potential energy of gravity and springs [J].

        Zero for masses at the origin of the root frame and springs at rest.
        """

    @compiled(kinetic_energy, 'q', 'v')
    def kinetic_energy(self, q: ArrayLike, v: ArrayLike) -> float | Array:
        """Return the kinetic energy [J] (Müller 2018b (80), D-17)."""

    @compiled(center_of_mass, 'q')
    def center_of_mass(self, q: ArrayLike) -> Array:
        """Return the (3,) center of mass of all links, in the root frame [m]."""

    @compiled(center_of_mass_velocity, 'q', 'v')
    def center_of_mass_velocity(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the (3,) velocity of the center of mass, in root axes [m/s]."""

    @compiled(total_momentum, 'q', 'v')
    def total_momentum(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return (angular, linear) momentum about the root's origin, (6,) [N m s, N s]."""

    @compiled(centroidal_momentum, 'q', 'v')
    def centroidal_momentum(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return (angular, linear) momentum about the center of mass, (6,), in root axes."""

    @compiled(centroidal_map, 'q')
    def centroidal_map(self, q: ArrayLike) -> Array:
        """Return the matrix (6, nv) of centroidal_momentum = centroidal_map @ v."""

    @compiled(momenta_and_rates, 'q', 'v', 'gravity')
    def momenta_and_rates(
        self, q: ArrayLike, v: ArrayLike, external_wrenches: Mapping[str, ArrayLike] | None = None
    ) -> tuple[Array, Array]:
        """Return the generalized momenta p = M v and C^T v - g, (nv,) each.

        With M' = C + C^T, p' = tau + C^T v - g - friction, the equation of momentum observers.
        External wrenches add J^T w.
        """

    @compiled(spatial_momenta, 'q', 'v')
    def spatial_momenta(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return `total_momentum` and the canonical momenta of the joints, (nv,) (D-45).

        For robots with a floating base only.
        """

    @compiled(spatial_momentum_dynamics, 'q', 'momenta', 'tau', 'gravity')
    def spatial_momentum_dynamics(
        self,
        q: ArrayLike,
        momenta: ArrayLike,
        tau: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> tuple[Array, Array]:
        """Return velocities and rates of given `spatial_momenta` under torques, (nv,) each."""
