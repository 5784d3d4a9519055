# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The condition of a subcomponent, for diagnostics."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from .names import escaped


class Level(IntEnum):
    """Levels of diagnostic_msgs/DiagnosticStatus."""

    OK = 0
    WARN = 1
    ERROR = 2


@dataclass
class Status:
    """Condition of one subcomponent: the worst reported level, all texts, and key-value pairs."""

    name: str
    level: Level = Level.OK
    texts: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)

    def report(self, level: Level, text: str) -> None:
        """Add a finding; findings of the worst level come first in the summary."""
        if level > self.level:
            self.texts.insert(0, text)
            self.level = level
        else:
            self.texts.append(text)

    def warn(self, text: str) -> None:
        """Add a finding of level WARN."""
        self.report(Level.WARN, text)

    def error(self, text: str) -> None:
        """Add a finding of level ERROR."""
        self.report(Level.ERROR, text)

    @property
    def summary(self) -> str:
        """All texts in one line, without control characters."""
        return escaped('; '.join(self.texts) or 'ok')
