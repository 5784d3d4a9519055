# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What parameters mean: frames, payload, policies of joint states, terms of efforts, loops."""

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.formats import read_robot_description
from screw_dynamics_ros.core.errors import DescriptionError, InertiaError, UnknownNameError
from screw_dynamics_ros.nodes.model.payloads import Payloads
from screw_dynamics_ros.nodes.parameters import (
    closure_parameters,
    frame_parameters,
    payload_parameters,
    shared_parameters,
    state_parameters,
)
from screw_dynamics_ros.nodes.parameters.frame_parameters import Frames
from screw_dynamics_ros.ros.status import Level, Status
from support.robots import urdf_path


class Given(dict):
    """Values by name, read as `Parameters`."""

    @property
    def values(self):
        return dict(self)


@pytest.fixture(scope='module')
def planar():
    return Robot.from_urdf(urdf_path('planar_2r'), backend='reference')


# --- frames ---------------------------------------------------------------------------------------


def test_frames_are_those_named_or_else_the_leaf_links(planar):
    chosen = Frames.choose(['tip', 'link-9', 'link1', 'tip', 'nose'], planar)
    assert chosen.tokens == {'tip': 'tip', 'link1': 'link1'}
    assert chosen.absent == ('link-9', 'nose')
    assert chosen.robot == 'planar_2r'
    assert Frames.choose(['nose'], planar).tokens == {}
    by_default = Frames.choose([], planar)
    assert (by_default.tokens, by_default.absent) == ({'tip': 'tip'}, ())


def test_absent_frames_are_reported(planar):
    status = Status('outputs')
    Frames.choose(['tip', 'link1'], planar).report(status)
    assert (status.level, status.values) == (Level.OK, {'frames': 'tip, link1'})
    Frames.choose(['nose', 'tip'], planar).report(status)
    assert status.level == Level.ERROR
    assert status.summary == 'robot planar_2r has no link nose: correct the parameter frames'
    assert status.values == {'frames': 'tip'}


def test_frames_that_the_robot_does_not_have_are_refused(planar):
    frame_parameters.check({'frames': ['tip']}, planar)
    frame_parameters.check({'frames': ['nose']}, None)
    frame_parameters.check({'damping': 1.0}, planar)
    with pytest.raises(UnknownNameError, match="no link 'nose'; it has base, link1, link2, tip"):
        frame_parameters.check({'frames': ['tip', 'nose']}, planar)


# --- payload --------------------------------------------------------------------------------------

BOX = Given(
    payload_link='tip',
    payload_mass=2.0,
    payload_center_of_mass=[0.1, 0.2, 0.3],
    payload_inertia=[0.04, 0.001, 0.002, 0.05, 0.003, 0.06],
)


def test_the_payload_is_a_body_on_a_link():
    """Its moments are xx, xy, xz, yy, yz, zz about the center of mass."""
    ((link, body),) = payload_parameters.payloads(BOX).items()
    assert (link, body.mass) == ('tip', 2.0)
    np.testing.assert_array_equal(body.com, [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(
        body.matrix, [[0.04, 0.001, 0.002], [0.001, 0.05, 0.003], [0.002, 0.003, 0.06]]
    )
    changed = payload_parameters.payloads(BOX, {'payload_link': 'link1', 'payload_mass': 3.0})
    assert changed['link1'].mass == 3.0
    np.testing.assert_array_equal(changed['link1'].com, body.com)
    for nothing in ({'payload_link': ''}, {'payload_mass': 0.0, 'payload_inertia': [0.0] * 6}):
        assert payload_parameters.payloads(BOX, nothing) == {}


def test_payloads_that_are_refused(planar):
    payload_parameters.check(BOX, {'payload_link': 'link1'}, planar)
    payload_parameters.check(BOX, {'payload_link': ''}, planar)
    payload_parameters.check(BOX, {'payload_link': 'nose'}, None)
    with pytest.raises(UnknownNameError, match=r"payload_link: robot planar_2r has no link 'nose'"):
        payload_parameters.check(BOX, {'payload_link': 'nose'}, planar)
    with pytest.raises(InertiaError):
        payload_parameters.check(BOX, {'payload_inertia': [1.0, 0.0, 0.0, 1.0, 0.0, 9.0]}, planar)


def test_the_payload_comes_and_goes():
    carried = Payloads()
    nothing = Given(BOX, payload_mass=0.0, payload_inertia=[0.0] * 6)
    payload_parameters.put(nothing, carried)
    assert carried.names == []
    payload_parameters.put(BOX, carried)
    assert carried.is_settled
    assert carried.bodies()['tip'].mass == pytest.approx(2.0)
    payload_parameters.put(nothing, carried, 60.0)
    assert not carried.is_settled
    payload_parameters.put(nothing, carried)
    assert carried.bodies() == {}
    payload_parameters.put(BOX, carried, 60.0)
    assert not carried.is_settled


@pytest.mark.parametrize(
    ('link', 'mass', 'warns'), [('', 1.0, True), ('', 0.0, False), ('tip', 1.0, False)]
)
def test_a_mass_without_a_link_is_reported(link, mass, warns):
    status = Status('outputs')
    payload_parameters.report(status, Given(payload_link=link, payload_mass=mass))
    assert status.level == (Level.WARN if warns else Level.OK)
    assert ('payload_link is empty' in status.summary) == warns


# --- joint states ---------------------------------------------------------------------------------

STATES = Given(
    position_policy='hold',
    velocity_policy='zero',
    effort_policy='hold',
    conflict_policy='/robot/driver',
    velocity_conflict_policy='report',
    wrap_policy='refuse',
    state_timeout=0.1,
    max_stamp_age=0.2,
    max_delay=0.3,
    velocity_cutoff=0.4,
)


def test_policies_are_those_of_the_parameters():
    found = state_parameters.policies(STATES)
    assert (found.position, found.velocity, found.effort) == ('hold', 'zero', 'hold')
    assert (found.conflict, found.followed) == ('/robot/driver', '/robot/driver')
    assert (found.velocity_conflict, found.wrap) == ('report', 'refuse')
    assert (found.state_timeout, found.max_stamp_age) == (0.1, 0.2)
    assert (found.max_delay, found.velocity_cutoff) == (0.3, 0.4)
    changed = {'effort_policy': 'zero', 'max_delay': 0.0, 'velocity_policy': 'reject'}
    found = state_parameters.policies(STATES, changed)
    assert (found.position, found.velocity, found.effort) == ('hold', 'reject', 'zero')
    assert (found.max_delay, found.state_timeout) == (0.0, 0.1)


def test_nodes_without_efforts_reject_them():
    without = Given({name: value for name, value in STATES.items() if name != 'effort_policy'})
    assert state_parameters.policies(without).effort == 'reject'


def test_nodes_that_process_every_state_use_measured_velocities():
    changed = {
        row.name: row.default
        for row, other in zip(state_parameters.AS_MEASURED, state_parameters.TABLE)
        if row != other
    }
    assert changed == {'velocity_policy': 'reject', 'max_delay': 0.0}


def test_shares_of_the_terms_that_efforts_contain():
    given = Given(effort_terms=['payload', 'gravity'])
    assert shared_parameters.effort_shares(given) == [1.0, 0.0, 0.0, 0.0, 1.0]


# --- loops ----------------------------------------------------------------------------------------


def test_files_of_loops_that_cannot_be_read_are_named_without_their_folder(tmp_path):
    path = tmp_path / 'loops.yaml'
    with pytest.raises(DescriptionError, match=r'^parameter loop_closures: loops\.yaml: '):
        closure_parameters.read_file(str(path))
    path.write_text('a: [1, 2]')
    assert closure_parameters.content_of(str(path)) == {'a': [1, 2]}
    path.write_text('a: [')
    with pytest.raises(DescriptionError, match=r'^parameter loop_closures: loops\.yaml: '):
        closure_parameters.read_file(str(path))


def test_loops_of_the_description():
    pytest.importorskip('mujoco')
    arm = (
        '<body name="{0}" pos="{1} 0 0"><joint name="{0}" axis="0 1 0"/>'
        '<geom type="capsule" fromto="0 0 0 0 0 0.2" size="0.01"/><site name="{0}" pos="0 0 0.2"/>'
        '{2}</body>'
    )
    bar = (
        '<body pos="0 0 0.2"><joint name="elbow" axis="0 1 0"/>'
        '<geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.01"/><site name="end" pos="0.3 0 0"/>'
        '</body>'
    )
    bodies = arm.format('left', 0, bar) + arm.format('right', 0.3, '')
    described = read_robot_description(
        f'<mujoco model="bars"><worldbody>{bodies}'
        '</worldbody><equality><connect site1="end" site2="right"/></equality><actuator>'
        '<motor joint="left"/></actuator><keyframe><key qpos="0.2 -0.2 0.2"/></keyframe></mujoco>'
    )
    loops = closure_parameters.read('description', described)
    assert loops.actuated == ('left',)
    closures, positions = closure_parameters.assembly('description', described)
    assert [each.name for each in closures] == [each.name for each in loops.closures]
    assert positions == loops.positions == {'left': 0.2, 'elbow': -0.2, 'right': 0.2}
    assert closure_parameters.assembly('', described) == ((), {})
