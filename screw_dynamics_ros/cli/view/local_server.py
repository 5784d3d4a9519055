# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A viser server that refuses pages of other origins and public relays."""

from __future__ import annotations

import errno
import http
import inspect
import ipaddress
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from typing import Any
from urllib.parse import urlsplit

import viser
import websockets.asyncio.server

from ..command_line import UnusableError

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
