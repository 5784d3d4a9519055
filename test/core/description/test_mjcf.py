# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Robots of MJCF texts against MuJoCo: M, bias forces, accelerations and Jacobians."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.drives import drives_of
from screw_dynamics_ros.core.description.formats import read_robot_description
from screw_dynamics_ros.core.description.mjcf import read_mjcf
from screw_dynamics_ros.core.errors import DescriptionError

mujoco = pytest.importorskip('mujoco')

ARM = """<mujoco model="arm">
  <compiler angle="degree" eulerseq="zyx"/>
  <option gravity="1 2 -7"/>
  <default><joint armature="0.02" damping="0.3"/>
    <default class="heavy"><geom density="3000"/></default></default>
  <worldbody>
    <body name="stand" pos="0 0 0.4" euler="20 10 30">
      <body name="shoulder" pos="0.1 0 0.2" axisangle="1 2 0 50">
        <joint name="yaw" axis="1 0 2" pos="0.03 0.02 0.1" ref="25" range="-90 100"
          frictionloss="0.4"/>
        <joint name="pitch" axis="0 1 0" pos="0.01 -0.2 0" stiffness="3" springref="40"/>
        <joint name="lift" type="slide" axis="1 1 1" ref="0.2" range="-0.1 0.5"/>
        <geom class="heavy" type="capsule" fromto="0 0 0 0.1 0.2 0.3" size="0.04"/>
        <geom type="box" size="0.1 0.2 0.05" pos="0.1 0 0" euler="0 30 0"/>
        <site name="tool" pos="0.1 0.2 0.3" xyaxes="0 1 0 -1 0 0"/>
        <body pos="0.3 0 0" quat="1 2 0 0">
          <inertial pos="0.1 0.2 0" mass="2" fullinertia="0.2 0.3 0.25 0.02 0.01 0.03"/>
          <joint axis="1 0 0" type="slide" stiffness="50" springref="0.1" actuatorfrcrange="-7 7"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="yaw" gear="50" ctrlrange="-0.5 0.4"/>
    <position joint="pitch" kp="9" forcerange="-4 4"/>
    <general joint="pitch" gear="-2" forcerange="-1 3"/><position joint="lift" kp="3"/>
    <motor site="tool" name="thruster"/>
  </actuator>
  <keyframe><key name="home" qpos="0.1 0.2 0.3 0.4"/></keyframe>
</mujoco>"""

LEGGED = """<mujoco model="legged"><compiler angle="radian"/>
  <worldbody>
    <body name="trunk" pos="0 0 1" quat="1 1 0 0"><freejoint name="free"/>
      <geom type="box" size="0.2 0.1 0.05" mass="4"/>
      <body name="leg" pos="0.2 0 0"><joint name="hip" axis="0 1 0" ref="0.3"/>
        <geom type="cylinder" size="0.03 0.2" pos="0 0 -0.2" mass="1"/>
        <body name="foot" pos="0 0 -0.4">
          <joint name="knee" axis="0 1 0" pos="0 0 0.1" armature="0.1"/>
          <geom size="0.05" pos="0.1 0 -0.2" mass="0.7"/></body></body>
      <body name="finger"><joint name="finger" type="slide" ref="0.1" axis="0 0 1"/>
        <geom size="0.1" mass="0.4"/></body>
    </body>
  </worldbody>
  <equality><joint joint1="finger" joint2="hip" polycoef="0.05 -0.4 0 0 0"/></equality>
  <keyframe><key qpos="1 2 3 0.5 0.5 -0.5 0.5 0.1 0.2 0.3"/></keyframe>
</mujoco>"""

TWO_OBJECTS = """<mujoco>
  <option><flag gravity="disable"/></option>
  <compiler inertiafromgeom="true"/>
  <worldbody><site name="origin" pos="1 0 0"/>
    <body pos="1 1 1"><freejoint/><geom type="ellipsoid" size="0.1 0.2 0.3"/>
      <inertial pos="9 9 9" mass="9" diaginertia="9 9 9"/></body>
    <body name="cart"><joint type="slide" axis="1 0 0"/><geom size="0.1"/></body>
  </worldbody>
</mujoco>"""


def free_columns(quaternion: list[float]) -> np.ndarray:
    """Return MuJoCo's velocity of a free joint, (v in the world, omega), per our (omega, v)."""
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, np.array(quaternion))
    return np.block([[np.zeros((3, 3)), R.reshape(3, 3)], [np.eye(3), np.zeros((3, 3))]])


def mapped(robot: Robot, model: Any, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return MuJoCo's qpos, and G and b of its velocity G v and acceleration G a + b."""
    qpos, G, b = model.qpos0.copy(), np.zeros((model.nv, robot.nv)), np.zeros(model.nv)
    moving = [joint for joint in robot.description.joints if not joint.kind.is_fixed]
    free = [joint for joint in moving if joint.kind.is_free]
    base = [] if not robot.description.floating_base else [(slice(0, 7), slice(0, 6))]
    for place in base + [robot.tree.coordinates[joint.name] for joint in free]:
        (x, y, z, *vector, w), (omega, speed) = q[place[0]], v[place[1]].reshape(2, 3)
        qpos[place[0]] = [x, y, z, w, *vector]
        G[place[1], place[1]] = free_columns(qpos[place[0]][3:].tolist())
        b[place[1]][:3] = G[place[1], place[1]][:3, 3:] @ np.cross(omega, speed)
    scalar = [joint for joint in moving if joint.kind.is_scalar]
    places = [k for k in range(model.njnt) if model.jnt_type[k] != mujoco.mjtJoint.mjJNT_FREE]
    for joint, k in zip(scalar, places, strict=True):
        mimic = joint.mimic
        leader = joint.name if mimic is None else mimic.joint
        rate, offset = (1.0, 0.0) if mimic is None else (mimic.multiplier, mimic.offset)
        row, column = robot.tree.coordinates[leader]
        qpos[model.jnt_qposadr[k]] = rate * q[row][0] + offset
        G[model.jnt_dofadr[k], column] = rate
    return qpos, G, b


@pytest.mark.parametrize('text', [ARM, LEGGED, TWO_OBJECTS], ids=['arm', 'legged', 'objects'])
def test_dynamics_are_those_of_mujoco(text: str) -> None:
    """M, inverse and forward dynamics with springs and viscous friction, and Jacobians."""
    robot = Robot.from_mjcf(text, backend='reference')
    smooth = {name: replace(each, coulomb=0.0) for name, each in robot.drives.items()}
    robot = Robot.from_mjcf(text, backend='reference', drives=smooth)
    model = mujoco.MjModel.from_xml_string(text)
    flags = mujoco.mjtDisableBit
    model.opt.disableflags |= flags.mjDSBL_CONSTRAINT | flags.mjDSBL_ACTUATION
    data, rng = mujoco.MjData(model), np.random.default_rng(7)
    q = robot.random_configuration(rng)
    v, a = rng.normal(size=(2, robot.nv))
    data.qpos[:], G, b = mapped(robot, model, q, v)
    data.qvel[:] = G @ v
    mujoco.mj_forward(model, data)
    M = np.zeros((model.nv, model.nv))
    for row, unit in zip(M, np.eye(model.nv)):
        mujoco.mj_mulM(model, data, row, unit)
    tau = G.T @ (M @ (G @ a + b) + data.qfrc_bias - data.qfrc_passive)
    close = {'rtol': 1e-11, 'atol': 1e-11}
    np.testing.assert_allclose(robot.mass_matrix(q), G.T @ M @ G, **close)
    np.testing.assert_allclose(robot.inverse_dynamics(q, v, a), tau, **close)
    np.testing.assert_allclose(robot.forward_dynamics(q, v, tau), a, rtol=1e-9, atol=1e-9)
    for body in range(1, model.nbody):
        name = model.body(body).name or f'body{body}'
        angular, linear = np.zeros((2, 3, model.nv))
        mujoco.mj_jacBody(model, data, linear, angular, body)
        np.testing.assert_allclose(
            robot.jacobian(q, name), np.vstack([angular, linear]) @ G, **close
        )
    for site in range(model.nsite):
        C = robot.link_pose(q, model.site(site).name)
        np.testing.assert_allclose(C[:3, :3], data.site_xmat[site].reshape(3, 3), **close)
        np.testing.assert_allclose(C[:3, 3], data.site_xpos[site], **close)


def test_properties_of_joints() -> None:
    """Limits, actuators, springs, friction, keyframes, gravity and couplings."""
    thruster, legged = '<motor site="tool" name="thruster"/>', read_mjcf(LEGGED)
    arm, pushed = read_mjcf(ARM.replace(thruster, '')), read_mjcf(ARM)
    joints = {joint.name: joint for joint in (*arm.joints, *legged.joints)}
    yaw, slide = joints['yaw'].limits, joints['body3_joint']
    assert (yaw.lower, yaw.upper) == pytest.approx((-math.pi / 2, math.radians(100)))
    assert (yaw.effort, joints['pitch'].limits.effort) == (25.0, 10.0)
    efforts = [joint.limits.effort for joint in pushed.joints if joint.kind.is_scalar]
    assert efforts == [math.inf, math.inf, math.inf, 7.0]  # the thruster loads all joints
    assert (joints['lift'].limits.effort, slide.limits.effort) == (math.inf, 7.0)
    assert (joints['yaw'].friction, slide.damping, slide.armature) == (0.4, 0.3, 0.02)
    assert (slide.spring_stiffness, slide.spring_position) == (50.0, 0.1)
    assert drives_of(arm)['body3_joint'].spring_position == 0.1
    assert (joints['hip'].type, joints['yaw'].type) == ('continuous', 'revolute')
    assert joints['finger'].mimic.offset == pytest.approx(0.1 + 0.05 + 0.4 * 0.3)
    assert (arm.floating_base, arm.gravity, arm.root) == (False, (1.0, 2.0, -7.0), 'world')
    assert (legged.floating_base, legged.root) == (True, 'trunk')
    assert read_mjcf(TWO_OBJECTS).gravity == (0.0, 0.0, 0.0)
    assert arm.postures['home']['lift'] == (0.3,)
    assert legged.postures['key0']['free'] == (1.0, 2.0, 3.0, 0.5, -0.5, 0.5, 0.5)
    assert [shape.kind for shape in legged.links[0].shapes] == ['box']
    findings = [str(finding) for finding in pushed.findings]
    assert any('thruster' in each for each in findings)
    assert any('gravity is 1 2 -7' in each for each in findings)


JOINT = """<body name="b"><joint name="j" {}/><geom size="1"/></body>
<body name="c"><joint name="k"/><geom size="1"/></body>"""


@pytest.mark.parametrize(
    ('joint', 'rest', 'expected'),
    [
        ('type="ball" stiffness="1"', '', "joint 'j' has stiffness.*set it to 0"),
        ('type="ball" frictionloss="1"', '', "joint 'j' has frictionloss.*set it to 0"),
        ('type="free" armature="1"', '', "joint 'j' has armature.*freejoint"),
        ('', '<equality><joint joint1="j" name="e"/></equality>', "equality 'e' holds joint 'j'"),
        (
            '',
            '<equality><joint name="e" joint1="j" joint2="k" polycoef="0 1 2 0 0"/></equality>',
            "equality 'e' has the polycoef 0 1 2 0 0; only linear",
        ),
        (
            '',
            '<tendon><fixed name="t" stiffness="2"><joint joint="j" coef="1"/></fixed></tendon>',
            "tendon 't' has stiffness",
        ),
        ('type="knot"', '', 'MuJoCo refuses the MJCF: .*knot'),
    ],
)
def test_refusals_name_the_element(joint: str, rest: str, expected: str) -> None:
    """What the tree cannot hold is refused by name."""
    with pytest.raises(DescriptionError, match=expected):
        read_mjcf(f'<mujoco><worldbody>{JOINT.format(joint)}</worldbody>{rest}</mujoco>')


DRIVEN = """<mujoco>{}<worldbody><body><joint name="j" axis="0 1 0" armature="0.1" damping="1"/>
  <geom size="0.1" mass="1"/><site name="s"/></body></worldbody><actuator>
  <motor name="first" joint="j" gear="3" armature="0.5" damping="0.2"/>
  <motor joint="j" gear="-2" armature="0.25"/>{}</actuator></mujoco>"""


@pytest.mark.skipif(
    not hasattr(mujoco.MjModel, 'actuator_armature'), reason='MuJoCo has no such actuators'
)
def test_armature_and_damping_of_actuators() -> None:
    """They are felt with the square of the gear, without the damping where the file disables it."""
    for option in ('', '<option><flag damper="disable"/></option>'):
        text = DRIVEN.format(option, '')
        model = mujoco.MjModel.from_xml_string(text)
        data, M = mujoco.MjData(model), np.zeros(1)
        data.qvel[0] = 2.0
        mujoco.mj_forward(model, data)
        mujoco.mj_mulM(model, data, M, np.ones(1))
        robot = Robot.from_mjcf(text)
        np.testing.assert_allclose(robot.mass_matrix([0.0]), [M], rtol=1e-12)
        np.testing.assert_allclose(robot.friction_torques([2.0]), -data.qfrc_passive, rtol=1e-12)
    on_site = '<motor name="jet" site="s" {}="0.1"/>'
    for what in ('armature', 'damping'):
        try:
            mujoco.MjModel.from_xml_string(DRIVEN.format('', on_site.format(what)))
        except ValueError:
            continue  # refused by MuJoCo
        with pytest.raises(DescriptionError, match=f"actuator 'jet' has {what}"):
            read_mjcf(DRIVEN.format('', on_site.format(what)))


def test_loops_and_idle_tendons_are_findings() -> None:
    """They change neither M nor bias forces of the open tree."""
    text = (
        f'<mujoco><worldbody>{JOINT.format("")}</worldbody><equality>'
        '<weld name="w" body1="b" body2="c"/></equality>'
        '<tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon></mujoco>'
    )
    found = [str(each) for each in read_mjcf(text).findings]
    assert any(each.startswith('loop closure w: is a weld joint') for each in found)
    assert any(each.startswith('tendon t: acts through') for each in found)


@pytest.mark.parametrize(
    'element',
    [
        '<include file="part.xml"/>',
        '<asset><mesh name="m" file="part.stl"/></asset>',
        '<asset><model name="m" file="part.xml"/></asset>',
        '<asset><hfield name="h" nrow="9" ncol="9" size="1 1 1 1"/></asset>',
        '<worldbody><replicate count="1000000000"><body/></replicate></worldbody>',
    ],
)
def test_texts_read_no_files(element: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The network must not name files, also not those of the working directory."""
    (tmp_path / 'part.xml').write_text('<mujoco/>', encoding='utf-8')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DescriptionError, match='must not'):
        read_robot_description(f'<mujoco>{element}</mujoco>')


def test_texts_may_have_decoration_and_files_may_include(tmp_path: Path) -> None:
    """Textures of a text are not opened; the path of a file leads to the others."""
    body = '<worldbody><body name="b"><joint/><geom size="1" material="m"/></body></worldbody>'
    asset = (
        '<asset><texture name="t" type="2d" file="no.png"/><material name="m" texture="t"/></asset>'
    )
    assert read_mjcf(f'<mujoco>{asset}{body}</mujoco>').links[1].name == 'b'
    (tmp_path / 'part.xml').write_text(f'<mujoco>{body.replace(" material=", " name=")}</mujoco>')
    whole = tmp_path / 'whole.xml'
    whole.write_text('<mujoco><include file="part.xml"/></mujoco>', encoding='utf-8')
    assert read_robot_description(whole).links[1].name == 'b'
    with pytest.raises(DescriptionError, match='nested'):
        read_mjcf(
            '<mujoco><worldbody>' + '<body>' * 300 + '</body>' * 300 + '</worldbody></mujoco>'
        )
