"""Node `wrench_estimator`: external torques and contact wrenches from joint efforts."""

from screw_dynamics_ros.nodes.hosting.node_process import run
from screw_dynamics_ros.nodes.known_parameters import is_known
from screw_dynamics_ros.nodes.outputs.external_wrenches.wrench_outputs import WrenchEstimator


def main() -> None:
    """Run the node."""
    run('wrench_estimator', [WrenchEstimator], is_known)


if __name__ == '__main__':
    main()
