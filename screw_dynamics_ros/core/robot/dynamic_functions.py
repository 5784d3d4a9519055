"""Dynamics of a robot: torques, accelerations, inertia, momentum, energy."""

from __future__ import annotations

from collections.abc import Mapping

from numpy.typing import ArrayLike

from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.dynamics.payload import payload_parameters
from screw_dynamics_ros.core.robot.compiled_functions import CompiledFunctions
from screw_dynamics_ros.core.types import Array


class DynamicFunctions(CompiledFunctions):
    """How forces and motion of a `Robot` belong together; doc/dynamics.md, doc/trajectories.md."""

    @property
    def with_friction(self) -> bool:
        """Whether inverse and forward dynamics have friction in them: whether drives were given."""
        return self._tree.with_friction

    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Return the torques of a motion, (nv,) [N m, N] (muller.md D-27).

        They are M a + C v + g - sum J^T w_ext, plus friction if the robot was given `drives`.

        `external_wrenches` maps a link to the wrench (moment, force) the environment exerts on it,
        at the origin of the link frame, in the link frame.
        """
        return self._evaluate('inverse_dynamics', (q, v, a), (), external_wrenches)

    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Return the accelerations under torques tau, (nv,) (muller.md D-38); wrenches as above.

        NaN in configurations in which links without inertia leave them undefined.
        """
        return self._evaluate('forward_dynamics', (q, v, tau), (), external_wrenches)

    def joint_wrenches(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Return the wrench each joint, fixed or not, exerts on its child link (muller.md D-30).

        The (n_links, 6) rows (moment, force) [N m, N] are in the order of `link_names`, at the
        origin and in the axes of the link: what a force-torque sensor there shows. The first one is
        what the ground exerts on the root link.
        """
        return self._evaluate('joint_wrenches', (q, v, a), (), external_wrenches)

    def reaction_wrenches(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Return `joint_wrenches` without the forces of the drives: the load on the bearings."""
        return self._evaluate('reaction_wrenches', (q, v, a), (), external_wrenches)

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return M(q), (nv, nv) [kg m^2, kg m, kg] (muller.md D-37)."""
        return self._evaluate('mass_matrix', (q,))

    def gravity_torques(self, q: ArrayLike) -> Array:
        """Return g(q), (nv,): the torques that hold the robot still [N m, N]."""
        return self._evaluate('gravity_torques', (q,))

    def coriolis_torques(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return C(q, v) v, (nv,): the centrifugal and Coriolis torques [N m, N]."""
        return self._evaluate('coriolis_torques', (q, v))

    def friction_torques(self, v: ArrayLike) -> Array:
        """Return f(v), (nv,): the torques that overcome joint friction [N m, N] (see `Drive`)."""
        return self._evaluate('friction_torques', (v,))

    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return C(q, v), (nv, nv), with dM/dt - 2 C skew-symmetric (muller.md D-36)."""
        return self._evaluate('coriolis_matrix', (q, v))

    def inverse_mass_matrix(self, q: ArrayLike) -> Array:
        """Return the inverse of M(q), (nv, nv) (muller.md D-40)."""
        return self._evaluate('inverse_mass_matrix', (q,))

    def inverse_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> tuple[Array, Array, Array]:
        """Return (dtau/dq, dtau/dv, M) of `inverse_dynamics`, (nv, nv) each (muller.md D-40).

        Row i belongs to torque i. Of a floating base the derivatives with respect to q are along
        its body-fixed velocity (omega, v), which comes first in v.
        """
        return self._evaluate('inverse_dynamics_derivatives', (q, v, a), (), external_wrenches)

    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> tuple[Array, Array, Array]:
        """Return (da/dq, da/dv, M^-1) of `forward_dynamics`, (nv, nv) each, as above."""
        return self._evaluate('forward_dynamics_derivatives', (q, v, tau), (), external_wrenches)

    def drive_torques(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Return what the drives give in a motion, (nv,): M a + C v + g and friction [N m, N]."""
        return self._evaluate('drive_torques', (q, v, a))

    def payload_parameters(self, payloads: Mapping[str, RigidBody]) -> Array:
        """Return what bodies fixed to links, {link: body}, add to the inertias of the robot.

        (10 n_bodies,), the input 'payload' of `payload_torques` in fused kernels.
        """
        return payload_parameters(self._tree, payloads)

    def payload_torques(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        payloads: Mapping[str, RigidBody] | ArrayLike,
    ) -> Array:
        """Return what bodies fixed to links add to the torques of a motion, (nv,) [N m, N].

        `payloads` maps a link to a `RigidBody` in its frame, or is what `payload_parameters` makes
        of that; another one compiles nothing.
        """
        if isinstance(payloads, Mapping):
            payloads = self.payload_parameters(payloads)
        return self._evaluate('payload_torques', (q, v, a, payloads))

    def potential_energy(self, q: ArrayLike) -> float | Array:
        """Return the potential energy in gravity, zero at the origin of the root frame [J]."""
        return self._evaluate('potential_energy', (q,))

    def kinetic_energy(self, q: ArrayLike, v: ArrayLike) -> float | Array:
        """Return the kinetic energy [J] (muller.md D-17)."""
        return self._evaluate('kinetic_energy', (q, v))

    def center_of_mass(self, q: ArrayLike) -> Array:
        """Return the (3,) centre of mass of all links, in the root frame [m]."""
        return self._evaluate('center_of_mass', (q,))

    def center_of_mass_velocity(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the (3,) velocity of the centre of mass, in root axes [m/s]."""
        return self._evaluate('center_of_mass_velocity', (q, v))

    def total_momentum(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return (angular, linear) momentum about the root's origin, (6,) [N m s, N s]."""
        return self._evaluate('total_momentum', (q, v))

    def centroidal_momentum(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return (angular, linear) momentum about the centre of mass, (6,), in root axes."""
        return self._evaluate('centroidal_momentum', (q, v))

    def centroidal_map(self, q: ArrayLike) -> Array:
        """Return the matrix (6, nv) of centroidal_momentum = centroidal_map @ v."""
        return self._evaluate('centroidal_map', (q,))

    def spatial_momenta(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return `total_momentum` and the canonical momenta of the joints, (nv,) (muller.md D-45).

        Only of robots on a floating base.
        """
        return self._evaluate('spatial_momenta', (q, v))

    def spatial_momentum_dynamics(
        self,
        q: ArrayLike,
        momenta: ArrayLike,
        tau: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> tuple[Array, Array]:
        """Return the velocities of `spatial_momenta` and their rates under torques, (nv,) each."""
        return self._evaluate(
            'spatial_momentum_dynamics', (q, momenta, tau), (), external_wrenches
        )

    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Return Y, (nv, 10 n_links): inverse_dynamics = Y @ inertial_parameters (muller.md D-43).

        For each of `link_names`, in its frame: mass m, first moment m c, and the inertia about its
        origin as xx, xy, yy, xz, yz, zz.
        """
        return self._evaluate('regressor', (q, v, a))
