# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Names and limits of joints, spread over coordinates and velocities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core.tree.joint_limits import (
    coordinate_names,
    of_velocities,
    position_limits,
    velocity_names,
)
from screw_dynamics_ros.core.tree.multibody_tree import JointLimits, Tree, build_tree
from support.models import random_description


@pytest.fixture(scope='module')
def tree() -> Tree:
    """A floating base, and a sliding, a free, a planar and a revolute joint."""
    description = random_description(29, 4, ('revolute', 'planar', 'floating', 'prismatic'))
    types = [joint.type for joint in description.joints]
    assert types == ['prismatic', 'floating', 'planar', 'revolute']
    return build_tree(description, floating_base=True)


def test_names(tree):
    """Seven coordinates and six velocities of a free body, three of a planar joint."""
    one, two, three, four = tree.joint_names
    assert coordinate_names(tree) == ['link0'] * 7 + [one] + [two] * 7 + [three] * 3 + [four]
    assert velocity_names(tree) == ['link0'] * 6 + [one] + [two] * 6 + [three] * 3 + [four]


def test_limits(tree):
    """A free base has none."""
    limit = np.array([1.0, 2.0, 3.0, 4.0])
    lower, upper = position_limits(replace(tree, limits=JointLimits(limit, limit, limit, limit)))
    np.testing.assert_array_equal(lower, [-np.inf] * 7 + [1] + [2] * 7 + [3] * 3 + [4])
    np.testing.assert_array_equal(upper, np.abs(lower))
    np.testing.assert_array_equal(
        of_velocities(tree, limit), [np.inf] * 6 + [1] + [2] * 6 + [3] * 3 + [4]
    )
