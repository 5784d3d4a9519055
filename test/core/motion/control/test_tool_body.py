# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""All links of a tool as one body: beside Pinocchio, and what is refused."""

import numpy as np
import pytest

from screw_dynamics_ros.core.description import Inertia, Joint, Limits, Link, RobotDescription
from screw_dynamics_ros.core.errors import DescriptionError, InertiaError
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.motion.control.payload_transitions import tool_body
from support.models import random_description, to_urdf


def test_links_at_their_neutral_positions():
    """Mass, center and inertia of Pinocchio's whole model, its joints at 0, in another frame."""
    pin = pytest.importorskip('pinocchio')
    description = random_description(3, 4, ('revolute', 'prismatic'))
    model = pin.buildModelFromXML(to_urdf(description), pin.JointModelFreeFlyer())
    data = model.createData()
    pose = se3.exp([0.3, -0.5, 0.2, 0.1, 0.2, -0.3])
    q = np.concatenate([pin.SE3ToXYZQUAT(pin.SE3(pose)), np.zeros(model.nq - 7)])
    pin.ccrba(model, data, q, np.zeros(model.nv))
    found = tool_body(description, pose)
    assert found.mass == pytest.approx(data.Ig.mass, rel=1e-12)
    np.testing.assert_allclose(found.com, data.com[0], atol=1e-12)
    np.testing.assert_allclose(found.matrix, data.Ig.inertia, atol=1e-12)


def one_link(inertia, name='finger'):
    joint = Joint(
        'slide', 'prismatic', 'palm', name, np.eye(4), np.eye(3)[0], Limits(-1.0, 1.0, 1.0, 1.0)
    )
    return RobotDescription.from_parts('tool', [Link('palm'), Link(name, inertia)], [joint])


def test_refused():
    with pytest.raises(DescriptionError, match='tool: no link has a mass; give the links their'):
        tool_body(one_link(None), np.eye(4))
    with pytest.raises(DescriptionError, match='no link has a mass'):
        tool_body(one_link(Inertia(0.0, np.zeros(3), np.zeros((3, 3)))), np.eye(4))
    flat = Inertia(1.0, np.zeros(3), np.diag([1.0, 1.0, 3.0]))
    with pytest.raises(InertiaError, match="link 'finger': principal moments"):
        tool_body(one_link(flat), np.eye(4))
