"""Node `trajectory_proxy`: trajectories with efforts, within the limits, for a controller."""

from rclpy.node import Node

from screw_dynamics_ros.nodes.hosting.host import ModelHost
from screw_dynamics_ros.nodes.hosting.node_process import Process, run_nodes
from screw_dynamics_ros.nodes.known_parameters import is_known
from screw_dynamics_ros.nodes.trajectory.trajectory_proxy import TrajectoryProxy


def make() -> Process:
    """Return the node, and that of its actions."""
    node = Node('trajectory_proxy')
    host = ModelHost(node)
    proxy = TrajectoryProxy(node, host)
    host.add(proxy, node)
    host.start()
    slow = [*host.services.nodes, *proxy.nodes]
    return Process([node], host.parameters['executor'], slow, host.endings)


def main() -> None:
    """Run the node."""
    run_nodes(make, is_known)


if __name__ == '__main__':
    main()
