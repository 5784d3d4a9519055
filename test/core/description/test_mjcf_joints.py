# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Effort limits of an MJCF: the largest efforts of its actuators in MuJoCo, and by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from screw_dynamics_ros.core.description.mjcf import read_mjcf
from screw_dynamics_ros.core.errors import DescriptionError

mujoco = pytest.importorskip('mujoco')

ARM = """<mujoco model="arm">{head}<worldbody><site name="ground" pos="1 0 0"/>
  <body name="upper"><joint name="a" damping="50" axis="0 1 0"/>
    <geom size="0.1" pos="0.3 0 0"/><site name="mid" pos="0.1 0 0.2"/>
    <body name="fore" pos="0.4 0 0"><joint name="b" damping="50" axis="0 1 0"/>
      <geom size="0.1" pos="0.2 0 0"/><site name="tip" pos="0.3 0 0.1"/></body></body></worldbody>
  <tendon><fixed name="belt"{belt}><joint joint="a" coef="1"/><joint joint="b" coef="-2"/></fixed>
    <spatial name="cable"><site site="mid"/><site site="tip"/></spatial></tendon>
  <actuator>{actuators}</actuator></mujoco>"""

GENERAL = '<general joint="a" gainprm="10" ctrlrange="-1 1" dynprm="0.01" {}/>'
MOTOR = '<motor joint="a" ctrlrange="-1 1"/>'
BELT = '<motor tendon="belt" gear="5" ctrlrange="-1 1" {}/>'
PID = '<plugin joint="a" plugin="mujoco.pid" instance="p" ctrlrange="-1 1" {}/>'
PLUGIN = (
    '<extension><plugin plugin="mujoco.pid"><instance name="p"><config key="kp" value="40"/>'
    '</instance></plugin></extension>'
)
ANY = math.inf

#: Actuators, what precedes them, attributes of the belt, and the limits of both joints.
CASES = {
    'motors': (MOTOR + MOTOR, '', '', (2.0, ANY)),
    'filter': (GENERAL.format('dyntype="filter"'), '', '', (10.0, ANY)),
    'filter with bounds': (
        GENERAL.format('dyntype="filterexact" actlimited="true" actrange="-0.5 0.5"'),
        '',
        '',
        (5.0, ANY),
    ),
    'integrator': (GENERAL.format('dyntype="integrator"'), '', '', (ANY, ANY)),
    'integrator with bounds': (
        GENERAL.format('dyntype="integrator" actlimited="true" actrange="-0.2 0.1"'),
        '',
        '',
        (2.0, ANY),
    ),
    'integrator with a force range': (
        GENERAL.format('dyntype="integrator" forcerange="-3 1"'),
        '',
        '',
        (3.0, ANY),
    ),
    'servo': ('<position joint="a" kp="3" ctrlrange="-1 1"/>', '', '', (ANY, ANY)),
    'plugin': (PID.format(''), PLUGIN, '', (ANY, ANY)),
    'plugin with a force range': (PID.format('forcerange="-2 2"'), PLUGIN, '', (2.0, ANY)),
    'tendon and motor': (MOTOR + BELT.format(''), '', '', (6.0, 10.0)),
    'tendon of bounded force': (BELT.format(''), '', ' actuatorfrcrange="-0.5 0.5"', (2.5, 5.0)),
    'tendon without a range': (MOTOR + '<motor tendon="belt"/>', '', '', (ANY, ANY)),
    'cable': (MOTOR + '<motor tendon="cable" ctrlrange="-1 1"/>', '', '', (1.0, ANY)),
    'site': ('<motor site="tip" gear="1 0 0 0 0 0" ctrlrange="-1 1"/>', '', '', (ANY, ANY)),
    'site against a site': (
        MOTOR + '<motor site="tip" refsite="mid" gear="1 0 0 0 0 0" ctrlrange="-1 1"/>',
        '',
        '',
        (1.0, ANY),
    ),
    'crank': (
        '<motor cranksite="tip" slidersite="ground" cranklength="2" ctrlrange="-1 1"/>',
        '',
        '',
        (ANY, ANY),
    ),
    'gear 0': (MOTOR.replace('ctrl', 'gear="0" ctrl') + MOTOR, '', '', (1.0, ANY)),
    'gear 0 without a range': ('<position joint="a" gear="0" kp="1"/>', '', '', (ANY, ANY)),
    'controls that are not clamped': (
        MOTOR,
        '<option><flag clampctrl="disable"/></option>',
        '',
        (ANY, ANY),
    ),
    'a group without a number of its own': (
        MOTOR.replace('ctrl', 'group="-1" ctrl'),
        '<option actuatorgroupdisable="2"/>',
        '',
        (1.0, ANY),
    ),
    'a group that is switched off': (
        MOTOR + MOTOR.replace('ctrl', 'group="2" ctrl'),
        '<option actuatorgroupdisable="2"/>',
        '',
        (1.0, ANY),
    ),
}


def largest_efforts(text: str) -> np.ndarray:
    """Return the largest efforts of a simulation with extreme controls."""
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.gravity[:] = 0.0
    found = np.zeros(model.nv)
    for signs in itertools.product((-1.0, 1.0), repeat=model.nu):
        data = mujoco.MjData(model)
        data.ctrl[:] = 1e3 * np.array(signs)
        for _ in range(200):
            mujoco.mj_step(model, data)
            found = np.maximum(found, np.abs(data.qfrc_actuator))
    return found


@pytest.mark.parametrize('case', CASES)
def test_effort_limits(case: str) -> None:
    """Finite ones are reached in MuJoCo; the others are those of the rule."""
    actuators, head, belt, limits = CASES[case]
    if belt and not hasattr(mujoco.MjModel, 'tendon_actfrcrange'):
        pytest.skip('tendons of this MuJoCo have no bounded force')
    text = ARM.format(head=head, belt=belt, actuators=actuators)
    found = [joint.limits.effort for joint in read_mjcf(text).joints if not joint.kind.is_fixed]
    assert tuple(found) == limits
    for effort, limit in zip(largest_efforts(text), limits, strict=True):
        if limit < math.inf:
            assert 0.999 * limit < effort < (1.0 + 1e-9) * limit


def test_actuators_that_are_switched_off_move_no_joint() -> None:
    """Closures of loops ask which joints have motors."""
    motors = '<motor joint="b" group="2"/><motor joint="a" group="1"/><motor joint="b" gear="0"/>'
    for option, expected in (('', ('b', 'a')), ('<option actuatorgroupdisable="2"/>', ('a',))):
        text = ARM.format(head=option, belt='', actuators=motors)
        assert read_mjcf(text).actuated == expected


def findings(actuators: str) -> list[str]:
    """Return the findings of an arm."""
    return list(map(str, read_mjcf(ARM.format(head='', belt='', actuators=actuators)).findings))


def test_what_actuators_do_besides_is_a_finding() -> None:
    """Servos, dynamics, lever arms that change, and actuators without effect are named."""
    found = findings(
        '<position name="servo" joint="a"/><velocity name="brake" joint="b"/>'
        '<general name="slow" joint="a" dyntype="filter"/><motor name="plain" joint="a"/>'
        '<motor name="jet" site="tip"/><motor name="idle" joint="b" gear="0"/>'
    )
    omitted = 'robot arm: control laws and dynamics of actuators are omitted: servo, brake, slow'
    assert omitted in found
    jet = 'actuator jet: its lever arms depend on the pose: no effort limit for a, b follows'
    assert jet in found
    assert 'actuator idle: moves no hinge or slide: no effort limit follows from it' in found
    assert not any('plain' in each for each in found)
    assert not any('control laws' in each for each in findings(MOTOR))
    many = findings('<position joint="a"/>' * 10)
    assert any(each.endswith('actuator 7 and 2 more') for each in many)


@pytest.mark.skipif(
    not hasattr(mujoco.MjModel, 'actuator_armature'), reason='MuJoCo has no such actuators'
)
def test_armature_of_an_actuator_without_gear_is_nothing() -> None:
    """That of an actuator on a tendon is refused."""
    motor = '<motor name="m" {} armature="1"/>'
    for gear, expected in (('0', 0.0), ('3', 9.0)):
        text = ARM.format(head='', belt='', actuators=motor.format(f'joint="a" gear="{gear}"'))
        assert read_mjcf(text).joints[1].armature == expected
    with pytest.raises(DescriptionError, match="actuator 'm' has armature"):
        findings(motor.format('tendon="belt"'))


ORIENTATION = '<orientation name="turn" site="tip" refsite="mid" kp="5"/>'


@pytest.mark.skipif(
    not hasattr(mujoco.MjModel, 'actuator_outadr'), reason='actuators of this MuJoCo have one force'
)
def test_actuators_after_one_with_three_forces() -> None:
    """Gears have a row for each force, ranges of forces one for each actuator."""
    motors = (
        '<motor joint="a" gear="3" ctrlrange="-2 1" armature="2"/>'
        '<position joint="a" gear="4" forcerange="-1 5"/>'
    )
    text = ARM.format(head='', belt='', actuators=ORIENTATION + motors)
    first, second = (joint for joint in read_mjcf(text).joints if joint.name in 'ab')
    assert (first.limits.effort, first.armature) == (26.0, 18.0)
    assert second.limits.effort == ANY
    assert any(each.startswith('actuator turn: its lever arms') for each in findings(ORIENTATION))
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.ctrl[model.actuator_ctrladr[1:]] = 1e3
    mujoco.mj_forward(model, data)
    assert data.qfrc_actuator[0] == 3.0 + 4.0 * 5.0
