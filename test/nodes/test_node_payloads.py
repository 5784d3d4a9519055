# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Payloads by requests and parameters: random sequences against a model; torques without steps.

The node runs in this process (`support.host_bench`), on a clock of ours.
"""

import numpy as np
import pytest

pytest.importorskip('screw_dynamics_msgs.srv._set_payload')

from geometry_msgs.msg import InertiaStamped
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from screw_dynamics_msgs import srv
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.errors import ErrorCode
from screw_dynamics_ros.core.lie import se3
from support.host_bench import Bench, serialized
from support.robots import urdf_path
from support.sequences import run_sequences

GRAVITY = [1.0, -9.0, 2.0]
PLANAR = urdf_path('planar_2r').read_text()
ROBOTS = {
    'light': PLANAR,
    'heavy': PLANAR.replace('mass value="1', 'mass value="3'),
    'renamed': PLANAR.replace('"tip"', '"finger"'),
}
MODELS = {
    name: Robot.from_urdf(text, gravity=GRAVITY, backend='reference')
    for name, text in ROBOTS.items()
}
JOINTS = 'joint1', 'joint2'
COM, INERTIA = [0.1, 0.02, -0.03], np.diag([0.02, 0.03, 0.04])
BAD_NUMBERS = {
    'negative': (-1.0, COM, INERTIA, ErrorCode.INVALID_INERTIA),
    'nan': (float('nan'), COM, INERTIA, ErrorCode.NOT_FINITE),
    'infinite place': (1.0, [0.0, float('inf'), 0.0], INERTIA, ErrorCode.NOT_FINITE),
    'huge': (1e9, COM, INERTIA, ErrorCode.INVALID_ARGUMENT),
    'far': (1.0, [1e6, 0.0, 0.0], INERTIA, ErrorCode.INVALID_ARGUMENT),
    'no body': (1.0, COM, np.diag([0.01, 0.01, 0.05]), ErrorCode.INVALID_INERTIA),
    'no mass': (0.0, COM, INERTIA, ErrorCode.INVALID_INERTIA),
}


def ask(node, name, request):
    """Send a request to a service of a node in this process."""
    (service,) = [each for each in node.services if each.srv_name.endswith(f'/{name}')]
    return service.callback(request, service.srv_type.Response())


def inertia(frame, mass, com=COM, matrix=INERTIA):
    message = InertiaStamped()
    message.header.frame_id = frame
    message.inertia.m = float(mass)
    message.inertia.com.x, message.inertia.com.y, message.inertia.com.z = map(float, com)
    fields = 'ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'
    for field, value in zip(fields, np.asarray(matrix)[np.triu_indices(3)].tolist()):
        setattr(message.inertia, field, value)
    return message


def set_payload(name, frame, mass, *, link='', seconds=0.0, com=COM, matrix=INERTIA):
    request = srv.SetPayload.Request(
        name=name, link=link, inertia=inertia(frame, mass, com, matrix)
    )
    request.transition_time.sec = int(seconds // 1)
    request.transition_time.nanosec = round(1e9 * (seconds % 1))
    return request


def clear_payload(name='', seconds=0.0, kind='ClearPayload'):
    request = getattr(srv, kind).Request(name=name)
    request.transition_time.sec = int(seconds // 1)
    request.transition_time.nanosec = round(1e9 * (seconds % 1))
    return request


class Machine(RuleBasedStateMachine):
    """The model: a line of inertial parameters for each name and link that something was put on."""

    bench = None  # see the fixture

    @initialize()
    def begin(self):
        bench = type(self).bench
        bench.finish()
        ask(bench.node, 'clear_payload', clear_payload())
        bench.describe(ROBOTS['light'])
        self.robot, self.lines, self.q = 'light', {}, None
        self.state(0.3, -0.5)

    # --- the model ------------------------------------------------------------------------------

    def at(self, key, now):
        start, end, begin, duration = self.lines[key]
        s = 1.0 if duration == 0.0 else min(1.0, (now - begin) / duration)
        return (1.0 - s) * start + s * end

    def change(self, name, seconds, link=None, phi=None):
        now = self.bench.clock.monotonic()
        start = {key: self.at(key, now) for key in self.lines}
        for key in self.lines:
            if key[0] == name:
                self.lines[key] = start[key], np.zeros(10), now, seconds
        if link is not None:
            begin = start.get((name, link), np.zeros(10))
            self.lines[name, link] = begin, phi, now, seconds

    def is_there(self, name):
        now = self.bench.clock.monotonic()
        return any(
            key[0] == name and (self.lines[key][1].any() or self.at(key, now)[0] > 1e-9)
            for key in self.lines
        )

    # --- what happens ---------------------------------------------------------------------------

    @rule(
        name=st.sampled_from(['a', 'b', 'parameters', '']),
        frame=st.sampled_from(['link1', 'link2', 'tip', 'tip', 'finger', 'nose', '']),
        link=st.sampled_from(['', '', 'link2', 'tip']),
        mass=st.sampled_from([0.0, 1.0, 2.5]),
        seconds=st.sampled_from([0.0, 0.0, 0.5, 0.5, 2.0, 2.0, -1.0]),
        bad=st.sampled_from([None] * 30 + [*BAD_NUMBERS]),
    )
    def put(self, name, frame, link, mass, seconds, bad):
        matrix = INERTIA if mass else np.zeros((3, 3))
        com, expected = COM, ErrorCode.SUCCESS
        if bad is not None:
            mass, com, matrix, expected = BAD_NUMBERS[bad]
        response = ask(
            self.bench.node,
            'set_payload',
            set_payload(name, frame, mass, link=link, seconds=seconds, com=com, matrix=matrix),
        )
        links = MODELS[self.robot].link_names
        carrier, given = link or frame, frame or link
        codes = {expected} - {ErrorCode.SUCCESS}
        if not carrier or seconds < 0.0:
            codes.add(ErrorCode.INVALID_ARGUMENT)
        if carrier and not {carrier, given} <= set(links):
            codes.add(ErrorCode.UNKNOWN_NAME)
        assert response.success == (not codes)
        assert response.error_code in (codes or {ErrorCode.SUCCESS}), response.message
        assert response.header.stamp.sec > 0
        assert response.message
        assert response.header.frame_id == ('' if codes else carrier)
        if not codes:
            body = RigidBody(mass, np.array(com), np.array(matrix))
            robot = MODELS[self.robot]
            poses = [robot.link_pose(self.q, each) for each in (carrier, given)]
            body = body.moved(se3.inverse(poses[0]) @ poses[1])
            phi = body.parameters if mass else np.zeros(10)
            self.change(name or 'payload', seconds, carrier if mass else None, phi)

    @rule(
        name=st.sampled_from(['', 'a', 'b', 'parameters', 'payload']),
        seconds=st.sampled_from([0.0, 0.5, -1.0]),
    )
    def clear(self, name, seconds):
        known = not name or self.is_there(name)
        response = ask(self.bench.node, 'clear_payload', clear_payload(name, seconds))
        assert response.success == (known and seconds >= 0.0), response.message
        if response.success:
            for each in [name] if name else {key[0] for key in self.lines}:
                self.change(each, seconds)
        else:
            assert response.error_code in (ErrorCode.UNKNOWN_NAME, ErrorCode.INVALID_ARGUMENT)

    @rule(link=st.sampled_from(['', 'link1', 'link2']), mass=st.sampled_from([0.0, 1.5]))
    def parameters(self, link, mass):
        values = {
            'payload_link': link,
            'payload_mass': mass,
            'payload_center_of_mass': COM,
            'payload_inertia': (INERTIA if mass else np.zeros((3, 3)))[np.triu_indices(3)].tolist(),
        }
        node = self.bench.node
        before = {name: plain(node.get_parameter(name).value) for name in values}
        given = [Parameter(name, value=value) for name, value in values.items()]
        assert node.set_parameters_atomically(given).successful
        if before != {name: plain(value) for name, value in values.items()}:
            phi = RigidBody(mass, np.array(COM), INERTIA).parameters if mass else np.zeros(10)
            self.change('parameters', 0.0, link if mass and link else None, phi)

    @rule(name=st.sampled_from(sorted(ROBOTS)))
    def description(self, name):
        """Offered, and while it is being compiled anything may come."""
        self.bench.host.source.receive(String(data=ROBOTS[name]))

    @rule()
    def taken_over(self):
        self.bench.finish()
        text = self.bench.host.model.text
        before, (self.robot,) = self.robot, [n for n, each in ROBOTS.items() if each == text]
        if self.robot != before:
            self.state(0.1, 0.2)

    @rule(seconds=st.sampled_from([0.05, 0.3, 3.0]))
    def time(self, seconds):
        self.bench.clock.offset += seconds
        self.state(*self.q)

    @rule(q1=st.floats(-3, 3), q2=st.floats(-3, 3))
    def state(self, q1, q2):
        """The torques of what is carried are those of the lines."""
        bench = self.bench
        bench.clock.offset += 0.002
        self.q = [q1, q2]
        bench.host.states.receive(serialized(JOINTS, self.q, bench.clock.time_ns()), {})
        robot = MODELS[self.robot]
        parameters = np.zeros(10 * len(robot.tree.bodies))
        for key in self.lines:
            phi = self.at(key, bench.clock.monotonic())
            if key[1] in robot.link_names and phi[0] > 0.0:
                parameters += robot.payload_parameters({key[1]: RigidBody.from_parameters(phi)})
        rest = np.zeros(2)
        expected = robot.payload_torques(self.q, rest, rest, parameters)
        found = bench.host.model.results[bench.part.outputs.terms.payload]
        np.testing.assert_allclose(found, expected, atol=1e-9)

    @rule()
    def looked_at(self):
        """Diagnostics name what is on links that there are not, and all masses."""
        status, links = self.bench.host.payload_status(), MODELS[self.robot].link_names
        now = self.bench.clock.monotonic()
        for (name, link), line in self.lines.items():
            is_lost = bool(line[1].any()) and link not in links
            assert any(f'{name!r}: the robot has no link {link!r}' in t for t in status.texts) == (
                is_lost
            )
            if self.at((name, link), now)[0] > 1e-3:
                assert f'on {link}' in ' '.join(
                    [status.values[f'payload {name}'], *status.values.values()]
                )


def plain(value):
    return list(value) if hasattr(value, 'tolist') else value


@pytest.fixture
def bench(monkeypatch, keep):
    made = keep(
        Bench(
            monkeypatch,
            backend='python',
            max_delay=10.0,
            gravity=GRAVITY,
            state_timeout=0.0,
            age_limit=2.0,
        )
    )
    Machine.bench = made
    return made


def test_what_is_carried_is_what_was_asked_for_last(bench):
    run_sequences(Machine, 20)


# --- commands ---


def command_after(bench, seconds=0.002, q=(0.3, -0.5)):
    """Return the command of a joint state that comes `seconds` after the last one."""
    bench.clock.offset += seconds
    bench.sent.clear()
    bench.host.states.receive(serialized(JOINTS, q, bench.clock.time_ns()), {})
    data = [data for topic, data in bench.sent if topic.endswith('/feedforward')]
    assert data, (bench.part.commands.status(), bench.host.joint_state_status())
    (data,) = data
    return np.array(deserialize_message(data, JointState).effort)


@pytest.fixture
def commanding(bench):
    """Make the bench command torques, at rest and ramped in."""
    limits = [Parameter('limited_joints', value=list(JOINTS)), Parameter('enabled', value=True)]
    limits += [Parameter(name, value=[1e3, 1e3]) for name in ('effort_limits', 'effort_rates')]
    assert bench.node.set_parameters_atomically(limits).successful
    bench.describe(ROBOTS['light'])
    for _ in range(60):
        command_after(bench, 0.05)
    return bench


def carried(mass, com=COM, matrix=INERTIA):
    """Return the torques that carry a body on the tip, at rest."""
    rest = np.zeros(2)
    load = {'tip': RigidBody(mass, np.array(com), np.array(matrix))}
    return MODELS['light'].payload_torques([0.3, -0.5], rest, rest, load)


def test_commands_follow_the_transition_and_nothing_else(commanding):
    """No step at its start or end, and no second blend: always on the straight line."""
    before = command_after(commanding)
    begins = [commanding.clock.monotonic()]
    assert ask(commanding.node, 'set_payload', set_payload('a', 'tip', 2.0, seconds=1.0)).success
    begins.append(commanding.clock.monotonic())
    tolerance = 1e-6 * np.abs(carried(2.0)).max()
    found = before
    while begins[1] + 1.1 > (sent := commanding.clock.monotonic()):
        found = command_after(commanding, 0.004)
        shares = sent + 0.004 - begins[1], commanding.clock.monotonic() - begins[0]
        lines = [before + min(1.0, share) * carried(2.0) for share in shares]
        assert (found >= np.min(lines, axis=0) - tolerance).all(), shares
        assert (found <= np.max(lines, axis=0) + tolerance).all(), shares
    np.testing.assert_allclose(found, before + carried(2.0), rtol=1e-12)


def test_commands_blend_to_a_payload_without_transition(commanding):
    """At once for the model; for a controller over `blend_time`."""
    before = command_after(commanding)
    assert ask(commanding.node, 'set_payload', set_payload('a', 'tip', 2.0)).success
    first = command_after(commanding)
    assert np.abs(first - before).max() < 0.05 * np.abs(carried(2.0)).max()
    model, terms = commanding.host.model, commanding.part.outputs.terms
    np.testing.assert_allclose(model.results[terms.payload], carried(2.0), rtol=1e-12)
    for _ in range(20):
        last = command_after(commanding, 0.05)
    np.testing.assert_allclose(last, before + carried(2.0), rtol=1e-12)


# --- names, parameters, services that share them ---


def test_parameters_tell_what_a_request_has_set(bench):
    """The payload `parameters` is that of the parameters, however it is set."""
    bench.finish()
    node = bench.node
    response = ask(node, 'set_payload', set_payload('parameters', 'tip', 2.0, seconds=0.5))
    assert response.success, response.message
    assert node.get_parameter('payload_link').value == 'tip'
    assert node.get_parameter('payload_mass').value == 2.0
    assert list(node.get_parameter('payload_inertia').value) == [0.02, 0.0, 0.0, 0.03, 0.0, 0.04]
    assert not bench.host.payloads.is_settled  # the transition counts for parameters, too
    assert ask(node, 'clear_payload', clear_payload()).success
    assert node.get_parameter('payload_link').value == ''


def test_the_same_parameters_again_replace_what_is_under_way(bench):
    bench.describe(ROBOTS['light'])
    node, payloads = bench.node, bench.host.payloads
    assert ask(node, 'set_payload', set_payload('parameters', 'tip', 2.0, seconds=100.0)).success
    assert not payloads.is_settled
    assert ask(node, 'set_payload', set_payload('parameters', 'tip', 2.0)).success
    assert payloads.bodies()['tip'].mass == 2.0
    assert node.set_parameters_atomically([Parameter('payload_mass', value=3.0)]).successful
    assert payloads.bodies()['tip'].mass == 3.0  # parameters themselves have no transition
    assert ask(node, 'clear_payload', clear_payload('parameters', 100.0)).success
    assert node.get_parameter('payload_link').value == ''
    assert ask(node, 'clear_payload', clear_payload('parameters')).success
    assert not payloads.bodies()


def test_a_fault_of_ours_ends_nothing(bench, monkeypatch):
    monkeypatch.setattr(bench.host.payloads, 'remove_all', lambda duration: 1 / 0)
    response = ask(bench.node, 'clear_payload', clear_payload())
    assert response.error_code == ErrorCode.INTERNAL
    assert 'ZeroDivisionError' in response.message
