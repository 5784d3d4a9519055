# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The page of the view: its scene and its loop with viser, and its pictures in Chromium."""

from __future__ import annotations

import http.client
import socket
from contextlib import ExitStack, closing
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('viser')

from viser import GuiApi

from screw_dynamics_ros.cli.command_line import UnusableError
from screw_dynamics_ros.cli.view import command
from screw_dynamics_ros.cli.view.handle import all_solutions
from screw_dynamics_ros.cli.view.posture_source import PostureSource
from screw_dynamics_ros.cli.view.scene import FORCE_SCALE
from screw_dynamics_ros.cli.view.state import (
    MAX_MASS,
    MAX_OFFSET,
    ContactForce,
    DiagnosticLine,
    LinkWrench,
    ViewState,
    add_payload_controls,
    first_tool,
    moving_links,
)
from screw_dynamics_ros.cli.view.viewer import MAX_PORTS, Viewer, free_port
from screw_dynamics_ros.core import ArgumentError, Robot, bundled_urdf
from screw_dynamics_ros.core.lie import quaternions, se3
from screw_dynamics_ros.entry import UNUSABLE

LOCAL_HOST, PORT = '127.0.0.1', 18100
DEADLINE = 300.0  # s; only a failing test waits that long
HAND = 'panda_hand'


class StateSource(PostureSource):
    """Shows whatever state it is given."""

    def show(self, **more):
        self._state = ViewState(self._state.q, self._state.v, **more)


@pytest.fixture(scope='module')
def viewer():
    path = bundled_urdf('panda')
    with Viewer(StateSource(path.read_text(), path), LOCAL_HOST, PORT) as viewer:
        yield viewer


def dragged(viewer, pose, client='some client'):
    control = viewer.handle._control
    control.position = pose[:3, 3]
    viewer.handle._dragged(SimpleNamespace(client=client))


def test_links_are_where_the_robot_has_them(viewer):
    source = viewer.source
    q = source.robot.random_configuration(1)
    source.move(q)
    viewer.draw()
    for frame, pose in zip(viewer.scene.frames, source.robot.link_poses(q)):
        np.testing.assert_allclose(frame.position, pose[:3, 3], atol=1e-5)


def test_arrows_of_wrenches_and_contacts(viewer):
    source, scene = viewer.source, viewer.scene
    force = np.array([0.0, 0.0, 30.0])
    source.show(
        wrenches=(
            LinkWrench(HAND, np.concatenate([np.zeros(3), force])),
            LinkWrench('no such link', np.ones(6)),
            LinkWrench(HAND, np.full(6, np.nan)),
        ),
        contacts=(ContactForce(HAND, np.array([0.1, 0.0, 0.0]), force),),
    )
    viewer.draw()
    pose = source.robot.link_pose(source.latest().q, HAND)
    vector = FORCE_SCALE * pose[:3, :3] @ force
    np.testing.assert_allclose(
        scene.forces.points, [[pose[:3, 3], pose[:3, 3] + vector]], atol=1e-5
    )
    assert not scene.moments.node.visible
    point = pose[:3, :3] @ [0.1, 0.0, 0.0] + pose[:3, 3]
    np.testing.assert_allclose(scene.contacts.points[0, 1], point, atol=1e-5)
    source.show()
    viewer.draw()
    assert not scene.forces.node.visible


def test_the_standard_deviation_of_a_force_at_its_head(viewer):
    source = viewer.source
    covariance = np.diag([9.0, 9.0, 9.0, 4.0, 1.0, 16.0])
    wrench = np.array([0.0, 0.0, 0.0, 10.0, 0.0, 0.0])
    source.show(wrenches=(LinkWrench(HAND, wrench, covariance=covariance),))
    viewer.draw()
    (node,) = viewer.scene.deviations.nodes
    pose = source.robot.link_pose(source.latest().q, HAND)
    np.testing.assert_allclose(sorted(node.scale), [0.01, 0.02, 0.04])
    np.testing.assert_allclose(node.position, pose[:3, 3] + 0.1 * pose[:3, 0], atol=1e-6)
    source.show()
    viewer.draw()
    assert not node.visible


def test_masses_and_inertias(viewer):
    """A sphere in each link and one in the robot; the ellipsoids have the inertias of the links."""
    source, scene = viewer.source, viewer.scene
    robot, q = source.robot, source.latest().q
    source.show()
    scene.show_masses = scene.show_inertias = True
    viewer.draw()
    links = [link for link in robot.description.links if link.inertia is not None]
    assert len(scene.masses.nodes) == len(links) + 1 == len(scene.inertias.nodes) + 1
    np.testing.assert_allclose(scene.masses.nodes[-1].position, robot.center_of_mass(q), atol=1e-6)
    for mass, node, link in zip(scene.masses.nodes, scene.inertias.nodes, links):
        pose, body = robot.link_pose(q, link.name), link.inertia
        center = pose[:3, :3] @ body.com + pose[:3, 3]
        np.testing.assert_allclose(mass.position, center, atol=1e-6)
        np.testing.assert_allclose(node.position, center, atol=1e-6)
        R = quaternions.to_matrix(np.roll(node.wxyz, -1))
        squares = R * np.square(node.scale) @ R.T
        matrix = body.mass / 5.0 * (np.trace(squares) * np.eye(3) - squares)
        np.testing.assert_allclose(matrix, pose[:3, :3] @ body.matrix @ pose[:3, :3].T, atol=1e-6)
    scene.show_masses = scene.show_inertias = False
    source.show()
    viewer.draw()
    assert not any(node.visible for node in (*scene.masses.nodes, *scene.inertias.nodes))


def test_diagnostics_are_text(viewer):
    viewer.source.show(diagnostics=(DiagnosticLine('error', '<script>', 'x < y'),))
    viewer.draw(whole=True)
    assert '<b>&lt;script&gt;</b> x &lt; y' in viewer._diagnostics.content
    assert viewer._diagnostics.visible


def test_the_robot_follows_the_handle(viewer):
    source, robot = viewer.source, viewer.source.robot
    viewer.handle._links.value = HAND
    q = robot.random_configuration(3)
    source.move(q)
    viewer.draw()
    target = robot.link_pose(q, HAND) @ se3.pose(np.eye(3), [0.02, 0.01, -0.03])
    dragged(viewer, target)
    while viewer.handle._target is not None:
        viewer.draw()
    np.testing.assert_allclose(robot.link_pose(source.latest().q, HAND), target, atol=1e-3)


def test_each_step_begins_where_the_robot_is(viewer):
    """Sliders may have moved it since the last one."""
    source, robot = viewer.source, viewer.source.robot
    viewer.handle._links.value = HAND
    start, other = robot.random_configuration(3), robot.random_configuration(4)
    source.move(start)
    viewer.draw()
    dragged(viewer, robot.link_pose(start, HAND) @ se3.pose(np.eye(3), [0.3, 0.0, 0.0]))
    viewer.draw()
    assert np.abs(source.latest().q - start).max() > 1e-6
    source.move(other)
    viewer.draw()
    far = np.abs(other - start).max()
    assert np.abs(source.latest().q - other).max() < 0.3 * far
    viewer.handle._target = None


@pytest.mark.parametrize('x', [np.nan, 1e9])
def test_a_handle_elsewhere_is_ignored(viewer, x):
    viewer.handle._links.value = HAND
    viewer.draw()
    dragged(viewer, se3.pose(np.eye(3), [x, 0.0, 0.0]))
    assert viewer.handle._target is None


def test_all_solutions_are_drawn(viewer):
    handle = viewer.handle
    handle._links.value = HAND
    handle._all.value = True
    viewer.draw()
    handle._future.result(DEADLINE)
    viewer.draw()
    assert any(node.visible for _, node in handle._ghosts._nodes)
    assert 'panda_joint7 locked' in handle._report.content
    handle._all.value = False
    viewer.draw()
    assert not any(node.visible for _, node in handle._ghosts._nodes)


def test_why_there_are_no_solutions():
    """Too few joints, or a pose of which no solution is known."""
    robot = Robot.from_urdf(bundled_urdf('panda'))
    q = robot.neutral()
    for link, text in (
        ('panda_link5', '5 joints move panda_link5: 6 or more are needed'),
        ('nowhere', "no link named 'nowhere'"),
    ):
        found, reason = all_solutions(robot, link, np.eye(4), q)
        assert found.shape == (0, robot.nq)
        assert text in reason


def test_a_target_that_cannot_be_followed(viewer, monkeypatch):
    """The reason is shown, and the handle returns to the link."""
    viewer.handle._links.value = HAND
    viewer.draw()
    dragged(viewer, se3.pose(np.eye(3), [0.4, 0.0, 0.5]))

    def fails(*_, **options):
        raise ArgumentError('a <reason>')

    with monkeypatch.context() as patch:
        patch.setattr(viewer.handle, '_loop', SimpleNamespace(step=fails))
        viewer.draw()
    assert 'a &lt;reason&gt;' in viewer.handle._report.content
    assert viewer.handle._report.visible
    assert viewer.handle._target is None
    viewer.handle._loop = None


def test_sliders_of_a_payload(viewer):
    carried = []
    gui, robot = viewer.server.gui, viewer.source.robot
    before = set(gui._gui_input_handle_from_uuid)
    add_payload_controls(gui, robot, lambda *given: carried.append(given))
    link, mass, *center = [
        handle for uuid, handle in gui._gui_input_handle_from_uuid.items() if uuid not in before
    ]
    assert link.value == first_tool(robot)
    link.value = HAND
    mass.value = 2.5
    for slider, value in zip(center, (0.1, -0.2, 0.3)):
        slider.value = value
    name, body = carried[-1]
    assert (name, body.mass) == (HAND, 2.5)
    np.testing.assert_allclose(body.com, [0.1, -0.2, 0.3])
    count = len(carried)
    for wrong in (-0.1, MAX_MASS + 0.1, np.nan):
        mass.value = wrong
    assert len(carried) == count
    mass.value = 1.0
    center[1].value = 9.0  # not from the slider
    np.testing.assert_allclose(carried[-1][1].com, [0.1, MAX_OFFSET, 0.3])
    mass.value = 0.0
    assert carried[-1] == (HAND, None)


def test_links_that_may_carry():
    """Those that move; the first one without children at first."""
    robot = Robot.from_urdf(bundled_urdf('panda'))
    links = moving_links(robot)
    assert 'panda_link0' not in links
    assert first_tool(robot) in links
    assert first_tool(robot) not in {joint.parent for joint in robot.description.joints}
    rigid = Robot.from_urdf('<robot name="r"><link name="a"/></robot>')
    assert moving_links(rigid) == ['a']
    assert first_tool(rigid) == 'a'


@pytest.mark.parametrize('dark', [False, True])
def test_colors_of_the_page(monkeypatch, dark):
    """Without buttons that lead away from this machine."""
    themes = []
    monkeypatch.setattr(GuiApi, 'configure_theme', lambda gui, **given: themes.append(given))
    path = bundled_urdf('panda')
    with Viewer(StateSource(path.read_text(), path), LOCAL_HOST, PORT + 50, dark=dark):
        (theme,) = themes
    assert theme['dark_mode'] == dark
    assert not theme['show_logo']
    assert not theme['show_share_button']


def test_no_public_relay(viewer):
    assert viewer.server.request_share_url() is None


def answer(viewer, **headers):
    port = viewer.server.get_port()
    with closing(http.client.HTTPConnection(LOCAL_HOST, port, timeout=DEADLINE)) as connection:
        connection.request('GET', '/', headers={'Host': f'{LOCAL_HOST}:{port}', **headers})
        with connection.getresponse() as response:
            return response.status


def test_only_its_own_pages_reach_the_server(viewer):
    port = viewer.server.get_port()
    assert answer(viewer) == 200
    assert answer(viewer, Origin=f'http://{LOCAL_HOST}:{port}') == 200
    assert answer(viewer, Origin='http://example.org') == 403
    assert answer(viewer, Origin='null') == 403
    assert answer(viewer, Host=f'example.org:{port}') == 403


def test_the_next_port_if_one_is_taken():
    with socket.socket() as taken:
        taken.bind((LOCAL_HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert port < free_port(LOCAL_HOST, port) < port + MAX_PORTS


def test_no_port_is_free():
    """Of as many as are tried, and behind the last one."""
    host, first = '127.0.0.77', 21000  # no other program listens there
    with ExitStack() as stack:
        for port in range(first, first + MAX_PORTS - 1):
            taken = stack.enter_context(socket.socket())
            taken.bind((host, port))
            taken.listen()
        assert free_port(host, first) == first + 99
        assert free_port(host, first + 1) == first + 99
        taken = stack.enter_context(socket.socket())
        taken.bind((host, first + 99))
        taken.listen()
        with pytest.raises(UnusableError, match=f'no free port from {first} on {host}; give anoth'):
            free_port(host, first)
    with pytest.raises(UnusableError, match='no free port from 65536'):
        free_port(host, 2**16)


def test_an_address_of_another_machine(capsys):
    assert command.main(['panda', '--host', '192.0.2.1']) == UNUSABLE
    assert 'cannot listen on 192.0.2.1' in capsys.readouterr().err


def test_the_export_is_one_file(tmp_path, capsys):
    page = tmp_path / 'panda.html'
    assert command.main(['panda', '--port', str(PORT), '--export', str(page)]) == 0
    text = page.read_text()
    assert '__VISER_EMBED_DATA__' in text
    assert '<script src=' not in text


def test_errors_name_the_remedy(capsys, monkeypatch):
    assert command.main(['no_such_robot']) == UNUSABLE
    assert 'panda' in capsys.readouterr().err
    assert command.main(['no_such_robot.urdf']) == UNUSABLE
    assert 'argument ROBOT: cannot read the description' in capsys.readouterr().err
    monkeypatch.setattr(command, 'find_spec', lambda name: None)
    assert command.main(['panda']) == UNUSABLE
    assert 'pip install viser' in capsys.readouterr().err
