"""Node `odometry`: pose of a platform on wheels, and commands that it can follow."""

from rclpy.node import Node

from screw_dynamics_ros.nodes.hosting.node_process import Process, run_nodes
from screw_dynamics_ros.nodes.known_parameters import is_known
from screw_dynamics_ros.nodes.mobile_base.odometry_node import OdometryNode


def make() -> Process:
    """Return the node."""
    node = Node('odometry')
    return Process([node], OdometryNode(node).parameters['executor'])


def main() -> None:
    """Run the node."""
    run_nodes(make, is_known)


if __name__ == '__main__':
    main()
