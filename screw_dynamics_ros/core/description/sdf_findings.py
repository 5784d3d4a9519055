# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What changes the motion of a model in a simulator, and is left out here, by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.dom.minidom import Element

from .robot_description import Finding
from .sdf_elements import flag_of, number_of, place_of
from .sdf_frames import FrameGraph
from .sdf_joints import ROTOR, has_rotor
from .xml_document import child, children, short, text_of
from .xml_values import name_attribute

#: Flags of links and models: the value that changes nothing, what is left out, and the remedy.
_FLAGS = {
    'gravity': (
        True,
        'gravity is switched off for it; here it acts on all links',
        'compensate its weight, or remove <gravity>',
    ),
    'kinematic': (False, '<kinematic> is left out: here forces move it', 'remove <kinematic>'),
    'enable_wind': (False, '<enable_wind> is left out', 'add the wrench of the wind'),
}

#: Plugins that change the motion, by words in their names: joints that follow others, forces.
_PLUGINS = re.compile(
    'mimic|spring|damp|friction|buoyan|hydro|lift|drag|thrust|wind(?!ow)|detachable|suction', re.I
)


def left_out(sdf: Element, frames: FrameGraph) -> Iterator[Finding]:
    """Yield a finding for each element that acts in a simulator and not here."""
    robot = f'robot {name_attribute(frames.model)}'
    scopes = [*children(sdf, 'world')]
    for name, model in frames.of_kind('model').items():
        scopes.append(model.element)
        subject = f'model {name}' if name else robot
        if flag_of(model.element, 'static'):
            yield Finding(
                'info', subject, 'the model is <static>, where no joint moves; here they do'
            )
        yield from _flags(subject, model.element)
    for name, link in frames.of_kind('link').items():
        scopes.append(link.element)
        yield from _flags(f'link {name}', link.element)
        yield from _decay(name, link.element)
    for name, joint in frames.of_kind('joint').items():
        scopes.append(joint.element)
        yield from _motor(name, joint.element)
    yield from _plugins(robot, scopes)
    yield from _extensions(robot, scopes)


def _flags(subject: str, element: Element) -> Iterator[Finding]:
    for tag, (usual, what, remedy) in _FLAGS.items():
        if child(element, tag) is not None and flag_of(element, tag) != usual:
            yield Finding('warning', subject, what, remedy)


def _decay(name: str, link: Element) -> Iterator[Finding]:
    decay = child(link, 'velocity_decay')
    if any(number_of(decay, tag, 0.0, place_of(link)) for tag in ('linear', 'angular')):
        yield Finding(
            'warning',
            f'link {name}',
            '<velocity_decay> is left out',
            'write <dynamics><damping> of the joints',
        )


def _motor(name: str, joint: Element) -> Iterator[Finding]:
    physics = child(joint, 'physics')
    ode = None if physics is None else child(physics, 'ode')
    if number_of(ode, 'max_force', 0.0, place_of(joint)):
        yield Finding(
            'warning',
            f'joint {name}',
            'the motor <max_force> of ODE is left out',
            'remove it, or command the effort',
        )
    if ode is not None and child(ode, 'suspension') is not None:
        yield Finding(
            'warning',
            f'joint {name}',
            'the <suspension> of ODE is left out',
            'write a prismatic joint with <spring_stiffness>',
        )


def _plugins(robot: str, scopes: list[Element]) -> Iterator[Finding]:
    for scope in scopes:
        for plugin in children(scope, 'plugin'):
            called = ' '.join(map(plugin.getAttribute, ('filename', 'name')))
            if not _PLUGINS.search(called):
                continue
            follower = child(plugin, 'mimicJoint')
            subject = f'joint {short(text_of(follower))}' if follower is not None else robot
            yield Finding(
                'warning',
                subject,
                f'{place_of(plugin)} of {place_of(scope)} acts in the simulator and is left out',
                'write <mimic> in the <axis> of the joint that follows'
                if 'mimic' in called.lower()
                else 'add its forces',
            )


def _extensions(robot: str, scopes: list[Element]) -> Iterator[Finding]:
    """Report elements of other namespaces, as <drake:joint>: what they mean is not known."""
    found = [
        place_of(each)
        for scope in scopes
        for holder in (scope, *children(scope, 'axis'), *children(scope, 'axis2'))
        for each in holder.childNodes
        if isinstance(each, Element)
        and ':' in each.tagName
        and not (each.tagName in ROTOR and has_rotor(scope))
    ]
    if found:
        yield Finding(
            'warning',
            robot,
            f'extensions of SDFormat are left out: {", ".join(found[:8])}',
            'write joints and links without extensions',
        )
