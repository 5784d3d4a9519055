"""Command line tools."""

from screw_dynamics_ros.entry import end_tool_at_once, module_to_run

if _tool := module_to_run(__name__):
    end_tool_at_once(_tool)
