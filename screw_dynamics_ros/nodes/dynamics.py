"""Node `dynamics`: joint torques, mass matrix, constraint wrenches and more of a robot."""

from screw_dynamics_ros.nodes.hosting.node_process import run
from screw_dynamics_ros.nodes.known_parameters import is_known
from screw_dynamics_ros.nodes.outputs.dynamics.dynamics_outputs import Dynamics


def main() -> None:
    """Run the node."""
    run('dynamics', [Dynamics], is_known)


if __name__ == '__main__':
    main()
