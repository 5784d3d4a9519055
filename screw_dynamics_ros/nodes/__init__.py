"""The nodes: parameters, publishers and callbacks around the core."""

from screw_dynamics_ros.entry import end_node_at_once, module_to_run

if module_to_run(__name__):
    end_node_at_once()
