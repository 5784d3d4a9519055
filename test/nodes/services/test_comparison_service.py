# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The service `compare_model`, without ROS running: the active model beside other programs."""

import sys
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('screw_dynamics_msgs.srv._compare_model')

from rclpy.serialization import deserialize_message, serialize_message

from screw_dynamics_msgs.srv import CompareModel
from screw_dynamics_ros.comparison import programs
from screw_dynamics_ros.comparison.quantities import UNITS
from screw_dynamics_ros.core import ArgumentError, Drive, Robot, UnknownNameError
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.errors import ErrorCode, UnsupportedRobotError
from screw_dynamics_ros.nodes.services.requests import DYNAMICS, RequestContext, answer, pickled
from screw_dynamics_ros.ros.services import respond
from support.closed_chains import delta_gripper
from support.robots import joint, links, robot, urdf_path

URDF = urdf_path('kinova').read_text()
GRAVITY = (0.5, -1.0, -9.0)
PROGRAMS = {'pinocchio': 'Pinocchio', 'mujoco': 'MuJoCo', 'kdl': 'KDL'}
MODULES = {'pinocchio': 'pinocchio', 'mujoco': 'mujoco', 'kdl': 'PyKDL'}
EACH_PROGRAM = pytest.mark.parametrize('program', PROGRAMS)


def asked(described, text=URDF, payloads=None, **request):
    """Return the response about a robot that was made of a text."""
    response = CompareModel.Response(success=True)
    situation = RequestContext(
        pickled(described), np.array(GRAVITY), 'left_', None, payloads or {}, text
    )
    answer(DYNAMICS['CompareModel'], situation, CompareModel.Request(states=3, **request), response)
    return response


def needed(program):
    """Skip the test where a program is not installed, or too old to read links rightly."""
    pytest.importorskip(MODULES[program], '4.0' if program == 'mujoco' else None)


def drives(description):
    """Return drives unlike those of the description."""
    return {
        each.name: Drive(rotor_inertia=2e-5, gear_ratio=100.0, armature=0.01 * k, damping=0.1 * k)
        for k, each in enumerate(description.joints, start=1)
        if each.type in ('revolute', 'continuous')
    }


@EACH_PROGRAM
def test_the_active_model_agrees(program):
    """With its gravity and its drives, which the description does not have."""
    needed(program)
    description = read_urdf(URDF)
    described = Robot(description, drives=drives(description), backend='reference')
    response = asked(described, programs=[program])
    (found,) = response.programs
    assert response.success
    assert response.agree
    assert response.error_code == ErrorCode.SUCCESS
    assert (found.name, found.compared, found.agrees) == (PROGRAMS[program], True, True)
    assert not found.reason
    assert list(found.quantities) == list(UNITS)
    assert list(found.units) == list(UNITS.values())
    assert max(found.relative) < 1e-6
    assert len(found.absolute) == len(found.relative) == len(found.where)
    assert 'uses the current armatures and viscous friction' in list(found.notes)
    assert f'{PROGRAMS[program]} {found.version}'.strip() + ' agrees to' in response.message
    assert response.header.frame_id == f'left_{description.root}'


def test_the_drives_matter():
    """Without the current ones there would be differences: the comparison does see them."""
    needed('pinocchio')
    description = read_urdf(URDF)
    strong = Robot(description, drives=drives(description), backend='reference')
    plain = Robot(description, backend='reference')
    sizes = []
    for described in (strong, plain):
        (found,) = asked(described, programs=['pinocchio']).programs
        assert found.agrees
        sizes.append(dict(zip(found.quantities, found.absolute)))
    assert np.isfinite(list(sizes[0].values())).all()
    M = [described.mass_matrix(np.zeros(described.nq)) for described in (strong, plain)]
    assert np.abs(M[0] - M[1]).max() > 0.1


def test_a_program_that_reads_the_file_differently_is_named():
    """MuJoCo makes the inertias of flat bodies others, if the file asks it to."""
    needed('mujoco')
    text = URDF.replace(
        '</robot>', '<mujoco><compiler boundmass="0.9" fusestatic="true"/></mujoco></robot>'
    )
    described = Robot.from_urdf(text, backend='reference')
    response = asked(described, text, programs=['mujoco'])
    (found,) = response.programs
    assert response.success
    assert not response.agree
    assert not found.agrees
    assert found.explained
    assert max(found.relative) > 1e-6
    assert any(cause.startswith('link ') and ': mass: here ' in cause for cause in found.causes)
    assert 'DIFFERS by link ' in response.message
    assert 'DIFFERENCE link ' in response.explanation


def test_a_corrected_link_is_no_difference():
    """A description that has been changed since it was received is what the programs read."""
    needed('pinocchio')
    description = read_urdf(URDF)
    description = replace(
        description,
        links=tuple(
            replace(link, inertia=replace(link.inertia, mass=2.0 * link.inertia.mass))
            if link.name == 'j2s6s200_link_3'
            else link
            for link in description.links
        ),
    )
    response = asked(Robot(description, backend='reference'), URDF, programs=['pinocchio'])
    assert response.agree, response.explanation


def test_programs_that_are_not_installed(monkeypatch):
    for module in MODULES.values():
        monkeypatch.setitem(sys.modules, module, None)
    response = asked(Robot.from_urdf(URDF, backend='reference'))
    assert not response.success
    assert not response.agree
    assert response.error_code == ErrorCode.NOT_AVAILABLE
    assert {each.name for each in response.programs} == set(PROGRAMS.values())
    assert not any(each.compared for each in response.programs)
    for command in ('pip install pin', 'pip install mujoco', 'apt install python3-pykdl'):
        assert command in response.message
        assert command in response.explanation


def test_a_fault_of_one_program_is_told_beside_the_others(monkeypatch):
    needed('pinocchio')

    def broken(source):
        raise MemoryError('no space')

    monkeypatch.setitem(programs.PROGRAMS, 'mujoco', broken)
    response = asked(Robot.from_urdf(URDF, backend='reference'), programs=['mujoco', 'pinocchio'])
    assert response.agree, response.explanation
    assert [each.compared for each in response.programs] == [False, True]
    assert 'MuJoCo fails: MemoryError: no space' in response.message


def test_the_answer_is_a_message():
    """As the process of the services sends it."""
    robot = Robot.from_urdf(URDF, backend='reference')
    situation = RequestContext(pickled(robot), np.array(GRAVITY), '', None, {}, URDF)
    request = serialize_message(CompareModel.Request(states=1))
    data = respond('CompareModel', request, answer, (DYNAMICS['CompareModel'], situation))
    response = deserialize_message(data, CompareModel.Response)
    assert {each.name for each in response.programs} == set(PROGRAMS.values())
    assert response.success == any(each.compared for each in response.programs)


def test_what_is_left_out_is_told():
    body = RigidBody(1.0, np.zeros(3), np.zeros((3, 3)))
    described = Robot.from_urdf(
        URDF,
        drives={'j2s6s200_joint_1': Drive(rotor_inertia=1e-4, rotor_axis=(0.0, 0.0, 1.0))},
        backend='reference',
    )
    link = described.link_names[-1]
    response = asked(described, payloads={link: body}, programs=['kdl'])
    assert f'the payload on {link} is not compared' in response.explanation
    assert 'joints j2s6s200_joint_1: compared with reflected inertias only' in response.explanation
    assert 'springs' not in response.explanation
    assert 'coupled' not in response.explanation


def test_springs_and_coupled_motors_are_left_out():
    first, second, third = (f'j2s6s200_joint_{k}' for k in (1, 2, 3))
    drives = {
        first: Drive(spring_stiffness=5.0),
        second: Drive(rotor_inertia=1e-4, coupled_joints=(third,), coupling_ratios=(0.5,)),
    }
    described = Robot.from_urdf(URDF, drives=drives, backend='reference')
    text = asked(described, programs=['kdl']).explanation
    assert f'note       the coupled motors of joints {second} are omitted' in text
    assert f'note       the springs of joints {first} are not compared' in text
    assert 'payload' not in text


@pytest.mark.parametrize(
    ('fields', 'error', 'reason'),
    [
        ({'programs': ['rbdl']}, UnknownNameError, "no 'rbdl'; there are mujoco, pinocchio, kdl"),
        ({'tip': 'nose'}, UnknownNameError, "tip: .* no link 'nose'"),
        ({'tolerance': -1.0}, ArgumentError, 'tolerance must be between 0 and 1'),
        ({'tolerance': float('nan')}, ArgumentError, 'tolerance must be between 0 and 1'),
    ],
)
def test_requests_that_cannot_be_answered(fields, error, reason):
    with pytest.raises(error, match=reason):
        asked(Robot.from_urdf(URDF, backend='reference'), **fields)


def test_too_many_states():
    request = CompareModel.Request(states=1001)
    situation = RequestContext(
        pickled(Robot.from_urdf(URDF, backend='reference')), np.array(GRAVITY), '', None, {}, URDF
    )
    with pytest.raises(ArgumentError, match='at most 1000, because other services wait; got 1001'):
        answer(DYNAMICS['CompareModel'], situation, request, CompareModel.Response())


def test_robots_that_cannot_be_compared():
    text = robot(links('a b'), joint('j', 'a', 'b', kind='floating'))
    with pytest.raises(UnsupportedRobotError, match='joint j is floating'):
        asked(Robot.from_urdf(text, backend='reference'), text)
    closed = delta_gripper()
    from screw_dynamics_ros.nodes.model.closed_loops import RobotWithLoops

    looped = RobotWithLoops(closed.robot.description, closed.loops, backend='reference')
    with pytest.raises(UnsupportedRobotError, match='not for robots with loops'):
        asked(looped)
