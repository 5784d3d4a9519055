# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The simulated robot of a node, built from its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
from rclpy.node import Node

from screw_dynamics_ros.core import ArgumentError, DescriptionError, Robot, files
from screw_dynamics_ros.core.description.formats import read_robot_description
from screw_dynamics_ros.core.description.ros2_control import Gains
from screw_dynamics_ros.core.simulation import SimulatedRobot
from screw_dynamics_ros.core.simulation.joint_servo import JointServo
from screw_dynamics_ros.core.simulation.posture import ReferenceMotion
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.description import MAX_DESCRIPTION_LENGTH, urdf_text
from screw_dynamics_ros.ros.description_file import as_urdf
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.share import share_folder

from ..model.scalar_joints import ScalarJoints, scalar_joints
from ..parameters.drive_parameters import DriveParameters
from ..parameters.per_joint import PerJoint
from .joint_targets import JointTargets
from .plant import Motors
from .world_parameters import read_world

INITIAL = PerJoint('initial_joints', ('initial_positions',), may_be_empty=False, may_repeat=True)
IMPEDANCE = PerJoint(
    'impedance_joints', ('impedance_stiffness', 'impedance_damping'), may_be_empty=False
)
NORM_TOLERANCE = 1e-3  # of the norm of a quaternion written by hand


def description_text(parameters: Parameters) -> str:
    """Return the description as URDF; raises `DescriptionError` if it cannot be read."""
    if parameters['robot_description']:
        return as_urdf(urdf_text(parameters['robot_description'], 'parameter robot_description'))
    path = Path(parameters['urdf'] or share_folder() / 'urdf' / 'panda.urdf')
    try:
        return as_urdf(files.text_of(path, MAX_DESCRIPTION_LENGTH, 'URDF'), path)
    except ArgumentError as error:
        raise DescriptionError(f'parameter urdf: {path}: {error}') from None


def make_robot(node: Node, parameters: Parameters, text: str) -> Robot:
    """Return the model, with the drives of the parameters."""
    description = read_robot_description(text)
    drive_joints = parameters['drive_joints']
    drives = DriveParameters(node, drive_joints, read_only=True).on(description)
    with_drives = parameters['friction'] or bool(drive_joints)
    return Robot(
        description,
        floating_base=parameters['floating_base'],
        gravity=parameters['gravity'],
        backend=parameters['backend'],
        drives=drives if with_drives else None,
    )


def make_simulated(node: Node, parameters: Parameters, robot: Robot) -> SimulatedRobot:
    """Return the robot at its initial configuration, with its environment."""
    import scipy.interpolate  # slow: no tick is to wait for the first use
    import scipy.optimize  # noqa: F401

    world = read_world(node, parameters)
    return SimulatedRobot(
        robot,
        initial_configuration(robot, parameters),
        parameters['integrator'],
        planes=world.planes,
        contact_points=world.contact_points,
        springs=world.springs,
    )


def initial_configuration(robot: Robot, parameters: Parameters) -> Array:
    """Return the initial configuration (nq,).

    Raises `UnknownNameError` for unknown joints, `ArgumentError` for positions beyond limits and
    invalid poses.
    """
    INITIAL.check(parameters, scalar_joints(robot))
    q = robot.home()
    for name, position in INITIAL.of('initial_positions', parameters).items():
        q[robot.joint_coordinates(name)[0]] = position
        joint = robot.joint_names.index(name)
        lower, upper = robot.limits.lower[joint], robot.limits.upper[joint]
        if not lower <= position <= upper:
            raise ArgumentError(
                f'initial_positions: {position:g} of {name!r} is beyond its '
                f'limits, {lower:g} to {upper:g}'
            )
    pose = np.array(parameters['initial_base_pose'])
    norm = float(np.linalg.norm(pose[3:]))
    if abs(norm - 1.0) > NORM_TOLERANCE:
        raise ArgumentError(
            f'initial_base_pose: its quaternion {pose[3:].tolist()} has norm {norm:.6g}, not 1'
        )
    if robot.floating_base:
        q[:7] = *pose[:3], *(pose[3:] / norm)
    return q


def make_motors(
    robot: Robot, parameters: Parameters, described: Mapping[str, Gains] = MappingProxyType({})
) -> tuple[JointTargets, Motors]:
    """Return the targets of the joints and the motors that track them.

    Joints have impedance drives with the gains of the parameters, or those `described`. Raises
    `ArgumentError` and `UnknownNameError` for parameters that do not fit.
    """
    joints = ScalarJoints(robot)
    indices = np.array([robot.joint_names.index(name) for name in joints.joints], dtype=np.intp)
    lower, upper, velocity = (
        np.asarray(limit)[indices]
        for limit in (robot.limits.lower, robot.limits.upper, robot.limits.velocity)
    )
    IMPEDANCE.check(parameters, joints.joints)
    given = zip(*(IMPEDANCE.of(name, parameters).items() for name in IMPEDANCE.numbers))
    chosen = {**described, **{name: (kp, kd) for (name, kp), (_, kd) in given}}
    gains = np.array(
        [[chosen.get(name, (np.nan, np.nan))[k] for name in joints.joints] for k in range(2)]
    )
    targets = JointTargets(joints.joints, lower, upper, velocity, gains)

    def reference(q: Array) -> ReferenceMotion:
        return ReferenceMotion(
            q, lower, upper, parameters['motion_amplitude'], parameters['motion_period']
        )

    damping = parameters['servo_damping_ratio']
    return targets, Motors(
        joints,
        targets,
        JointServo(robot, parameters['servo_frequency'], damping),
        JointServo(robot, parameters['posture_frequency']),
        reference,
    )
