"""The functions of a robot: which vectors each one reads, and the recursion behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from screw_dynamics_ros.core.description.rigid_body import PARAMETERS
from screw_dynamics_ros.core.dynamics import (
    coriolis,
    energy,
    force_rates,
    forward_dynamics,
    hybrid_dynamics,
    inverse_dynamics,
    joint_wrenches,
    momentum,
    regressor,
    spatial_momentum,
)
from screw_dynamics_ros.core.dynamics import partial_derivatives as derivatives
from screw_dynamics_ros.core.dynamics.mass_matrix import mass_matrix
from screw_dynamics_ros.core.dynamics.payload import payload_torques
from screw_dynamics_ros.core.errors import UnknownNameError
from screw_dynamics_ros.core.inverse import force as force_kinematics
from screw_dynamics_ros.core.kinematics import analytical_jacobians as analytical
from screw_dynamics_ros.core.kinematics import (
    higher_order,
    jacobian_partials,
    jacobians,
    poe,
    reconstruction,
)
from screw_dynamics_ros.core.kinematics import link_transforms as transforms
from screw_dynamics_ros.core.lie import euler
from screw_dynamics_ros.core.tree.multibody_tree import Tree
from screw_dynamics_ros.core.types import Array

#: The vectors a function may read, in the order in which it takes them.
INPUTS = (
    'q',
    'displacement',
    'v',
    'a',
    'jerk',
    'jounce',
    'momenta',
    'tau',
    'payload',
    'gravity',
)

#: The kinds of options, and which one stands for one that is not given.
DEFAULTS = {
    'link': None,
    'representation': 'hybrid',
    'orientation': euler.RPY,
    'prescribed': None,
    'increments': 'body',
}

#: What selects one output: the name of a function, or (name, option, ...).
Output = str | tuple[str, ...]


@dataclass(frozen=True)
class Function:
    """One function: `evaluate(tree, *inputs, *options)` returns an array, or a tuple of arrays.

    `inputs` are some of `INPUTS`, `options` names what else selects the output: some of `DEFAULTS`.
    With one of the options `branching` it branches on numbers and cannot be recorded.
    """

    evaluate: Callable[..., Array | tuple[Array, ...]]
    inputs: tuple[str, ...]
    options: tuple[str, ...] = ()
    branching: frozenset[str] = frozenset()


FUNCTIONS = {
    'link_pose': Function(poe.link_pose, ('q',), ('link',)),
    'link_poses': Function(poe.link_poses, ('q',)),
    'joint_transforms': Function(transforms.joint_transforms, ('q',)),
    'jacobian': Function(jacobians.jacobian, ('q',), ('link', 'representation')),
    'velocity': Function(jacobians.velocity, ('q', 'v'), ('link', 'representation')),
    'acceleration': Function(
        higher_order.acceleration, ('q', 'v', 'a'), ('link', 'representation')
    ),
    'jacobian_derivative': Function(
        higher_order.jacobian_derivative, ('q', 'v'), ('link', 'representation')
    ),
    'jacobian_partials': Function(
        jacobian_partials.jacobian_partials, ('q',), ('link', 'representation')
    ),
    'analytical_jacobian': Function(
        analytical.analytical_jacobian, ('q',), ('link', 'orientation'), analytical.BRANCHING
    ),
    'inverse_dynamics': Function(inverse_dynamics.inverse_dynamics, ('q', 'v', 'a', 'gravity')),
    'forward_dynamics': Function(forward_dynamics.forward_dynamics, ('q', 'v', 'tau', 'gravity')),
    'hybrid_dynamics': Function(
        hybrid_dynamics.hybrid_dynamics, ('q', 'v', 'a', 'tau', 'gravity'), ('prescribed',)
    ),
    'inverse_force': Function(force_kinematics.inverse_force, ('q',)),
    'drive_torques': Function(inverse_dynamics.drive_torques, ('q', 'v', 'a', 'gravity')),
    'payload_torques': Function(payload_torques, ('q', 'v', 'a', 'payload', 'gravity')),
    'mass_matrix': Function(mass_matrix, ('q',)),
    'gravity_torques': Function(inverse_dynamics.gravity_torques, ('q', 'gravity')),
    'coriolis_torques': Function(inverse_dynamics.coriolis_torques, ('q', 'v')),
    'friction_torques': Function(inverse_dynamics.friction_torques, ('v',)),
    'joint_wrenches': Function(joint_wrenches.joint_wrenches, ('q', 'v', 'a', 'gravity')),
    'reaction_wrenches': Function(joint_wrenches.reaction_wrenches, ('q', 'v', 'a', 'gravity')),
    'coriolis_matrix': Function(coriolis.coriolis_matrix, ('q', 'v')),
    'inverse_dynamics_derivatives': Function(
        derivatives.inverse_dynamics_derivatives, ('q', 'v', 'a', 'gravity')
    ),
    'inverse_dynamics_rates': Function(
        force_rates.inverse_dynamics_rates, ('q', 'v', 'a', 'jerk', 'jounce', 'gravity')
    ),
    'forward_dynamics_derivatives': Function(
        derivatives.forward_dynamics_derivatives, ('q', 'v', 'tau', 'gravity')
    ),
    'inverse_mass_matrix': Function(derivatives.inverse_mass_matrix, ('q',)),
    'potential_energy': Function(energy.potential_energy, ('q', 'gravity')),
    'kinetic_energy': Function(energy.kinetic_energy, ('q', 'v')),
    'center_of_mass': Function(energy.center_of_mass, ('q',)),
    'center_of_mass_velocity': Function(momentum.center_of_mass_velocity, ('q', 'v')),
    'total_momentum': Function(momentum.total_momentum, ('q', 'v')),
    'centroidal_momentum': Function(momentum.centroidal_momentum, ('q', 'v')),
    'centroidal_map': Function(momentum.centroidal_map, ('q',)),
    'regressor': Function(regressor.regressor, ('q', 'v', 'a', 'gravity')),
    'moved': Function(reconstruction.moved, ('q', 'displacement'), ('increments',)),
    'increment_rate': Function(
        reconstruction.increment_rate, ('q', 'displacement', 'v'), ('increments',)
    ),
    'spatial_momenta': Function(spatial_momentum.spatial_momenta, ('q', 'v')),
    'spatial_momentum_dynamics': Function(
        spatial_momentum.spatial_momentum_dynamics, ('q', 'momenta', 'tau', 'gravity')
    ),
}


def as_tuple(outputs: Array | tuple[Array, ...]) -> tuple[Array, ...]:
    """Return what `evaluate` returned as a tuple."""
    return outputs if isinstance(outputs, tuple) else (outputs,)


def input_size(tree: Tree, name: str) -> int:
    """Return the number of elements of one of `INPUTS`."""
    sizes = {'q': tree.nq, 'payload': len(PARAMETERS) * len(tree.bodies), 'gravity': 3}
    return sizes.get(name, tree.nv)


def find(tree: Tree, output: Output) -> tuple[Function, tuple[str, ...]]:
    """Return the function and the options of `output`; raises `UnknownNameError`."""
    name, *options = (output,) if isinstance(output, str) else tuple(output)
    function = FUNCTIONS.get(name)
    if function is None:
        raise UnknownNameError(f'no function named {name!r}; choose one of {", ".join(FUNCTIONS)}')
    if len(options) != len(function.options):
        wanted = ', '.join((repr(name), *function.options))
        raise UnknownNameError(f'{output!r} does not name an output; write ({wanted})')
    for kind, option in zip(function.options, options):
        if kind == 'link':
            tree.frame(option)
        elif kind == 'orientation':
            analytical.check_orientation(option)
        elif kind == 'prescribed':
            hybrid_dynamics.check_marks(tree, option)
        else:
            jacobians.check_representation(option)
    return function, tuple(options)
