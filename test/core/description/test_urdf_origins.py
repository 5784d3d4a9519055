# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Other origins in the text of a URDF: everything else stays, readers agree."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.description.urdf_origins import with_origins
from screw_dynamics_ros.core.errors import DescriptionError, UnknownNameError
from support.models import random_pose
from support.robots import example_robots, one_joint, robot_id, urdf_path


@pytest.mark.parametrize('path', example_robots()[::8], ids=robot_id)
def test_real_robots(path):
    """Every joint gets another origin; nothing else of the description changes."""
    text, rng = path.read_text(), np.random.default_rng(0)
    nominal = read_urdf(text)
    origins = {joint.name: random_pose(rng) for joint in nominal.joints}
    written = with_origins(text, origins)
    changed = read_urdf(written)
    for before, after in zip(nominal.joints, changed.joints):
        np.testing.assert_allclose(after.origin, origins[before.name], rtol=0, atol=1e-14)
        assert (after.name, after.type, after.limits) == (before.name, before.type, before.limits)
        np.testing.assert_array_equal(after.axis, before.axis)
    for tag in ('<mesh', '<!--', '<visual', '<material'):
        assert written.count(tag) == text.count(tag)
    again = read_urdf(with_origins(text, {}))
    for before, after in zip(nominal.joints, again.joints):
        np.testing.assert_array_equal(after.origin, before.origin)


def test_joint_without_origin():
    C = random_pose(np.random.default_rng(1))
    text = with_origins(one_joint('<axis xyz="0 0 1"/>', 'continuous'), {'j': C})
    np.testing.assert_allclose(read_urdf(text).joints[0].origin, C, rtol=0, atol=1e-14)


def test_refusals():
    with pytest.raises(UnknownNameError, match="no joint named 'k'; there are j"):
        with_origins(one_joint(), {'k': np.eye(4)})
    with pytest.raises(DescriptionError, match='the root element is <sdf>'):
        with_origins('<sdf/>', {})
    assert '<!-- ' in with_origins(urdf_path('panda').read_text(), {})
