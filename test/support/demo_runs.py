# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Made-up recordings of the demo: what a perfect run gives, and runs with something wrong."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.cli.demo.recording import DemoRecording, Push
from screw_dynamics_ros.core import Robot
from support.robots import BUNDLED

PANDA = BUNDLED / 'panda.urdf'
TOOL = 'panda_hand_tcp'
PUSH = Push((8.0, -5.0, 12.0), start=2.0, end=6.0)
PERIOD = 0.02  # s between the joint states of made-up recordings
DELAYS = {
    'joint_states': 0.0002,
    'jacobian': 0.0010,
    'tf': 0.0005,
    'gravity': 0.0006,
    'coriolis': 0.0007,
    'feedforward': 0.0008,
    'wrench': 0.0012,
}  # s from stamp to arrival

Edit = Callable[[str, int, np.ndarray], 'np.ndarray | None']


def chain_of(robot: Robot) -> list[tuple[str, tuple[float, ...] | None]]:
    """Return the joints from the root to the tool, with the numbers of those that are fixed."""
    joints = {joint.child: joint for joint in robot.description.joints}
    chain: list[tuple[str, tuple[float, ...] | None]] = []
    link = TOOL
    while link in joints:
        joint = joints[link]
        fixed = tuple(pose_numbers(joint.origin)) if joint.type == 'fixed' else None
        chain.insert(0, (joint.name, fixed))
        link = joint.parent
    return chain


def pose_numbers(pose: np.ndarray) -> np.ndarray:
    """Return (x, y, z, qx, qy, qz, qw) of a (4, 4) pose."""
    return np.concatenate([pose[:3, 3], Rotation.from_matrix(pose[:3, :3].copy()).as_quat()])


def make_recording(
    robot: Robot, duration: float = 8.0, edit: Edit = lambda name, k, values: values
) -> DemoRecording:
    """Return what a perfect run of an arm that moves steadily gives; `edit` spoils messages."""
    chain = chain_of(robot)
    recording = DemoRecording(
        robot.joint_names, 'panda_link0', TOOL, [n for _, n in chain], start=1_000_000_000
    )
    kernel = robot.fuse(
        'gravity_torques', 'coriolis_torques', ('jacobian', TOOL, 'body'), 'joint_transforms'
    )
    rows = [robot.transform_joints.index(name) for name, fixed in chain if fixed is None]
    v = np.full(robot.nv, 0.05)
    for k in range(round(duration / PERIOD)):
        seconds = k * PERIOD
        q = np.array([0.1, -0.4, 0.2, -2.2, 0.1, 1.9, 0.8, 0.02]) + v * seconds
        gravity, coriolis, jacobian, transforms = kernel(
            *({'q': q, 'v': v, 'gravity': robot.gravity}[name] for name in kernel.inputs)
        )
        force = float(PUSH.strength(seconds)) * np.array(PUSH.force)
        wrench = np.concatenate([force, np.zeros(3)])
        effort = gravity + coriolis - jacobian.T @ np.roll(wrench, 3)
        messages = {
            'joint_states': np.concatenate([q, v, effort]),
            'gravity': gravity,
            'coriolis': coriolis,
            'feedforward': gravity + coriolis,
            'wrench': wrench,
            'jacobian': jacobian.ravel(),
            'tf': transforms[rows].ravel(),
            'applied': force,
            'external': jacobian.T @ np.roll(wrench, 3),
        }
        stamp = recording.start + round(seconds * 1e9)
        for name, values in messages.items():
            edited = edit(name, k, values)
            if edited is not None:
                recording.series[name].add(
                    stamp + round(DELAYS.get(name, 0.0) * 1e9), (stamp, edited.tolist())
                )
    return recording
