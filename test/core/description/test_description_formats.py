# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The root element selects the reader of a description."""

import pytest

from screw_dynamics_ros.core.description.formats import read_robot_description
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
