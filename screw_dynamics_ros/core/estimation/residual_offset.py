# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The offset of external torques from state to state, for nodes and for recorded motions."""

from __future__ import annotations

from ..compile.typed.functions import Floats, typed
from ..compile.typed.records import Record
from .residual_model import ResidualModel, add_model, advance_model


class ResidualOffset(Record):
    """A constant offset, and the residual of the current state.

    Attributes
    ----------
    model : ResidualModel or None
        The active model.
    constant, offset : (n,) arrays
        Added to the residual, and the sum, an input of the program [N m, N].
    """

    model: ResidualModel | None
    constant: Floats
    offset: Floats


@typed
def advance_offset(o: ResidualOffset, state: Floats, elapsed: int) -> None:
    """Advance to a state (3 n,), see `ResidualModel.advance`."""
    m = o.model
    if m is not None:
        advance_model(m, state, elapsed)
    set_offset(o, state)


@typed
def set_offset(o: ResidualOffset, q: Floats) -> None:
    """Set the offset for joint positions (n,) in the last state of the model."""
    for j in range(len(o.offset)):
        o.offset[j] = o.constant[j]
    if o.model is not None:
        add_model(o.model, q, o.offset)
