"""Node `bringup`: any of the other nodes in one process, on one subscription and one kernel."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node

from screw_dynamics_ros.nodes.force_torque.wrist_sensor_outputs import WristSensor
from screw_dynamics_ros.nodes.hosting.host import ModelHost
from screw_dynamics_ros.nodes.hosting.node_process import OutputGroupFactory, Process, run_nodes
from screw_dynamics_ros.nodes.known_parameters import is_known
from screw_dynamics_ros.nodes.outputs.dynamics.dynamics_outputs import Dynamics
from screw_dynamics_ros.nodes.outputs.external_wrenches.wrench_outputs import WrenchEstimator
from screw_dynamics_ros.nodes.outputs.kinematics.kinematics_outputs import Kinematics
from screw_dynamics_ros.nodes.parameters import hosted_nodes
from screw_dynamics_ros.nodes.simulation.simulator import Simulator
from screw_dynamics_ros.ros.parameters import Parameters

MODEL_NODES: dict[str, OutputGroupFactory] = {
    'kinematics': Kinematics,
    'dynamics': Dynamics,
    'wrench_estimator': WrenchEstimator,
    'wrist_sensor': WristSensor,
}
OTHERS: dict[str, Callable[[Node], object]] = {'simulator': Simulator}


def make_nodes() -> Process:
    """Return `bringup` and the nodes it hosts.

    `bringup` owns the subscriptions and the shared parameters; each hosted node has its topics,
    services and own parameters under its own name, as if it ran by itself.
    """
    bringup = Node('bringup')
    host = ModelHost(bringup)
    nodes = [bringup]
    for name in Parameters(bringup, hosted_nodes.TABLE)['nodes']:
        # A name given to the process (__node:=...) is that of bringup only.
        node = Node(name, cli_args=['--ros-args', '-r', f'__node:={name}'])
        nodes.append(node)
        if name in MODEL_NODES:
            host.add(MODEL_NODES[name](node, host), node)
        else:
            OTHERS[name](node)
    host.start()
    return Process(nodes, host.parameters['executor'], host.services.nodes, host.endings)


def main() -> None:
    """Run the node."""
    run_nodes(make_nodes, is_known)


if __name__ == '__main__':
    main()
