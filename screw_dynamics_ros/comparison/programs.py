# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The programs that a robot can be compared with, and what comes of it for one of them."""

from __future__ import annotations

from collections.abc import Callable

from ..core.description import RobotDescription
from ..core.errors import UnknownNameError, UnsupportedRobotError
from .explanation import compare
from .kdl_peer import KDLPeer
from .mujoco_peer import MuJoCoPeer
from .peer import ModelSource, Peer, RefusalError
from .pinocchio_peer import PinocchioPeer
from .quantities import random_states
from .report import ProgramOutcome

PROGRAMS: dict[str, Callable[[ModelSource], Peer]] = {
    'mujoco': MuJoCoPeer,
    'pinocchio': PinocchioPeer,
    'kdl': KDLPeer,
}
NAMES = {'mujoco': MuJoCoPeer.name, 'pinocchio': PinocchioPeer.name, 'kdl': KDLPeer.name}

TOLERANCE = 1e-6  # relative difference below which models agree, by default
STATES = 20  # random states, likewise


def outcome(
    name: str, source: ModelSource, states: int, seed: int, tolerance: float, backend: str = 'auto'
) -> ProgramOutcome:
    """Return the comparison with one of `PROGRAMS`, or the reason why there is none.

    Parameters
    ----------
    name : str
    source : ModelSource
    states, seed : int
        Number and seed of the random states.
    tolerance : float
        Relative difference below which models agree.
    backend : str
        Of our functions.
    """
    try:
        peer = PROGRAMS[name](source)
    except RefusalError as error:
        return ProgramOutcome(NAMES[name], refusal=str(error))
    random = random_states(peer.ours, states, seed, source.gravity)
    compared = compare(peer, random, tolerance, backend)
    return ProgramOutcome(peer.name, peer.version, compared, peer.notes)


def check(description: RobotDescription, tip: str) -> None:
    """Refuse robots that cannot be compared, and a tip that is no link.

    Raises
    ------
    UnsupportedRobotError, UnknownNameError
    """
    for joint in description.joints:
        if not joint.kind.in_urdf:
            raise UnsupportedRobotError(
                f'joint {joint.name} is {joint.type}, which the programs do not read from a URDF: '
                'make it fixed to compare the rest'
            )
        if joint.kind.nv > 1:
            raise UnsupportedRobotError(
                f'joint {joint.name} is {joint.type}; the programs have different coordinates for '
                'such joints: make it fixed to compare the rest'
            )
    if not any(joint.kind.is_scalar for joint in description.joints):
        raise UnsupportedRobotError('no joint of this robot moves: there is nothing to compare')
    links = [link.name for link in description.links]
    if tip and tip not in links:
        raise UnknownNameError(f'tip: there is no link {tip}; links: {", ".join(links)}')
