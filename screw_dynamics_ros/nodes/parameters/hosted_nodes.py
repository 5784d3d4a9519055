"""The parameter `nodes`: which nodes `bringup` hosts."""

from screw_dynamics_ros.ros.parameters import Specification

#: Nodes that follow joint states, hosted unless others are named.
MODEL_NODES = ('kinematics', 'dynamics', 'wrench_estimator')

TABLE = (
    Specification(
        'nodes',
        list(MODEL_NODES),
        'The nodes to host.',
        choices=(*MODEL_NODES, 'wrist_sensor', 'simulator'),
        read_only=True,
    ),
)
