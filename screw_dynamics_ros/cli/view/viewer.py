# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The page: a viser server of this machine, its panel, and the loop that draws the newest state."""

from __future__ import annotations

import errno
import http
import inspect
import ipaddress
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from html import escape
from io import StringIO
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import viser
import websockets.asyncio.server

from screw_dynamics_ros.core.tree.joint_limits import of_velocities, velocity_names
from screw_dynamics_ros.core.types import Array

from ..command_line import UnusableError
from .handle import LinkHandle
from .link_meshes import ColoredMesh, link_meshes
from .scene import RobotScene, robot_length
from .state import DiagnosticLine, ViewSource, ViewState
from .torque_bars import bars

MAX_PORTS = 100  # ports to try


class LocalServer(viser.ViserServer):
    """A server without the public relay that `viser.ViserServer` opens on request.

    Parameters
    ----------
    host : str
        Address to listen on. For a loopback address, only pages from this machine may connect.
    port : int
        First port to try.
    label : str
        Title of the panel.

    Raises
    ------
    UnusableError
        If the server cannot listen on this address.
    """

    def __init__(self, host: str, port: int, label: str) -> None:
        with redirect_stdout(StringIO()), pages_of_this_server(is_loopback(host)):
            super().__init__(host=host, port=free_port(host, port), label=label, verbose=False)

    def request_share_url(self, verbose: bool = True) -> None:
        """Return None: there is no public address."""

    def stop(self) -> None:
        """End the server."""
        with redirect_stdout(StringIO()):
            super().stop()


@contextmanager
def pages_of_this_server(local: bool) -> Iterator[None]:
    """Restrict websocket servers started within the block to pages that they serve themselves.

    Otherwise any web page in the browser could connect to a port of this machine and move a robot.
    """
    serve = websockets.asyncio.server.serve

    def guarded(*arguments: Any, process_request: Any = None, **options: Any) -> Any:
        async def examine(connection: Any, request: Any) -> Any:
            if not is_own_page(request.headers, local):
                return connection.respond(http.HTTPStatus.FORBIDDEN, 'page of another server\n')
            answer = process_request(connection, request)
            return await answer if inspect.isawaitable(answer) else answer

        return serve(*arguments, process_request=examine, **options)

    websockets.asyncio.server.serve = guarded
    try:
        yield
    finally:
        websockets.asyncio.server.serve = serve


def is_own_page(headers: Mapping[str, str], local: bool) -> bool:
    """Whether a request comes from a page of the same server, or not from a page.

    Parameters
    ----------
    headers : mapping
        Headers of the request.
    local : bool
        Whether the host name must be a loopback name or address.

    Examples
    --------
    >>> is_own_page({'Host': 'localhost:8080', 'Origin': 'http://localhost:8080'}, True)
    True
    >>> is_own_page({'Host': 'localhost:8080', 'Origin': 'https://example.org'}, True)
    False
    >>> is_own_page({'Host': 'example.org:8080'}, True)  # a name that points to this machine
    False
    """
    host, origin = headers.get('Host', ''), headers.get('Origin')
    if origin is not None and urlsplit(origin).netloc != host:
        return False
    return not local or is_loopback(urlsplit(f'//{host}').hostname or '')


def is_loopback(host: str) -> bool:
    """Whether a name or address is a loopback address."""
    try:
        return host == 'localhost' or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def free_port(host: str, first: int) -> int:
    """Return the first free port, starting at `first`; raises `UnusableError` without one."""
    for port in range(first, min(first + MAX_PORTS, 2**16)):
        try:
            family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            with socket.socket(family, kind) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
            return port
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise UnusableError(
                    f'cannot listen on {host}: {error.strerror}; use 127.0.0.1, or an address of '
                    'this machine'
                ) from None
    raise UnusableError(f'no free port from {first} on {host}; give another one')


FRAME_PERIOD_S = 1.0 / 30.0
BARS_PERIOD_S = 0.1
IDLE_PERIOD_S = 1.0  # s between checks for an open page
LEVEL_COLORS = {'ok': '#228833', 'warning': '#ccbb44', 'error': '#e6261a', 'stale': '#888888'}
MAX_DIAGNOSTICS = 60
LIGHT_GRID, DARK_GRID = ((200,) * 3, (140,) * 3), ((45,) * 3, (75,) * 3)  # cells, sections
FIELD_OF_VIEW = 0.7  # rad
VIEW_DIRECTION = np.array([0.75, -0.55, 0.36])  # from the robot to the camera
VIEW_DISTANCE, MARGIN = 3.4, 0.1  # radii of the robot; m


class Viewer:
    """Shows the states of a source on all open pages.

    Parameters
    ----------
    source : ViewSource
    host : str
        Address to listen on.
    port : int
        First port to try.
    dark : bool
        Whether to use dark colors.
    """

    def __init__(self, source: ViewSource, host: str, port: int, *, dark: bool = False) -> None:
        self.source, self.dark = source, dark
        self.server = LocalServer(host, port, 'robot')
        self.address = f'http://{host}:{self.server.get_port()}'
        self._lock = threading.Lock()
        self._connected = threading.Event()
        self._generation: int | None = None
        self._drawn: ViewState | None = None
        self._stale = True
        self.handle: LinkHandle | None = None
        self._bars_time = -np.inf
        self.server.gui.configure_theme(
            dark_mode=dark, show_logo=False, show_share_button=False, control_width='large'
        )
        self.server.on_client_connect(lambda _: self._connected.set())
        self.draw()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        if self.handle is not None:
            self.handle.close()
        self.server.stop()

    def run(self) -> None:
        """Draw until `KeyboardInterrupt`; idle while no page is open."""
        while True:
            started = time.monotonic()
            if self.server.get_clients():
                self.draw()
                time.sleep(max(0.0, started + FRAME_PERIOD_S - time.monotonic()))
            else:
                self._connected.clear()
                self._connected.wait(IDLE_PERIOD_S)

    def draw(self, *, whole: bool = False) -> None:
        """Draw the newest state if it has changed; the panel less often, unless `whole`."""
        with self._lock:
            state = self.source.latest()  # may be the first state of a new robot
            if self._generation != self.source.generation:
                self._build()
            if state is None:
                return
            if state is self._drawn and self.handle is None and not self._stale:
                return
            self._stale = False
            with self.server.atomic():
                poses = self.scene.draw(state)
                if self._drawn is None:
                    self._aim(poses)
                if self.handle is not None:
                    self.handle.step(state.q, poses)
                self._draw_panel(state, whole)
            self._drawn = state

    def page(self) -> str:
        """Return the current scene as one HTML file."""
        return self.server.scene.as_html(dark_mode=self.dark)

    def _build(self) -> None:
        """Build the scene and the panel for a new robot."""
        source, server = self.source, self.server
        self._drawn = None
        self._generation, robot = source.generation, source.robot
        server.scene.reset()
        server.gui.reset()
        server.scene.set_up_direction('+z')
        size = robot_length(robot)
        cells, sections = DARK_GRID if self.dark else LIGHT_GRID
        server.scene.add_grid(
            '/ground',
            4.0 * size,
            4.0 * size,
            cell_size=0.25 * size,
            cell_color=cells,
            section_color=sections,
        )
        meshes, missing = link_meshes(source.urdf, robot.description, source.mesh_file)
        self.scene = RobotScene(server.scene, robot, meshes)
        self._joints = velocity_names(robot)
        self._limits = of_velocities(robot, robot.limits.effort)
        server.gui.set_panel_label(robot.description.name)
        self._stale = True
        self._add_panel(meshes, missing)

    def _aim(self, poses: Array) -> None:
        """Set the initial camera so that it shows all links."""
        low, high = poses[:, :3, 3].min(axis=0), poses[:, :3, 3].max(axis=0)
        center, radius = 0.5 * (low + high), 0.5 * float(np.linalg.norm(high - low)) + MARGIN
        camera = self.server.initial_camera
        camera.fov = FIELD_OF_VIEW
        camera.position = center + VIEW_DISTANCE * radius * VIEW_DIRECTION
        camera.look_at = center

    def _add_panel(self, meshes: dict[str, list[ColoredMesh]], missing: list[str]) -> None:
        gui, scene = self.server.gui, self.scene
        self._notice: Any = gui.add_html('', visible=False)
        with gui.add_folder('Torques [N m, N]'):
            self._bars: Any = gui.add_html('')
        self.source.add_controls(gui)
        if self.handle is not None:
            self.handle.close()
            self.handle = None
        if self.source.movable:
            self.handle = LinkHandle(
                self.server.scene,
                gui,
                scene.robot,
                meshes,
                self.source.move,
                FRAME_PERIOD_S,
                robot_length(scene.robot),
            )
        with gui.add_folder('Show', expand_by_default=False):
            self._add_switch('joint axes', 'show_axes')
            self._add_switch('wrenches', 'show_wrenches')
            self._add_switch('contacts', 'show_contacts')
            self._add_switch('inertias', 'show_inertias')
            self._add_switch('centers of mass', 'show_masses')
            links = gui.add_dropdown('velocity ellipsoid', ['', *scene.robot.link_names])

            def chosen(_: Any) -> None:
                scene.ellipsoid_link, self._stale = str(links.value), True

            links.on_update(chosen)

        self._diagnostics: Any = gui.add_html('', visible=False)
        if missing:
            shown = ''.join(f'<li>{escape(each)}</li>' for each in missing[:MAX_DIAGNOSTICS])
            with gui.add_folder('Missing meshes', expand_by_default=False):
                gui.add_html(f'<ul style="word-break:break-all">{shown}</ul>')

    def _add_switch(self, label: str, attribute: str) -> None:
        scene = self.scene
        box = self.server.gui.add_checkbox(label, getattr(scene, attribute))

        def switched(_: Any) -> None:
            setattr(scene, attribute, bool(box.value))
            self._stale = True

        box.on_update(switched)

    def _draw_panel(self, state: ViewState, whole: bool) -> None:
        now = time.monotonic()
        if now - self._bars_time < BARS_PERIOD_S and not whole:
            self._stale = True  # drawn with the next picture
            return
        self._bars_time = now
        self._bars.content = bars(self._joints, state.torques, self._limits)
        stale = tuple(line for line in state.diagnostics if line.level == 'stale')
        for html, lines in ((self._notice, stale), (self._diagnostics, state.diagnostics)):
            text = diagnostics(lines)
            if text != html.content:
                html.content = text
                html.visible = bool(text)


def diagnostics(lines: tuple[DiagnosticLine, ...]) -> str:
    """Return the diagnostics as a colored HTML list."""
    rows = ''.join(
        f'<div><span style="color:{LEVEL_COLORS[line.level]}">&#9679;</span> '
        f'<b>{escape(line.name)}</b> {escape(line.message)}</div>'
        for line in lines[:MAX_DIAGNOSTICS]
    )
    return f'<div style="padding:0 0.8em;font-size:0.8em">{rows}</div>' if rows else ''
