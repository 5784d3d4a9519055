# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Markers of the node `kinematics`: joint axes, twists, ellipsoids, masses.

Each marker is in the frame of its link, so that it moves with the robot through /tf.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.arms.inverse.manipulability import velocity_ellipsoid
from screw_dynamics_ros.core.description.body_inertia import equivalent_ellipsoid, sphere_radius
from screw_dynamics_ros.core.description.robot_description import Joint
from screw_dynamics_ros.core.lie.screws import screw_axis
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.hosting.drawing import DrawnNumbers
from screw_dynamics_ros.ros.messages.conversions import quaternion
from screw_dynamics_ros.ros.messages.markers import MarkerShape, draw_ellipsoid, draw_line
from screw_dynamics_ros.ros.parameters import Parameters, Specification

from ..marker_topic import MarkerPlan, MarkerShapes, color, scale, screw

ELLIPSOIDS = ('velocity_ellipsoids', 'force_ellipsoids')
KINDS = ('joint_axes', 'twists', *ELLIPSOIDS)
MASSES = ('inertias', 'centers_of_mass')  # not drawn by default
NO_ROTATION = np.array([0.0, 0.0, 0.0, 1.0])  # x, y, z, w

TABLE = (
    Specification(
        'markers',
        list(KINDS),
        'Contents of ~/markers. inertias: for each link the homogeneous ellipsoid with its mass '
        'and inertia; centers_of_mass: those of each link and of the robot, spheres with the '
        'volume of the mass in steel; both of the description, without payload.',
        choices=(*KINDS, *MASSES),
    ),
    scale('axis_length', 'the axes of joints and twists', 'm', 0.3),
    scale('linear_velocity_scale', 'the arrow of 1 m/s', 'm', 0.5),
    scale('angular_velocity_scale', 'the arrow of 1 rad/s', 'm', 0.2),
    scale('velocity_ellipsoid_scale', 'a semi-axis of 1 m/s for joint rates of norm 1', 'm', 0.2),
    scale('force_ellipsoid_scale', 'a semi-axis of 1 N for joint torques of norm 1', 'm', 0.05),
    Specification(
        'ellipsoid_limit',
        0.5,
        'Longest semi-axis of an ellipsoid in ~/markers [m]; force ellipsoids are unbounded in '
        'singular configurations.',
        minimum=0.0,
    ),
    color('joint_axis_color', 'joint axes', (0.2, 0.6, 1.0, 0.8)),
    color('linear_velocity_color', 'linear velocities', (0.2, 0.8, 0.2, 1.0)),
    color('angular_velocity_color', 'angular velocities', (0.9, 0.6, 0.1, 1.0)),
    color('screw_axis_color', 'screw axes of twists', (0.7, 0.7, 0.7, 0.6)),
    color('velocity_ellipsoid_color', 'velocity ellipsoids', (0.2, 0.8, 0.2, 0.3)),
    color('force_ellipsoid_color', 'force ellipsoids', (0.8, 0.2, 0.2, 0.3)),
    color('inertia_color', 'inertias', (0.6, 0.4, 0.9, 0.4)),
    color('center_of_mass_color', 'centers of mass', (0.9, 0.8, 0.1, 0.9)),
)


def joint_axes(robot: Robot, prefix: str, parameters: Parameters) -> list[MarkerPlan]:
    """Return an arrow along the axis of each joint, fixed in the child link."""
    length, width = parameters['axis_length'], parameters['marker_width']

    def picture(joint: Joint) -> MarkerPlan:
        shape = MarkerShape(
            'arrow', 'joint_axes', prefix + joint.child, parameters['joint_axis_color'], width
        )
        return MarkerPlan(MarkerShapes((shape,), partial(draw_axis, 0.5 * length * joint.axis)))

    return [picture(joint) for joint in robot.description.joints if joint.kind.is_scalar]


def draw_axis(half: Array, numbers: Sequence[Array]) -> None:
    """Write the axis of a joint through the origin, with half its length as vector (3,)."""
    draw_line(numbers[0], np.zeros(3), half)


def masses(
    robot: Robot, prefix: str, parameters: Parameters, kinds: Sequence[str]
) -> list[MarkerPlan]:
    """Return those of `MASSES` in `kinds` for each link with mass, fixed in the link."""
    plans = []
    for link in robot.description.links:
        body = link.inertia
        if body is None or not body.mass:
            continue
        semi_axes, axes = equivalent_ellipsoid(body)
        for kind in kinds:
            if kind == 'inertias':
                draw, color_of = partial(draw_body, quaternion(axes), semi_axes), 'inertia_color'
            else:
                draw, color_of = sphere(body.mass), 'center_of_mass_color'
            shape = MarkerShape('ellipsoid', kind, prefix + link.name, parameters[color_of])
            plans.append(MarkerPlan(MarkerShapes((shape,), partial(draw, center=body.com))))
    return plans


def center_of_mass(
    frame_id: str, mass: float, parameters: Parameters, center: DrawnNumbers
) -> MarkerPlan:
    """Return a sphere at the center of mass of a robot, the first three numbers of `center` [m]."""
    color_of = parameters['center_of_mass_color']
    shape = MarkerShape('ellipsoid', 'center_of_mass', frame_id, color_of)
    return MarkerPlan(MarkerShapes((shape,), sphere(mass)), (center,))


def sphere(mass: float) -> partial[None]:
    """Return `draw_body` of a sphere of steel."""
    return partial(draw_body, NO_ROTATION, np.full(3, sphere_radius(mass)))


def draw_body(
    orientation: Array, semi_axes: Array, numbers: Sequence[Array], center: Array
) -> None:
    """Write an ellipsoid at the first three numbers of `center`."""
    draw_ellipsoid(numbers[0], orientation, semi_axes, center[:3])


def twist(frame_id: str, parameters: Parameters, velocity: DrawnNumbers) -> MarkerPlan:
    """Return arrows of both velocities of a link from its origin, and a line for its screw axis.

    `velocity` is its body twist (6,), angular part first.
    """
    scales = parameters['linear_velocity_scale'], parameters['angular_velocity_scale']
    length, width = parameters['axis_length'], parameters['marker_width']
    colors = [
        parameters[f'{what}_color']
        for what in ('linear_velocity', 'angular_velocity', 'screw_axis')
    ]
    shapes = (
        MarkerShape('arrow', 'linear_velocities', frame_id, colors[0], width),
        MarkerShape('arrow', 'angular_velocities', frame_id, colors[1], width),
        MarkerShape('line', 'screw_axes', frame_id, colors[2], 0.5 * width),
    )
    return MarkerPlan(screw(shapes, screw_axis, scales, length), (velocity,))


def ellipsoids(
    frame_id: str,
    parameters: Parameters,
    kinds: Sequence[str],
    jacobian: DrawnNumbers,
    joint_metric: DrawnNumbers | None,
) -> MarkerPlan:
    """Return the velocity and force ellipsoids that `kinds` names.

    `jacobian` is the body Jacobian (6, n), `joint_metric` (n, n). The force ellipsoid has the
    same axes and the inverse semi-axes.
    """
    scales = [parameters[f'{kind[:-1]}_scale'] for kind in kinds]
    shapes = [
        MarkerShape('ellipsoid', kind, frame_id, parameters[f'{kind[:-1]}_color']) for kind in kinds
    ]
    draw = partial(draw_ellipsoids, tuple(kinds), scales, parameters['ellipsoid_limit'])
    return MarkerPlan(
        MarkerShapes(tuple(shapes), draw), (jacobian, *([joint_metric] if joint_metric else []))
    )


def draw_ellipsoids(
    kinds: Sequence[str],
    scales: Sequence[float],
    limit: float,
    numbers: Sequence[Array],
    jacobian: Array,
    joint_metric: Array | None = None,
) -> None:
    """Write the numbers of `ellipsoids`, no semi-axis longer than `limit` [m]."""
    axes, semi_axes = velocity_ellipsoid(jacobian, joint_metric)
    orientation = quaternion(axes)
    for target, kind, scale_of_kind in zip(numbers, kinds, scales):
        size = semi_axes if kind == 'velocity_ellipsoids' else 1.0 / semi_axes
        draw_ellipsoid(target, orientation, np.minimum(scale_of_kind * size, limit))
