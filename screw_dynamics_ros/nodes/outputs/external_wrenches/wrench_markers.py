# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Markers of the node `wrench_estimator`: force, moment and axis of each contact wrench."""

from __future__ import annotations

from screw_dynamics_ros.core.lie.screws import wrench_axis
from screw_dynamics_ros.nodes.hosting.drawing import DrawnNumbers
from screw_dynamics_ros.ros.messages.markers import MarkerShape
from screw_dynamics_ros.ros.parameters import Parameters

from ..marker_topic import MarkerPlan, color, scale, screw

TABLE = (
    scale('axis_length', 'the axes of wrenches', 'm', 0.3),
    scale('force_scale', 'the arrow of 1 N', 'm', 0.02),
    scale('moment_scale', 'the arrow of 1 N m', 'm', 0.1),
    color('force_color', 'forces', (0.8, 0.2, 0.2, 1.0)),
    color('moment_color', 'moments', (0.8, 0.8, 0.2, 1.0)),
    color('screw_axis_color', 'the axes of wrenches', (0.7, 0.7, 0.7, 0.6)),
)


def wrench(frame_id: str, parameters: Parameters, values: DrawnNumbers) -> MarkerPlan:
    """Return arrows of force and moment from the origin of a link, and a line for the wrench axis.

    `values` is the wrench in the link frame (6,), moment first.
    """
    width = parameters['marker_width']
    shapes = (
        MarkerShape('arrow', 'forces', frame_id, parameters['force_color'], width),
        MarkerShape('arrow', 'moments', frame_id, parameters['moment_color'], width),
        MarkerShape('line', 'wrench_axes', frame_id, parameters['screw_axis_color'], 0.5 * width),
    )
    scales = parameters['force_scale'], parameters['moment_scale']
    drawing = screw(shapes, wrench_axis, scales, parameters['axis_length'])
    return MarkerPlan(drawing, (values,))
