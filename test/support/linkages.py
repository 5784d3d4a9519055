# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A planar four-bar linkage as a URDF, and the file that closes its loop."""


def bar(name: str, length: float) -> str:
    """Return a slender link along x."""
    moment = length**2 / 12
    return (
        f'<link name="{name}"><inertial><origin xyz="{length / 2} 0 0"/><mass value="1"/>'
        f'<inertia ixx="1e-4" iyy="{moment}" izz="{moment}" ixy="0" ixz="0" iyz="0"/>'
        '</inertial></link>'
    )


FOUR_BAR = f"""
<robot name="four_bar">
  <link name="base"/>
  {bar('crank', 0.2)} {bar('coupler', 0.5)} {bar('rocker', 0.4)}
  <joint name="a" type="continuous"><parent link="base"/><child link="crank"/>
    <axis xyz="0 0 1"/></joint>
  <joint name="b" type="continuous"><parent link="crank"/><child link="coupler"/>
    <origin xyz="0.2 0 0"/><axis xyz="0 0 1"/></joint>
  <joint name="c" type="continuous"><parent link="coupler"/><child link="rocker"/>
    <origin xyz="0.5 0 0"/><axis xyz="0 0 1"/></joint>
  <joint name="pin" type="fixed"><parent link="rocker"/><child link="tip"/>
    <origin xyz="0.4 0 0"/></joint>
  <link name="tip"/>
</robot>"""

#: Two bars that a third one connects; the first has a motor.
BARS = """<mujoco model="bars"><worldbody>
  <body name="left"><joint name="left" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0 0 0.2" size="0.01"/>
    <body name="bar" pos="0 0 0.2"><joint name="elbow" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.01"/></body></body>
  <body name="right" pos="0.3 0 -0.1"><joint name="right" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0 0 0.3" size="0.01"/></body></worldbody>
  <equality><connect body1="right" body2="bar" anchor="0 0 0.3"/></equality>
  <actuator><motor joint="left"/></actuator></mujoco>"""

CLOSURES = """
closures:
  - name: d
    type: revolute
    parent: {link: base, xyz: [0.5, 0, 0]}
    child: {link: tip}
"""
