# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Robots with ball joints, as MJCF: a pendulum, a cable, a humanoid, and a leg on a slide."""

from __future__ import annotations

_HEAD = '<mujoco model="{}"><compiler angle="radian"/><option gravity="0.3 -0.2 -9"/><worldbody>'
_TAIL = '</worldbody></mujoco>'

PENDULUM = (
    _HEAD.format('pendulum')
    + """<body name="rod" pos="0.1 0 2" quat="0.9 0.1 0.2 0.3">
  <joint name="pivot" type="ball" pos="0.05 0.02 -0.1"/>
  <geom type="box" size="0.1 0.05 0.4" pos="0.02 0.03 -0.5"/></body>"""
    + _TAIL
)


def cable(segments: int) -> str:
    """Return a cable of rods on balls, on a hinge."""
    rod = '<geom type="capsule" fromto="0 0 0 0.2 0 0.01" size="0.02"/>'
    bodies = ''.join(
        f'<body name="rod{k}" pos="0.2 0 0.01"><joint name="ball{k}" type="ball"/>{rod}'
        for k in range(segments)
    )
    hub = f'<body name="hub" pos="0 0 1"><joint name="hub" axis="0 1 0.2"/>{rod}'
    return _HEAD.format('cable') + hub + bodies + '</body>' * (segments + 1) + _TAIL


def _limb(name: str, side: int, height: float, length: float) -> str:
    """Return a limb on a ball, whose anchor is beside the frame of the body, with a hinge."""
    return f"""<body name="{name}" pos="0 {0.2 * side} {height}" quat="0.9 {0.2 * side} 0.1 0">
  <joint name="{name}_ball" type="ball" pos="0.01 {0.02 * side} 0.03"/>
  <geom type="capsule" fromto="0 0 0 0.05 0 {-length}" size="0.05"/>
  <body name="lower_{name}" pos="0.05 0 {-length}"><joint name="{name}_hinge" axis="0.1 1 0"/>
    <geom type="capsule" fromto="0 0 0 0.05 {0.1 * side} {-length}" size="0.04"/></body></body>"""


HUMANOID = (
    _HEAD.format('humanoid')
    + '<body name="torso" pos="0 0 1.2"><freejoint name="root"/>'
    + '<geom type="box" size="0.1 0.2 0.3" pos="0.01 0.02 0.03"/>'
    + _limb('left_arm', 1, 0.3, 0.3)
    + _limb('right_arm', -1, 0.3, 0.3)
    + _limb('left_leg', 1, -0.3, 0.4)
    + _limb('right_leg', -1, -0.3, 0.4)
    + '</body>'
    + _TAIL
)

#: A slide and a ball on one body, and a ball before a slide.
LEG = (
    _HEAD.format('leg')
    + """<body name="hip" pos="0 0 1"><joint name="lift" type="slide" axis="0 0 1"/>
  <joint name="hip" type="ball" pos="0 0.1 0.1"/><geom type="box" size="0.1 0.08 0.2"/>
  <body name="foot" pos="0.1 0 -0.4"><joint name="ankle" type="ball" pos="0.02 0 0.03"/>
    <joint name="sole" type="slide" axis="0.6 0 0.8"/>
    <geom type="box" size="0.2 0.08 0.04" pos="0.05 0 0"/></body></body>"""
    + _TAIL
)

ROBOTS = {'pendulum': PENDULUM, 'cable': cable(6), 'humanoid': HUMANOID, 'leg': LEG}
