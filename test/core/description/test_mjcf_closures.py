# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Connects and welds of an MJCF: closed robots against the constraints of MuJoCo.

Its matrices M and J, and its forces c, in a state of the closed mechanism, give the accelerations
by Lagrange multipliers, M a - J^T f = tau - c and J a + J' v = 0: without its soft constraints.
"""

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.mjcf import read_mjcf
from screw_dynamics_ros.core.description.urdf import read_urdf
from screw_dynamics_ros.core.description.urdf_writer import write_urdf
from screw_dynamics_ros.core.errors import DescriptionError
from screw_dynamics_ros.core.mechanisms.closures import ClosedRobot, LoopClosures

mujoco = pytest.importorskip('mujoco')

EQUALITIES = {
    'connect': '<connect name="pin" body1="rocker" body2="coupler" anchor="0 0 0.25"/>',
    'connect of sites': '<connect name="pin" site1="tip" site2="end"/>',
    'weld': '<weld name="pin" body1="rocker" body2="pad"/>',
    'weld of sites': '<weld name="pin" site1="top" site2="tip"/>',
}
MOTOR = '<actuator><motor joint="crank"/></actuator>'


def four_bar(equality, actuator=MOTOR):
    """A linkage in the plane xz, closed at rest: by a ball, or by a hinge and a weld."""
    pad = (
        '<body name="pad" pos="0.5 0 0"><joint name="pivot" axis="0 1 0"/>'
        '<geom size="0.02" mass="0.1"/><site name="top"/></body>'
    )
    return f"""<mujoco model="four bar"><option><flag contact="disable"/></option>
      <worldbody>
        <body name="crank"><joint name="crank" axis="0 1 0" armature="0.01"/>
          <geom type="capsule" fromto="0 0 0 0 0 0.2" size="0.01" mass="0.5"/>
          <body name="coupler" pos="0 0 0.2"><joint name="elbow" axis="0 1 0" damping="0.1"/>
            <geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.01" mass="0.7"/>
            <site name="end" pos="0.5 0 0"/>{pad if 'weld' in equality else ''}</body></body>
        <body pos="0.5 0 -0.05">
          <body name="rocker"><joint name="rocker" axis="0 1 0"/>
            <geom type="capsule" fromto="0 0 0 0 0 0.25" size="0.01" mass="0.6"/>
            <site name="tip" pos="0 0 0.25"/></body></body>
      </worldbody>
      <equality>{equality}</equality>{actuator}
    </mujoco>"""


class Reference:
    """The mechanism in MuJoCo."""

    def __init__(self, text):
        self.model = mujoco.MjModel.from_xml_string(text)
        self.names = [self.model.joint(k).name for k in range(self.model.njnt)]

    def at(self, q, v):
        data = mujoco.MjData(self.model)
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_forward(self.model, data)
        rows = data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
        return data, np.array(data.efc_J).reshape(-1, self.model.nv)[rows], data.efc_pos[rows]

    def accelerations(self, q, v, tau):
        """Return those of all joints."""
        data, J, _ = self.at(q, v)
        M, h, n = np.zeros((len(q), len(q))), 1e-6, len(q)
        for column, unit in zip(M, np.eye(n)):  # mj_fullM differs between versions
            mujoco.mj_mulM(self.model, data, column, unit)
        rate = (self.at(q + h * v, v)[1] - self.at(q - h * v, v)[1]) / (2.0 * h)
        K = np.block([[M, -J.T], [J, np.zeros((len(J), len(J)))]])
        forces = tau - data.qfrc_bias + data.qfrc_passive
        return np.linalg.lstsq(K, np.concatenate([forces, -rate @ v]), rcond=1e-12)[0][:n]


@pytest.mark.parametrize('kind', EQUALITIES)
def test_motion_of_a_linkage(kind):
    text = four_bar(EQUALITIES[kind])
    reference, robot = Reference(text), Robot.from_mjcf(text, friction=True)
    closed = ClosedRobot(robot, LoopClosures.of(robot.description))
    assert closed.joint_names == ('crank',)
    order = [robot.joint_names.index(name) for name in reference.names]
    for angle, rate, torque in ((0.3, 0.0, 0.0), (0.5, 1.2, 0.4), (-0.4, -2.0, 1.0)):
        state = closed.state([angle], [rate])
        q, v, tau = state.q[order], state.v[order], np.zeros(len(order))
        _, J, error = reference.at(q, v)
        assert len(error) == (3 if 'connect' in kind else 6)
        np.testing.assert_allclose(error, 0.0, atol=1e-9)
        np.testing.assert_allclose(J @ v, 0.0, atol=1e-9)
        tau[reference.names.index('crank')] = torque
        expected = reference.accelerations(q, v, tau)[reference.names.index('crank')]
        found = closed.forward_dynamics([angle], [rate], [torque])
        np.testing.assert_allclose(found, [expected], rtol=1e-6)


def test_the_urdf_of_a_linkage_has_its_loop():
    """Also its motor, and the assembly of its first keyframe."""
    text = four_bar(EQUALITIES['weld of sites']).replace(
        '</mujoco>', '<keyframe><key name="low" qpos="0.1 0.9 0.2 -2.2"/></keyframe></mujoco>'
    )
    torques = []
    for description in (read_mjcf(text), read_urdf(write_urdf(read_mjcf(text)))):
        closed = ClosedRobot(Robot(description), LoopClosures.of(description))
        torques.append(closed.gravity_torques([0.3]))
    np.testing.assert_allclose(torques[1], torques[0], rtol=1e-12)


def test_closures_of_a_description():
    description = read_mjcf(four_bar(EQUALITIES['connect']))
    (closure,) = description.closures
    assert (closure.name, closure.pair, closure.links) == (
        'pin',
        'spherical',
        ('rocker', 'coupler'),
    )
    np.testing.assert_allclose(closure.poses[0][:3, 3], [0.0, 0.0, 0.25])
    np.testing.assert_allclose(closure.poses[1][:3, 3], [0.5, 0.0, 0.0], atol=1e-12)
    assert description.actuated == ('crank',)
    assert any(
        'loop closure pin: is a spherical joint between rocker and coupler, which' in str(each)
        for each in description.findings
    )


def test_assembly_near_the_first_keyframe():
    """Of the two assemblies, the one in which the rocker leans over."""
    text = four_bar(EQUALITIES['connect of sites']).replace(
        '</mujoco>', '<keyframe><key name="low" qpos="0 0.9 -2.2"/></keyframe></mujoco>'
    )
    robot = Robot.from_mjcf(text)
    loops = LoopClosures.of(robot.description)
    assert loops.positions == {'crank': 0.0, 'elbow': 0.9, 'rocker': -2.2}
    closed = ClosedRobot(robot, loops)
    found = dict(zip(robot.joint_names, closed.assembly))
    np.testing.assert_allclose(np.cos(found['elbow']), 0.6, atol=1e-9)
    np.testing.assert_allclose(np.cos(found['rocker']), -0.6, atol=1e-9)


@pytest.mark.parametrize(
    ('equality', 'actuator', 'lacking'),
    [('', MOTOR, 'no closures of loops'), (EQUALITIES['connect'], '', 'no actuators')],
)
def test_what_is_absent_is_named(equality, actuator, lacking):
    with pytest.raises(DescriptionError, match=f"'four bar' has {lacking}; give a file"):
        LoopClosures.of(read_mjcf(four_bar(equality, actuator)))


def test_closures_that_are_not_active_or_end_at_the_ground():
    """Inactive ones are ignored, and those to the world unless it is the root."""
    off = EQUALITIES['connect'].replace('/>', ' active="false"/>')
    assert not read_mjcf(four_bar(off)).closures
    ground = '<weld body1="crank"/>'
    (closure,) = read_mjcf(four_bar(ground)).closures
    assert closure.links == ('crank', 'world')
    free = four_bar(ground).replace('<worldbody>', '<worldbody><body name="b"><freejoint/>')
    free = free.replace('</worldbody>', '<geom size="0.1"/></body></worldbody>')
    assert not read_mjcf(free).closures


WELDED = """<mujoco><worldbody>
  <body name="a" pos="0.1 0 0.3" euler="10 20 30"><freejoint/><geom size="0.1"/>
    <site name="s" pos="0.1 0.2 0.3" euler="40 0 10"/></body>
  <body name="b" pos="0 0.5 0" euler="0 50 0"><freejoint/><geom size="0.1"/>
    <site name="t" pos="-0.1 0 0.2" euler="0 70 10"/></body>
  </worldbody><equality><weld name="e" {}/></equality></mujoco>"""
OF_BODIES, OF_SITES = 'body1="a" body2="b"', 'site1="s" site2="t"'
RELPOSE = 'relpose="0.1 0.3 -0.2 1 0.5 -0.3 2"'


@pytest.mark.parametrize(
    ('weld', 'pair', 'second'),
    [
        (OF_BODIES, 'weld', (0.0, 0.0, 0.0)),
        (f'{OF_BODIES} anchor="0.1 0.2 0.3"', 'weld', (0.1, 0.2, 0.3)),
        (f'{OF_BODIES} {RELPOSE}', 'weld', (0.0, 0.0, 0.0)),
        (f'{OF_BODIES} {RELPOSE} anchor="0.1 0.2 0.3"', 'weld', (0.1, 0.2, 0.3)),
        (f'{OF_BODIES} {RELPOSE} anchor="0.4 0.5 0.6" torquescale="0"', 'spherical', None),
        (f'{OF_BODIES} anchor="0.1 0.2 0.3" torquescale="0.1"', 'weld', (0.1, 0.2, 0.3)),
        (OF_SITES, 'weld', (-0.1, 0.0, 0.2)),
        (f'{OF_SITES} torquescale="0"', 'spherical', (-0.1, 0.0, 0.2)),
    ],
)
def test_poses_of_welds(weld, pair, second):
    """With equal poses of the closure in the two links the errors of MuJoCo's weld are zero.

    In a weld without torque the links may turn about the point of the closure.
    """
    text = WELDED.format(weld)
    (closure,) = read_mjcf(text).closures
    assert (closure.links, closure.pair) == (('a', 'b'), pair)
    if second is not None:
        np.testing.assert_allclose(closure.poses[1][:3, 3], second)
    model = mujoco.MjModel.from_xml_string(text)
    data, rng = mujoco.MjData(model), np.random.default_rng(3)
    first, turn = rng.normal(size=4), rng.normal(size=4)
    A, turned = np.eye(4), np.eye(4)
    for pose, quaternion in ((A, first), (turned, turn)):
        R = np.zeros(9)
        mujoco.mju_normalize4(quaternion)
        mujoco.mju_quat2Mat(R, quaternion)
        pose[:3, :3] = R.reshape(3, 3)
    A[:3, 3] = 0.2, 0.4, -0.1
    loose = turned if pair == 'spherical' else np.eye(4)
    B = A @ closure.poses[0] @ loose @ np.linalg.inv(closure.poses[1])
    for place, pose in ((0, A), (7, B)):
        data.qpos[place : place + 3] = pose[:3, 3]
        quaternion = np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, pose[:3, :3].flatten())
        data.qpos[place + 3 : place + 7] = quaternion
    mujoco.mj_forward(model, data)
    rows = data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
    assert rows.sum() == 6
    np.testing.assert_allclose(data.efc_pos[rows], 0.0, atol=1e-12)


def test_a_weld_of_a_floating_robot_to_the_world_has_its_own_remedy():
    """The world is no link of it, so that `LoopClosures.of` has nothing."""
    text = """<mujoco><worldbody><body name="trunk"><freejoint/><geom size="0.1"/>
      <body name="leg" pos="0.2 0 0"><joint name="hip"/><geom size="0.1"/></body></body></worldbody>
      <equality><weld name="ground" body1="leg"/></equality></mujoco>"""
    description = read_mjcf(text)
    assert not description.closures
    (finding,) = (str(each) for each in description.findings if 'ground' in str(each))
    assert 'is a weld to the world, which is no link here, and is ignored' in finding
    assert 'LoopClosures' not in finding
    assert 'constrained_dynamics' in finding
    assert hasattr(Robot, 'constrained_dynamics')


@pytest.mark.parametrize(
    ('equality', 'floats', 'count'),
    [
        ('<weld name="ground" body1="trunk"/>', True, 1),
        ('<weld name="ground" body1="trunk"/>', False, 0),  # a fixed base is that weld
        ('<weld name="ground" body1="leg"/>', False, 1),
        ('<connect name="ground" body1="trunk" anchor="0 0 0"/>', False, 1),
    ],
)
def test_a_weld_of_a_fixed_base_to_the_world_is_no_finding(equality, floats, count):
    text = f"""<mujoco><worldbody><body name="trunk"><freejoint/><geom size="0.1"/>
      <body name="leg" pos="0.2 0 0"><joint name="hip"/><geom size="0.1"/></body></body></worldbody>
      <equality>{equality}</equality></mujoco>"""
    findings = read_mjcf(text, floating_base=floats).findings
    assert ['ground' in str(each) for each in findings].count(True) == count
