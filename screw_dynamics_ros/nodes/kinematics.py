"""Node `kinematics`: frames, Jacobians, twists, singularities and markers of a robot."""

from screw_dynamics_ros.nodes.hosting.node_process import run
from screw_dynamics_ros.nodes.known_parameters import is_known
from screw_dynamics_ros.nodes.outputs.kinematics.kinematics_outputs import Kinematics


def main() -> None:
    """Run the node."""
    run('kinematics', [Kinematics], is_known)


if __name__ == '__main__':
    main()
