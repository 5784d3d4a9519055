# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Processes of `python -m screw_dynamics_ros NAME` that need not import the package.

They are forked from a process that has imported it, which costs a second of processor time each.
That one begins with the first of them and ends with the process of the tests. Tests of starts, and
of what a process imports, begin with `subprocess.Popen` instead.
"""

import atexit
import os
import pickle
import selectors
import signal
import socket
import subprocess
import sys

from screw_dynamics_ros.ros.process.children import end_with_parent
from support.paths import ROOT

MODULES = os.environ.get('PYTHONPATH')
DEADLINE = 600.0  # s; only a failing test waits that long


def start(arguments, environment, log):
    """Start a process; one with other modules, or whose coverage is measured, imports them."""
    if os.environ.get('PYTHONPATH') == MODULES and 'COVERAGE_PROCESS_START' not in os.environ:
        return WarmProcess(arguments, environment, log)
    command = [sys.executable, '-m', 'screw_dynamics_ros', *arguments]
    return subprocess.Popen(
        command, env=environment, stdout=log, stderr=log, preexec_fn=end_with_parent
    )


class WarmProcess:
    """A process, as `subprocess.Popen`, with its output in a file.

    Parameters
    ----------
    arguments : sequence of str
        Those after `python -m screw_dynamics_ros`.
    environment : dict
    log : file
    """

    _server, _process = None, None

    def __init__(self, arguments, environment, log):
        self.args, self.returncode = list(arguments), None
        self._status, theirs = os.pipe()
        request = os.memfd_create('request')
        os.pwrite(request, pickle.dumps((self.args, environment, os.getcwd())), 0)
        socket.send_fds(self.server(), [b'fork'], [request, log.fileno(), theirs])
        os.close(request)
        os.close(theirs)
        self.pid = int(self.server().recv(64))

    @classmethod
    def server(cls):
        """Return the socket of the process that forks; it begins with the first call."""
        if cls._server is None:
            cls._server, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            path = [str(ROOT / 'test'), str(ROOT), os.environ.get('PYTHONPATH', '')]
            own = {'PYTHONPATH': os.pathsep.join(path), 'OPENBLAS_NUM_THREADS': '1'}
            cls._process = subprocess.Popen(
                [sys.executable, '-m', 'support.warm_processes', str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env={**os.environ, **own},
                preexec_fn=end_with_parent,
            )
            theirs.close()
            atexit.register(cls._process.wait)
            atexit.register(cls._server.close)
        return cls._server

    def wait(self, timeout=None):
        """Return the status; raise `TimeoutExpired` if the process has not ended by then."""
        if self.returncode is None:
            with selectors.DefaultSelector() as selector:
                selector.register(self._status, selectors.EVENT_READ)
                if not selector.select(timeout):
                    raise subprocess.TimeoutExpired(self.args, timeout)
            self.returncode = int(os.read(self._status, 64) or -signal.SIGKILL)
            os.close(self._status)
        return self.returncode

    def poll(self):
        """Return the status, None if the process has not ended."""
        try:
            return self.wait(0.0)
        except subprocess.TimeoutExpired:
            return None

    def send_signal(self, number):
        """Send a signal to a process that has not ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        """End the process by force."""
        self.send_signal(signal.SIGKILL)


class Command:
    """A command that talks to nodes, and what it prints.

    Parameters
    ----------
    words : sequence of str
        Those after `python -m screw_dynamics_ros`.
    folder : path
    domain : int
    ros : sequence of str
        Those after ``--ros-args``.
    """

    def __init__(self, words, folder, domain, ros):
        environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain)}
        self._printed = folder / 'printed'
        with self._printed.open('w') as log:
            self.process = start([*words, '--ros-args', *ros], environment, log)

    def end(self):
        """Wait for its end; return the status and the text."""
        return self.process.wait(DEADLINE), self._printed.read_text()


def serve(connection):
    """Fork processes as asked for; return in each of them, and tell how it has ended."""
    running = {}
    wakeup, signaled = os.pipe()
    for end in (wakeup, signaled):
        os.set_blocking(end, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(signaled)
    selector = selectors.DefaultSelector()
    selector.register(connection, selectors.EVENT_READ)
    selector.register(wakeup, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fileobj == wakeup:
                os.read(wakeup, 4096)
                continue
            asked, files, *_ = socket.recv_fds(connection, 64, 3)
            if not asked:
                os._exit(0)
            request, log, status = files
            for each in files:
                os.set_inheritable(each, False)
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                signal.signal(signal.SIGINT, signal.default_int_handler)
                # By their objects: what is closed by its number alone is closed once more when the
                # object is collected, and by then the number is that of a file of the middleware.
                selector.close()
                connection.close()
                for each in (wakeup, signaled, status, *running.values()):
                    os.close(each)
                become(log, *pickle.loads(os.pread(request, os.fstat(request).st_size, 0)))
                os.close(request)
                return
            os.close(request)
            os.close(log)
            running[pid] = status
            connection.send(str(pid).encode())
        for pid in list(running):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                os.write(running[pid], str(os.waitstatus_to_exitcode(status)).encode())
                os.close(running.pop(pid))


def become(log, arguments, environment, folder):
    """Let this process look as if it had been started with these."""
    end_with_parent()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv[1:] = arguments


if __name__ == '__main__':
    import gc

    from screw_dynamics_ros.entry import main
    from screw_dynamics_ros.nodes import executables  # noqa: F401
    from screw_dynamics_ros.registry import NODES, load

    for row in NODES.values():
        load(row.factory)
    gc.collect()
    gc.freeze()
    gc.unfreeze = lambda: None  # or each node would copy all of this, to collect it
    serve(socket.socket(fileno=int(sys.argv[1])))
    sys.exit(main())
