"""Command lines of tools that are no nodes."""

from __future__ import annotations

from collections.abc import Sequence


def own_arguments(arguments: Sequence[str]) -> list[str]:
    """Return what stands before --ros-args: the rest, which a launch file appends, is for nodes."""
    own = list(arguments)
    return own[:own.index('--ros-args')] if '--ros-args' in own else own
