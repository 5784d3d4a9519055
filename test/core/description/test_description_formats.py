# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The root element selects the reader of a description."""

import numpy as np
import pytest

from screw_dynamics_ros.core.description.formats import read_robot_description, urdf_of
from screw_dynamics_ros.core.description.xml_document import root_tag
from screw_dynamics_ros.core.errors import DescriptionError

BOMB = '<!DOCTYPE r [<!ENTITY a "x">]><robot name="&a;"/>'


@pytest.mark.parametrize(
    ('text', 'tag'),
    [
        ('<?xml version="1.0"?><!-- c --><robot name="r"><', 'robot'),
        ('<?xml version="1.0" encoding="UTF-16"?><sdf/>'.encode('utf-16'), 'sdf'),
        (b'\xff<mujoco/>', ''),
        (BOMB, ''),
        ('<a:robot/>', 'a:robot'),
        ('nothing', ''),
    ],
)
def test_root_element(text: str | bytes, tag: str) -> None:
    """It is found without reading further; DTDs are not followed."""
    assert root_tag(text) == tag


def test_unknown_formats_are_refused() -> None:
    """The text names the root element."""
    with pytest.raises(DescriptionError, match='root element is <scene>'):
        read_robot_description('<scene/>')


def test_the_urdf_of_a_description() -> None:
    """A URDF stays as it is; that of an MJCF has its links, joints and shapes."""
    pytest.importorskip('mujoco')
    text = '<robot name="r"><link name="base"/><!-- kept --></robot>'
    assert urdf_of(text, read_robot_description(text)) == text
    body = (
        '<body name="rod" pos="0 0 1"><joint name="swing" axis="0 1 0"/>'
        '<geom type="box" size="1 2 3" pos="0.1 0.2 0.3" euler="10 20 30"/>'
        '<geom type="sphere" size="0.5"/><geom type="cylinder" size="0.2 0.7"/></body>'
    )
    text = f'<mujoco><worldbody>{body}</worldbody></mujoco>'
    description = read_robot_description(text)
    converted = read_robot_description(urdf_of(text, description))
    assert [joint.name for joint in converted.joints] == ['swing']
    shapes = converted.links[1].shapes
    assert [shape.kind for shape in shapes] == ['box', 'sphere', 'cylinder']
    for shape, given in zip(shapes, description.links[1].shapes):
        np.testing.assert_array_equal(shape.extents, given.extents)
        np.testing.assert_allclose(shape.pose, given.pose, atol=1e-15)
