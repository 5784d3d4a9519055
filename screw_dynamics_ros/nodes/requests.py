"""What requests of all typed services have in common: a state of the robot, and frames by name."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core import Robot, UnknownNameError
from screw_dynamics_ros.nodes.model import Model
from screw_dynamics_ros.ros.names import shorten
from screw_dynamics_ros.ros.requested_state import latest, read_requested_state

Array = NDArray[np.float64]


@dataclass(frozen=True)
class State:
    """A state of the whole robot, as its functions take it.

    Attributes
    ----------
    q : (nq,) array
    v, a, tau : (nv,) arrays
    stamp : int
        Of the measured state it was completed with [ns]; 0 if it was given entirely.
    """

    q: Array
    v: Array
    a: Array
    tau: Array
    stamp: int


def requested_state(
    model: Model,
    message: Any,
    fields: Collection[str] = ('position',),
    acceleration: Sequence[float] = (),
) -> State:
    """Return the state a sensor_msgs/JointState of a request describes.

    Arguments and errors as of `read_requested_state`; planar and floating joints, which cannot be
    named, are at zero.
    """
    known = {joint.name for joint in model.robot.description.joints} - set(model.held)
    state = read_requested_state(
        message,
        model.joints,
        known=known,
        measured=latest(model.mapper),
        fields=fields,
        acceleration=acceleration,
    )
    return State(
        model.whole_q(state.q),
        model.whole_v(state.v),
        model.whole_v(state.a),
        model.whole_v(state.tau),
        state.stamp,
    )


def find_link(robot: Robot, frame: str, prefix: str, field: str) -> str:
    """Return the link with the frame name `frame`, with `prefix` in front or without.

    Raises `UnknownNameError`, which names the field of the request.
    """
    for link in (frame[len(prefix) :] if frame.startswith(prefix) else '', frame):
        if link in robot.link_names:
            return link
    raise UnknownNameError(
        f'{field}: robot {robot.description.name} has no link {frame!r}; it has '
        f'{shorten(robot.link_names, 30)}'
    )
