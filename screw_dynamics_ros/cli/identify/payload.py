# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A payload from the efforts of poses at rest, by the estimator of the nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import yaml

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.description.robot_description import Finding
from screw_dynamics_ros.core.estimation.payload_estimation import (
    EffortRecord,
    PayloadEstimate,
    estimate_payload,
)
from screw_dynamics_ros.core.identification import JointRecording
from screw_dynamics_ros.core.statistics.intervals import between

from ..report import Section
from .output_files import payload_parameters
from .report import interval_row, noted

PARAMETERS = 'payload.yaml'


def payload_of_poses(
    robot: Robot, link: str, runs: Sequence[JointRecording], known: Mapping[str, RigidBody]
) -> PayloadEstimate:
    """Return the payload on a link; each sample is a pose at rest. Raises as `estimate_payload`."""
    rest = np.zeros((1, robot.nv))
    records = [
        EffortRecord(t[None], q[None], rest, tau[None], at_rest=True)
        for run in runs
        for t, q, tau in zip(run.t, run.q, run.tau)
    ]
    reported = np.all([np.isfinite(run.tau).all(axis=0) for run in runs], axis=0)
    measured = [name for name, each in zip(robot.joint_names, reported) if each]
    return estimate_payload(robot, link, records, known=known, measured=measured)


def section(found: PayloadEstimate, link: str, notes: Sequence[str]) -> Section:
    """Return the report."""
    made = Section(
        f'payload on {link}: {found.poses} poses at rest, efforts of {", ".join(found.joints)}',
        noted(notes),
    )
    if not found.has_mass:
        mass = between(found.mass, found.mass_interval)
        what = f'{mass} kg, smaller than its interval; no payload is assumed'
        made.findings.append(Finding.warning('payload', what))
        return made
    com, intervals = found.center_of_mass, found.center_of_mass_interval
    rows = [('mass', 'kg', found.mass, found.mass_interval), *zip('xyz', 'mmm', com, intervals)]
    residuals = ', '.join(f'{name} {x:.3g}' for name, x in zip(found.joints, found.residuals))
    made.table((), [interval_row(*row) for row in rows])
    made.lines.append(f'residuals [N m, N]: {residuals}')
    return made


def parameter_file(found: PayloadEstimate, link: str) -> str:
    """Return a parameter file of the nodes; a payload without inertia, which rest does not show."""
    body = RigidBody(found.mass, np.nan_to_num(found.center_of_mass), np.zeros((3, 3)))
    content = {'/**': {'ros__parameters': payload_parameters(link, body)}}
    return yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=100)
