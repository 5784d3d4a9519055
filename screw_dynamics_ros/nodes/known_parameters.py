"""All parameters of the nodes of this package, wherever they run."""

from screw_dynamics_ros.nodes.force_torque import parameters as force_torque
from screw_dynamics_ros.nodes.mechanism import parameters as mechanism
from screw_dynamics_ros.nodes.mobile_base import parameters as mobile_base
from screw_dynamics_ros.nodes.outputs.dynamics import (
    command_parameters,
    dynamics_outputs,
    reference_parameters,
)
from screw_dynamics_ros.nodes.outputs.external_wrenches import contact_localization, wrench_outputs
from screw_dynamics_ros.nodes.outputs.kinematics import kinematics_outputs
from screw_dynamics_ros.nodes.parallel import parameters as parallel
from screw_dynamics_ros.nodes.parameters import hosted_nodes, shared_parameters
from screw_dynamics_ros.nodes.simulation import fault_parameters, simulator, world_parameters
from screw_dynamics_ros.nodes.trajectory import parameters as trajectory
from screw_dynamics_ros.ros import diagnostics

#: The tables of parameters by what has them.
TABLES = {
    'bringup': hosted_nodes.TABLE,
    'every model node': shared_parameters.TABLE,
    'kinematics': kinematics_outputs.TABLE,
    'dynamics': (
        *dynamics_outputs.TABLE,
        *reference_parameters.TABLE,
        *command_parameters.TABLE,
    ),
    'wrench_estimator': (*wrench_outputs.TABLE, *contact_localization.TABLE),
    'wrist_sensor': force_torque.TABLE,
    'simulator': (*simulator.TABLE, *fault_parameters.TABLE),
    'mechanism_simulator': mechanism.TABLE,
    'odometry': mobile_base.TABLE,
    'parallel_robot': parallel.TABLE,
    'trajectory_proxy': trajectory.TABLE,
    'diagnostics': diagnostics.TABLE,
}


def is_known(parameter: str) -> bool:
    """Whether some node of the package, in this process or not, has a parameter.

    Those of drives have the names of joints in them, those of planes, contact points and springs
    their names; the node that has them checks them.
    """
    names = {specification.name for table in TABLES.values() for specification in table}
    return (
        parameter in names
        or parameter.startswith('drives.')
        or world_parameters.is_known(parameter)
    )
