# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Output files of `identify`: URDF and parameters of the nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import yaml

from screw_dynamics_ros.core.annotation.unloaded_residual import OBSERVER, UnloadedResidual
from screw_dynamics_ros.core.description.drives import DRIVE_FIELDS, Drive
from screw_dynamics_ros.core.description.friction import FRICTION
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.description.urdf_inertias import with_dynamics
from screw_dynamics_ros.core.identification import DynamicIdentification
from screw_dynamics_ros.core.identification.model_check import CHANGES
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.parameters.robot_parameters import HALF_WIDTHS

HEADER = """\
# Drives and efforts of {robot}, identified from recordings. Use it together with the identified
# URDF: ros2 launch screw_dynamics_ros bringup.launch.py params_file:=THIS_FILE
"""
DIGITS = 9

#: Parameters that each drive has.
USUAL = ('armature', 'smoothing', *(name for name, row in FRICTION.items() if row.is_common))


def identified_urdf(text: str, result: DynamicIdentification) -> str:
    """Return the URDF with identified inertias and friction, otherwise unchanged."""
    inertias = {
        link.name: link.inertia for link in result.description.links if link.inertia is not None
    }
    friction = {
        joint.name: (joint.damping, joint.friction)
        for joint in result.description.joints
        if joint.name in result.drives or joint.mimic is not None
    }
    return with_dynamics(text, inertias, friction)


def parameter_file(
    result: DynamicIdentification,
    payload_link: str = '',
    residual: UnloadedResidual | None = None,
    half_widths: Array | None = None,
    observer: str = OBSERVER,
) -> str:
    """Return a parameter file of the nodes: drives, efforts, payload, errors of external torques.

    Joints whose scale is not determined are omitted. `half_widths` (n, 3) are those of the
    intervals of `CHANGES`, for `identify --check`.
    """
    scaled = np.isfinite(result.effort_scale).tolist()
    joints = [joint for joint, known in zip(result.joint_names, scaled) if known]
    drives = {joint: drive_parameters(result.drives[joint]) for joint in joints}
    parameters: dict[str, object] = {
        'drive_joints': list(drives),
        'drives': drives,
        'effort_joints': joints,
        'effort_scale': [_rounded(x) for x in result.effort_scale[scaled]],
        'effort_offset': [_rounded(x) for x in result.effort_offset[scaled]],
    }
    if not joints:  # an empty list has no type in a parameter file
        parameters = {}
    delay = result.effort_delay
    if delay.is_certain and delay.value > 0.0:
        parameters['effort_delay'] = _rounded(delay.value)
    if residual is not None:
        parameters |= {'observer': observer, **_of_wrench_estimator(residual)}
    if result.payload is not None:
        parameters |= payload_parameters(payload_link, result.payload)
    content = {
        '/**': {'ros__parameters': parameters},
        **_intervals(result.joint_names, half_widths),
    }
    body = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=100)
    return HEADER.format(robot=result.description.name) + body


def _intervals(joints: Sequence[str], half_widths: Array | None) -> dict[str, object]:
    """Return the section with half widths of intervals, which no node reads."""
    if half_widths is None:
        return {}
    found = {
        joint: {name: _rounded(x, 4) for name, x in zip(CHANGES, row) if np.isfinite(x)}
        for joint, row in zip(joints, half_widths)
        if np.isfinite(row).any()
    }
    return {'/**/identify': {'ros__parameters': {HALF_WIDTHS: found}}} if found else {}


def drive_parameters(drive: Drive) -> dict[str, object]:
    """Return the parameters of a drive, besides the usual ones those that are not the default."""
    found: dict[str, object] = {}
    for name, field in DRIVE_FIELDS.items():
        value = getattr(drive, name)
        if value is None or (value == field.default and name not in USUAL):
            continue
        if isinstance(value, tuple):
            found[name] = [_rounded(x) if isinstance(x, float) else x for x in value]
        else:
            found[name] = _rounded(value) if isinstance(value, float) else value
    return found


def _of_wrench_estimator(residual: UnloadedResidual) -> dict[str, object]:
    joints = list(residual.joint_names)
    numbers = {
        'observer_velocity_deviation': residual.velocity_deviation,
        'observer_effort_deviation': residual.effort_deviation,
        'observer_model_deviation': residual.model_deviation,
        'contact_thresholds': residual.contact_threshold,
        'collision_thresholds': residual.collision_threshold,
    }
    return {
        'observer_joints': joints,
        'flag_joints': joints.copy(),  # YAML would refer to the list before
        **{name: [_rounded(x, 4) for x in array] for name, array in numbers.items()},
    }


def payload_parameters(link: str, body: RigidBody) -> dict[str, object]:
    """Return the parameters of a payload on a link."""
    return {
        'payload_link': link,
        'payload_mass': float(body.mass),
        'payload_center_of_mass': [float(x) for x in body.com],
        'payload_inertia': body.moments.tolist(),
    }


def _rounded(x: float, digits: int = DIGITS) -> float:
    return float(f'{float(x):.{digits}g}')
