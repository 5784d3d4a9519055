# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Frames of the wrenches that laws follow and measure: transformed or refused by name."""

import os

import numpy as np
import pytest

from screw_dynamics_ros.ros.status import Level
from support.controlled import PRESSING, TOOL
from support.messages import wrench_message

MEASURING = """
from screw_dynamics_ros.core.law import control_law

@control_law()
def mine(robot, state, reference, parameters, memory, *, link):
    return robot.jacobian(state.q, link, 'body').T @ state.wrench
"""
WITHOUT_LINK = """
from screw_dynamics_ros.core.law import control_law

@control_law()
def mine(robot, state, reference, parameters, memory):
    return state.wrench[3:] @ state.wrench[3:] + 0.0 * state.v
"""
WRENCH = np.array([1.0, -2.0, 0.5, 10.0, -5.0, 20.0])


def made_with(control, tmp_path, text, **parameters):
    path = tmp_path / 'laws.py'
    path.write_text(text)
    os.utime(path, ns=(0, 10**9))
    made = control(f'{path}:mine', law_options=[f'link={TOOL}'], **parameters)
    made.torque()
    made.torque()
    return made


def message(frame):
    return wrench_message(frame, WRENCH[3:], WRENCH[:3])


@pytest.mark.parametrize('frame', ['', 'ROOT', TOOL, 'forearm_link'])
def test_the_axes_of_a_target_turn_with_its_frame(control, tmp_path, frame):
    made = made_with(control, tmp_path, PRESSING)
    frame = frame.replace('ROOT', made.root)
    made.part._targets.receive_wrench(message(frame))
    for _ in range(3):
        made.q = made.q + 0.2
        R = made.robot.link_pose(made.q, frame or made.root)[:3, :3]
        turned = np.concatenate([R @ WRENCH[:3], R @ WRENCH[3:]])
        wanted = made.robot.jacobian(made.q, TOOL, 'hybrid').T @ turned
        np.testing.assert_allclose(made.torque(), wanted, atol=1e-9)


def test_other_frames_of_a_target_are_refused(control, tmp_path):
    made = made_with(control, tmp_path, PRESSING)
    made.part._targets.receive_wrench(message('map'))
    level, summary = made.summary()
    assert level == Level.WARN
    assert "~/target_wrench: frame_id: robot ur5 has no link 'map'; it has" in summary
    assert not made.torque().any()
    made.part._targets.receive_wrench(message(''))
    assert made.summary()[0] == Level.OK


@pytest.mark.parametrize('frame', ['', TOOL, 'ee_link', 'forearm_link'])
def test_a_measured_wrench_is_one_at_the_link(control, tmp_path, frame):
    """By the power of the wrench at its own frame: J^T of that frame gives the same torques."""
    made = made_with(control, tmp_path, MEASURING)
    made.part.receive_wrench(message(frame))
    made.torque()  # the first one after a loss
    wanted = made.robot.jacobian(made.q, frame or TOOL, 'body').T @ WRENCH
    if frame == 'forearm_link':  # the wrist carries the whole of it
        on_link = made.robot.link_pose(made.q, TOOL), made.robot.link_pose(made.q, frame)
        C = np.linalg.inv(on_link[0]) @ on_link[1]
        f = C[:3, :3] @ WRENCH[3:]
        moment = C[:3, :3] @ WRENCH[:3] + np.cross(C[:3, 3], f)
        wanted = made.robot.jacobian(made.q, TOOL, 'body').T @ np.concatenate([moment, f])
    np.testing.assert_allclose(made.torque(), wanted, atol=1e-9)


def test_other_frames_of_a_measured_wrench_are_refused(control, tmp_path):
    made = made_with(control, tmp_path, MEASURING)
    made.part.receive_wrench(message('map'))
    level, summary = made.summary()
    assert level == Level.WARN
    assert "~/wrench refused: frame_id: robot ur5 has no link 'map'; it has" in summary
    made.torque()
    assert 'no wrench on ~/wrench within' in made.part.commands.status().summary


def test_without_a_link_a_measured_wrench_has_no_frame(control, tmp_path):
    path = tmp_path / 'laws.py'
    path.write_text(WITHOUT_LINK)
    made = control(f'{path}:mine')
    made.torque()
    made.part.receive_wrench(message(TOOL))
    assert 'the law mine has no option link, so that frame_id must be empty' in made.summary()[1]
    made.part.receive_wrench(message(''))
    assert made.summary()[0] == Level.OK
    assert made.torque() is not None
