# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Pinocchio's models of robots that carry payloads."""

import pinocchio as pin

from oracles.pinocchio_model import Pinocchio


def loaded(robot, urdf, payloads):
    """Return Pinocchio's model with more inertia on some links."""
    oracle = Pinocchio(urdf, robot)
    for link, load in payloads.items():
        frame = oracle.model.frames[oracle.frame_id(link)]
        oracle.model.appendBodyToJoint(
            frame.parentJoint, pin.Inertia(load.mass, load.com, load.matrix), frame.placement
        )
    oracle.data = oracle.model.createData()
    return oracle
