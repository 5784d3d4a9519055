# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The equations of kinematics and dynamics in other forms, as in the source papers.

Each module is one formulation; doc/theory/formulations.md compares them. `Robot` compiles the
recursions of `core.kinematics` and `core.dynamics`.

======================  =========================================================================
module                  formulation
======================  =========================================================================
recursive_newton_euler  inverse dynamics, wrenches included, in four representations
closed_forms            projection of the Newton-Euler equations, Kane's, Lagrange's
first_order_forms       first-order equations in twists, momenta of bodies, generalized momenta
christoffel             Christoffel symbols of the mass matrix
articulated_torques     inverse dynamics by articulated inertias
factorization           the system Jacobian J = A X with A^-1 = 1 - D
joint_rates             joint rates and accelerations from measured motions of all bodies
joint_axes              current joint axes, and Jacobians built from them
======================  =========================================================================

Example: the straight arm of unit lengths and masses, g = 10, has the gravity torques 10 + 20 and
10.

>>> import numpy as np
>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> rest, gravity = np.zeros(2), np.array([0.0, -10.0, 0.0])
>>> recursive_inverse_dynamics(planar_arm(), rest, rest, rest, gravity, None, 'spatial')
array([30., 10.])

The main functions are also exported here, except `articulated_torques.articulated_torques`, which
would hide the module of the same name.
"""

from . import articulated_torques
from .christoffel import christoffel_symbols
from .closed_forms import (
    SystemMatrices,
    coriolis_matrix,
    kane_torques,
    mass_matrix,
    projected_torques,
    system_matrices,
)
from .factorization import (
    Factors,
    factor_derivatives,
    factors,
    stacked_jacobian,
    system_jacobian_derivative,
)
from .first_order_forms import (
    body_momentum_form,
    joint_accelerations_of,
    joint_rates_of,
    least_squares_rates,
    momentum_form,
    twist_form,
)
from .joint_axes import current_axes, geometric_jacobian
from .recursive_newton_euler import BodyDynamics, body_dynamics, recursive_inverse_dynamics

__all__ = [
    'BodyDynamics',
    'Factors',
    'SystemMatrices',
    'articulated_torques',
    'body_dynamics',
    'body_momentum_form',
    'christoffel_symbols',
    'coriolis_matrix',
    'current_axes',
    'factor_derivatives',
    'factors',
    'geometric_jacobian',
    'joint_accelerations_of',
    'joint_rates_of',
    'kane_torques',
    'least_squares_rates',
    'mass_matrix',
    'momentum_form',
    'projected_torques',
    'recursive_inverse_dynamics',
    'stacked_jacobian',
    'system_jacobian_derivative',
    'system_matrices',
    'twist_form',
]
