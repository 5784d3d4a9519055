"""Node `wrist_sensor`: a force-torque sensor without the weight and inertia of the tool."""

from screw_dynamics_ros.nodes.force_torque.wrist_sensor_outputs import WristSensor
from screw_dynamics_ros.nodes.hosting.node_process import run
from screw_dynamics_ros.nodes.known_parameters import is_known


def main() -> None:
    """Run the node."""
    run('wrist_sensor', [WristSensor], is_known)


if __name__ == '__main__':
    main()
