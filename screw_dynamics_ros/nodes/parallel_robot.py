"""Node `parallel_robot`: pose, twist and leg forces of a platform on legs."""

from rclpy.node import Node

from screw_dynamics_ros.nodes.hosting.node_process import Process, run_nodes
from screw_dynamics_ros.nodes.known_parameters import is_known
from screw_dynamics_ros.nodes.parallel.platform_node import PlatformNode


def make() -> Process:
    """Return the node."""
    node = Node('parallel_robot')
    return Process([node], PlatformNode(node).parameters['executor'])


def main() -> None:
    """Run the node."""
    run_nodes(make, is_known)


if __name__ == '__main__':
    main()
