"""Other origins of joints in the text of a URDF: meshes, comments and tags of others stay."""

from __future__ import annotations

from collections.abc import Mapping
from xml.dom.minidom import Document

from screw_dynamics_ros.core.description.urdf_writer import origin_attributes
from screw_dynamics_ros.core.description.xml_document import child, children, robot_element
from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.types import Array


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
    robot = robot_element(text)
    document = robot.ownerDocument
    if not isinstance(document, Document):
        raise ArgumentError('the URDF has no document to be written')
    joints = {joint.getAttribute('name'): joint for joint in children(robot, 'joint')}
    for name, pose in origins.items():
        if name not in joints:
            raise UnknownNameError(f'no joint named {name!r}; there are {", ".join(joints)}')
        origin = child(joints[name], 'origin')
        if origin is None:
            origin = document.createElement('origin')
            joints[name].insertBefore(origin, joints[name].firstChild)
        for key, value in origin_attributes(pose).items():
            origin.setAttribute(key, value)
    return document_text(document)


def document_text(document: Document) -> str:
    """Return the text of a changed URDF."""
    # Comments and instructions around <robot> lose their lines: document.toxml() would join them.
    parts = ['<?xml version="1.0"?>', *(node.toxml() for node in document.childNodes)]
    return '\n'.join(parts) + '\n'
