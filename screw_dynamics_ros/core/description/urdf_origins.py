# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Other origins of joints in the text of a URDF: meshes, comments and tags of others stay."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import UnknownNameError
from ..types import Array
from .urdf_writer import origin_attributes
from .xml_document import child, children, document_text, robot_document


def with_origins(text: str, origins: Mapping[str, Array]) -> str:
    r"""Return a URDF with the <origin> of some joints replaced.

    Parameters
    ----------
    text : str
        The URDF.
    origins : {joint: (4, 4) array}
        Poses of the child link in the parent link at q = 0 [m].

    Raises
    ------
    DescriptionError
        The text is no URDF.
    UnknownNameError
        It has no such joint.

    Examples
    --------
    >>> import numpy as np
    >>> joint = '<joint name="j"><!-- taught --><origin rpy="0 0 1"/></joint>'
    >>> print(with_origins(f'<robot name="r">\n{joint}\n</robot>', {'j': np.eye(4)}))
    <?xml version="1.0"?>
    <robot name="r">
    <joint name="j"><!-- taught --><origin rpy="0.0 0.0 0.0" xyz="0.0 0.0 0.0"/></joint>
    </robot>
    <BLANKLINE>
    """
    robot, document = robot_document(text)
    joints = {joint.getAttribute('name'): joint for joint in children(robot, 'joint')}
    for name, pose in origins.items():
        if name not in joints:
            raise UnknownNameError(f'no joint named {name!r}; there are {", ".join(joints)}')
        origin = child(joints[name], 'origin')
        if origin is None:
            origin = document.createElement('origin')
            joints[name].insertBefore(origin, joints[name].firstChild)
        if origin.hasAttribute('quat_xyzw'):
            origin.removeAttribute('quat_xyzw')
        for key, value in origin_attributes(pose).items():
            origin.setAttribute(key, value)
    return document_text(document)
