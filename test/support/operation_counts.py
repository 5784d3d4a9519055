# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""How often an operation is applied while a recursion is recorded."""

from __future__ import annotations

import pytest


class Counter:
    """Counts the different operands an operation is applied to; recording shares the
    repetitions.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, place: object, name: str) -> None:
        self.operands: dict[tuple[int, ...], tuple[object, ...]] = {}
        original = getattr(place, name)

        def counted(*arguments: object) -> object:
            self.operands[tuple(map(id, arguments))] = (
                arguments  # kept, so that no id is used twice
            )
            return original(*arguments)

        monkeypatch.setattr(place, name, counted)

    def __len__(self) -> int:
        return len(self.operands)
