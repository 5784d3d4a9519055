# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Messages of `~/model_state` for recordings, without ROS."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..core.types import Array
from .model_state import ModelStateLayout, located
from .recordings.forms import (
    MODEL_STATE,
    MODEL_STATE_LAYOUT,
    MODEL_STATE_PART,
    Form,
    column,
    header,
    make,
    type_store,
)
from .recordings.outputs import Stack


def layout_message(layout: ModelStateLayout, stamp: int) -> bytes:
    """Return the serialized screw_dynamics_msgs/ModelStateLayout with a stamp [ns]."""
    parts = [make(MODEL_STATE_PART, **part.fields) for part in layout.parts]
    message = make(
        MODEL_STATE_LAYOUT,
        header=header(stamp, layout.root),
        id=layout.id,
        robot=layout.robot,
        size=layout.size,
        parts=parts,
    )
    return bytes(type_store().serialize_cdr(message, MODEL_STATE_LAYOUT))


class ModelStateForm(Form):
    """screw_dynamics_msgs/ModelState; numbers: flags (0 or 1) and ages of the parts, then data.

    Parameters
    ----------
    layout : ModelStateLayout
    """

    def __init__(self, layout: ModelStateLayout) -> None:
        count = self._parts = len(layout.parts)

        def build(stamp: int, numbers: Array) -> object:
            return make(
                MODEL_STATE,
                header=header(stamp, layout.root),
                layout_id=layout.id,
                valid=np.zeros(count, bool),
                age=numbers[:count],
                data=numbers[count:],
            )

        super().__init__(MODEL_STATE, build, count + layout.size)
        self._valid = located(self.data).valid

    def fill(self, rows: NDArray[np.uint8], start: int, stamps: Array, numbers: Array) -> None:
        """Write stamps, flags and numbers into messages; see `Form.fill`."""
        super().fill(rows, start, stamps, numbers[:, self._parts :])
        column(rows, start + self._valid, 'u1', self._parts)[:] = numbers[:, : self._parts]


class ModelStateStacks:
    """Model states of consecutive blocks of joint states.

    Parameters
    ----------
    topic : str
    layout : ModelStateLayout
    held : sequence of bool
        For each part, whether its last valid numbers stay valid until there are others, as those of
        quantities with a lower rate do.
    """

    def __init__(self, topic: str, layout: ModelStateLayout, held: Sequence[bool]) -> None:
        self.topic, self.layout, self.form = topic, layout, ModelStateForm(layout)
        self._held = held
        self._stamps: list[int | None] = [None] * len(layout.parts)
        self._numbers = [np.full(part.size, np.nan) for part in layout.parts]

    def stack(
        self, stamps: NDArray[np.int64], parts: Sequence[tuple[Array, NDArray[np.bool_]]]
    ) -> Stack:
        """Return the messages of the next block.

        Parameters
        ----------
        stamps : (k,) array
            Of the joint states [ns].
        parts : sequence of ((k, size) array, (k,) array)
            Numbers of each part, and in which states they are valid.
        """
        total, count = len(stamps), len(parts)
        numbers = np.full((total, self.form.count + count), np.nan)
        for k, (part, (values, valid)) in enumerate(zip(self.layout.parts, parts)):
            first = 2 * count + part.offset
            target = numbers[:, first : first + part.size]
            last = np.maximum.accumulate(np.where(valid, np.arange(total), -1))
            known, before = last >= 0, self._stamps[k]
            age = np.where(known, stamps - stamps[last], 0) * 1e-9
            age[~known] = np.inf if before is None else (stamps[~known] - before) * 1e-9
            numbers[:, count + k] = age
            shown = valid
            if self._held[k]:
                shown = known if before is None else np.ones(total, bool)
                target[~known] = self._numbers[k]
                target[known] = values[last[known]]
            else:
                target[valid] = values[valid]
            numbers[:, k] = shown
            if known.any():
                self._stamps[k] = int(stamps[last[-1]])
                self._numbers[k] = values[last[-1]].copy()
        return Stack(self.topic, self.form, numbers, np.ones(total, bool))
