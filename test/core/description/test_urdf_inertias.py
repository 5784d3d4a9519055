# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Other inertias and friction in a URDF: what is read back, and what stays."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import DescriptionError, UnknownNameError
from screw_dynamics_ros.core.description import Inertia, read_urdf
from screw_dynamics_ros.core.description.urdf_inertias import with_dynamics
from support.paths import URDF

TEXT = (URDF / 'panda.urdf').read_text()
HEAVY = Inertia(7.5, np.array([0.1, -0.02, 1 / 3]), np.diag([0.11, 0.2, 0.25]) + 0.01)


def test_read_back_to_the_last_digit():
    changed = with_dynamics(
        TEXT, {'panda_link3': HEAVY, 'panda_link8': HEAVY}, {'panda_joint2': (0.7, 1 / 3)}
    )
    before, after = read_urdf(TEXT), read_urdf(changed)
    for old, new in zip(before.links, after.links):
        expected = HEAVY if new.name in ('panda_link3', 'panda_link8') else old.inertia
        if expected is None:
            assert new.inertia is None
            continue
        assert new.inertia.mass == expected.mass
        assert np.array_equal(new.inertia.com, expected.com)
        assert np.allclose(new.inertia.matrix, expected.matrix, rtol=0, atol=1e-17)
    for old, new in zip(before.joints, after.joints):
        friction = (0.7, 1 / 3) if new.name == 'panda_joint2' else (old.damping, old.friction)
        assert (new.damping, new.friction) == friction
        assert np.array_equal(new.origin, old.origin)


def test_all_else_stays():
    text = '<robot name="r"><!-- a --><link name="a"><visual><geometry><mesh filename="a.stl"/>\
</geometry></visual><inertial><!-- b --><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" \
iyz="0" izz="1"/></inertial></link><gazebo reference="a"/></robot>'
    changed = with_dynamics(text, {'a': HEAVY})
    for part in ('<!-- a -->', '<mesh filename="a.stl"/>', '<gazebo reference="a"/>'):
        assert part in changed
    assert changed.count('<inertial>') == 1
    assert with_dynamics(changed, {'a': HEAVY}) == changed


def test_refused():
    with pytest.raises(UnknownNameError, match="no link named 'nowhere'"):
        with_dynamics(TEXT, {'nowhere': HEAVY})
    with pytest.raises(UnknownNameError, match="no joint named 'none'"):
        with_dynamics(TEXT, {}, {'none': (0.0, 0.0)})
    with pytest.raises(DescriptionError):
        with_dynamics('<nothing/>', {})
