# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Programs that a robot is compared with, and robots that they read differently."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from screw_dynamics_ros.comparison.explanation import Comparison, compare
from screw_dynamics_ros.comparison.kdl_peer import KDLPeer
from screw_dynamics_ros.comparison.mujoco_peer import MuJoCoPeer
from screw_dynamics_ros.comparison.peer import ModelSource, Peer
from screw_dynamics_ros.comparison.pinocchio_peer import PinocchioPeer
from screw_dynamics_ros.comparison.quantities import random_states
from screw_dynamics_ros.comparison.reading import DescriptionReading
from screw_dynamics_ros.core.description import RobotDescription, read_urdf
from support.robots import joint, links, robot

GRAVITY = np.array([0.3, -0.2, -9.0])
SOUND = '4.0'  # MuJoCo; before, it lost rotations of inertials and fixed joints
PEERS = {'mujoco': MuJoCoPeer, 'pinocchio': PinocchioPeer, 'PyKDL': KDLPeer}
EACH_PEER = pytest.mark.parametrize('module', PEERS)


def peer_of(module: str, text: str, description: RobotDescription, **options: Any) -> Peer:
    """Return a program that reads a text, or skip the test if there is none that reads it right."""
    pytest.importorskip(module, SOUND if module == 'mujoco' else None)
    theirs = read_urdf(text, inertia_check='ignore')
    return PEERS[module](ModelSource(text, description, theirs, GRAVITY, **options))


def compared(
    peer: Peer, tolerance: float = 1e-6, armatures: Mapping[str, float] | None = None
) -> Comparison:
    """Return the comparison in two random states."""
    states = random_states(DescriptionReading(peer.subject, armatures or {}), 2, 1, GRAVITY)
    return compare(peer, states, tolerance)


def tool_robot(inertial: str = 'rpy="0.4 -0.2 0.3"', fixed: str = 'rpy="0.5 0.6 0.7"') -> str:
    """Return an arm with a tool on a fixed joint with rotation, the case of mujoco#2982."""

    def body(name: str, mass: float, turn: str) -> str:
        return (
            f'<link name="{name}"><inertial><origin xyz="0.1 0.2 0.05" {turn}/>'
            f'<mass value="{mass}"/><inertia ixx="0.03" ixy="0.001" ixz="0" iyy="0.02" '
            'iyz="0.002" izz="0.025"/></inertial></link>'
        )

    return robot(
        links('base'),
        body('arm', 1.0, ''),
        body('tool', 2.0, inertial),
        body('slide', 0.5, ''),
        joint(
            'elbow', 'base', 'arm', '<axis xyz="0 1 1"/><origin rpy="0.3 0.2 0.1"/>', 'continuous'
        ),
        joint('mount', 'arm', 'tool', f'<origin xyz="0.5 0 0.1" {fixed}/>', 'fixed'),
        joint(
            'push',
            'tool',
            'slide',
            '<axis xyz="0 0 1"/><origin xyz="0 0.1 0"/>'
            '<limit lower="-0.1" upper="0.2" effort="10" velocity="1"/>',
            'prismatic',
        ),
    )


def with_camera(text: str) -> str:
    """Return an arm with a frame on its tool, and a camera on that."""
    camera = (
        '<link name="frame"/><link name="camera"><inertial><mass value="0.4"/>'
        '<origin xyz="0 0.1 0" rpy="0.5 0 0"/><inertia ixx="0.001" ixy="0" ixz="0" iyy="0.002" '
        'iyz="0" izz="0.0015"/></inertial></link>'
    )
    for name, parent, child in (('a', 'tool', 'frame'), ('b', 'frame', 'camera')):
        camera += joint(name, parent, child, '<origin xyz="0 0 0.1" rpy="0 0.4 0"/>', 'fixed')
    return text.replace('</robot>', f'{camera}</robot>')
