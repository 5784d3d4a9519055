"""Node `simulator`: a simulated robot driver."""

from rclpy.node import Node

from screw_dynamics_ros.nodes.hosting.node_process import Process, run_nodes
from screw_dynamics_ros.nodes.known_parameters import is_known
from screw_dynamics_ros.nodes.simulation.simulator import Simulator


def make() -> Process:
    """Return the node."""
    node = Node('simulator')
    return Process([node], Simulator(node).parameters['executor'])


def main() -> None:
    """Run the node."""
    run_nodes(make, is_known)


if __name__ == '__main__':
    main()
