# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

# Written by tools/robot_stub.py.

from collections.abc import Mapping

from numpy.typing import ArrayLike

from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.robot.function_evaluator import FunctionEvaluator
from screw_dynamics_ros.core.types import Array

class RobotFunctions(FunctionEvaluator):
    def integrate(
        self,
        q: ArrayLike,
        displacement: ArrayLike,
        increments: str = 'body',
        *,
        out: Array | None = None,
    ) -> Array: ...
    def increment_rate(
        self,
        q: ArrayLike,
        displacement: ArrayLike,
        v: ArrayLike,
        increments: str = 'body',
        *,
        out: Array | None = None,
    ) -> Array: ...
    def link_pose(self, q: ArrayLike, link: str, *, out: Array | None = None) -> Array: ...
    def link_poses(self, q: ArrayLike, *, out: Array | None = None) -> Array: ...
    def joint_transforms(self, q: ArrayLike, *, out: Array | None = None) -> Array: ...
    def jacobian(
        self, q: ArrayLike, link: str, representation: str = 'hybrid', *, out: Array | None = None
    ) -> Array: ...
    def velocity(
        self,
        q: ArrayLike,
        v: ArrayLike,
        link: str,
        representation: str = 'hybrid',
        *,
        out: Array | None = None,
    ) -> Array: ...
    def acceleration(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        link: str,
        representation: str = 'hybrid',
        *,
        out: Array | None = None,
    ) -> Array: ...
    def jacobian_derivative(
        self,
        q: ArrayLike,
        v: ArrayLike,
        link: str,
        representation: str = 'hybrid',
        *,
        out: Array | None = None,
    ) -> Array: ...
    def jacobian_partials(
        self, q: ArrayLike, link: str, representation: str = 'hybrid', *, out: Array | None = None
    ) -> Array: ...
    def analytical_jacobian(
        self, q: ArrayLike, link: str, orientation: str = 'xyz', *, out: Array | None = None
    ) -> Array: ...
    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
        *,
        gravity: ArrayLike | None = None,
        out: Array | None = None,
    ) -> Array: ...
    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
        *,
        gravity: ArrayLike | None = None,
        out: Array | None = None,
    ) -> Array: ...
    def gravity_torques(
        self, q: ArrayLike, *, gravity: ArrayLike | None = None, out: Array | None = None
    ) -> Array: ...
    def coriolis_torques(
        self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None
    ) -> Array: ...
    def friction_torques(self, v: ArrayLike, *, out: Array | None = None) -> Array: ...
    def friction_under_load(
        self, v: ArrayLike, tau: ArrayLike, *, out: Array | None = None
    ) -> Array: ...
    def transmitted_torques(
        self, v: ArrayLike, tau: ArrayLike, *, out: Array | None = None
    ) -> Array: ...
    def drive_torques(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        gravity: ArrayLike | None = None,
        out: Array | None = None,
    ) -> Array: ...
    def inverse_force(
        self,
        q: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
        *,
        out: Array | None = None,
    ) -> Array: ...
    def joint_wrenches(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
        *,
        gravity: ArrayLike | None = None,
        out: Array | None = None,
    ) -> Array: ...
    def reaction_wrenches(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
        *,
        gravity: ArrayLike | None = None,
        out: Array | None = None,
    ) -> Array: ...
    def mass_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array: ...
    def inverse_mass_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array: ...
    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array: ...
    def regressor(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        gravity: ArrayLike | None = None,
        out: Array | None = None,
    ) -> Array: ...
    def inverse_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
        *,
        gravity: ArrayLike | None = None,
        out: tuple[Array, ...] | None = None,
    ) -> tuple[Array, Array, Array]: ...
    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
        *,
        gravity: ArrayLike | None = None,
        out: tuple[Array, ...] | None = None,
    ) -> tuple[Array, Array, Array]: ...
    def inverse_dynamics_second_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
        *,
        gravity: ArrayLike | None = None,
        out: tuple[Array, ...] | None = None,
    ) -> tuple[Array, Array, Array, Array]: ...
    def mass_matrix_partials(self, q: ArrayLike, *, out: Array | None = None) -> Array: ...
    def inverse_dynamics_rates(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        jerk: ArrayLike,
        snap: ArrayLike,
        *,
        gravity: ArrayLike | None = None,
        out: tuple[Array, ...] | None = None,
    ) -> tuple[Array, Array, Array]: ...
    def payload_torques(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        payload: Mapping[str, RigidBody] | ArrayLike,
        *,
        gravity: ArrayLike | None = None,
        out: Array | None = None,
    ) -> Array: ...
    def payload_momenta_and_rates(
        self,
        q: ArrayLike,
        v: ArrayLike,
        payload: Mapping[str, RigidBody] | ArrayLike,
        *,
        gravity: ArrayLike | None = None,
        out: tuple[Array, ...] | None = None,
    ) -> tuple[Array, Array]: ...
    def payload_mass_matrix(
        self,
        q: ArrayLike,
        payload: Mapping[str, RigidBody] | ArrayLike,
        *,
        out: Array | None = None,
    ) -> Array: ...
    def potential_energy(
        self, q: ArrayLike, *, gravity: ArrayLike | None = None, out: Array | None = None
    ) -> float | Array: ...
    def kinetic_energy(
        self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None
    ) -> float | Array: ...
    def center_of_mass(self, q: ArrayLike, *, out: Array | None = None) -> Array: ...
    def center_of_mass_velocity(
        self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None
    ) -> Array: ...
    def total_momentum(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array: ...
    def centroidal_momentum(
        self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None
    ) -> Array: ...
    def centroidal_map(self, q: ArrayLike, *, out: Array | None = None) -> Array: ...
    def momenta_and_rates(
        self,
        q: ArrayLike,
        v: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
        *,
        gravity: ArrayLike | None = None,
        out: tuple[Array, ...] | None = None,
    ) -> tuple[Array, Array]: ...
    def spatial_momenta(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array: ...
    def spatial_momentum_dynamics(
        self,
        q: ArrayLike,
        momenta: ArrayLike,
        tau: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
        *,
        gravity: ArrayLike | None = None,
        out: tuple[Array, ...] | None = None,
    ) -> tuple[Array, Array]: ...
