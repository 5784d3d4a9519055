# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Progress in short lines, the log, and the one error of the set-up."""

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path


class SetupError(Exception):
    """The set-up cannot go on; the message says why and what to do."""


class Console:
    """Says which step runs and for how long; everything else goes to the log.

    Parameters
    ----------
    log
        File that takes the output of the commands.
    inherited
        File descriptors that commands keep open (the lock, so that it outlives a killed set-up).
    """

    def __init__(self, log: Path, inherited: Sequence[int] = ()) -> None:
        self._log = log
        self._inherited = tuple(inherited)
        self._started = time.monotonic()
        self._said = self._started
        self._estimate = 0.0
        self._live = sys.stderr.isatty()

    def say(self, text: str) -> None:
        """Print one line."""
        print(text, file=sys.stderr, flush=True)

    @contextmanager
    def step(self, title: str, estimate: float = 0.0) -> Iterator[None]:
        """Announce a step and about how many seconds it takes, and its duration when it is done."""
        self.say(f'setup: {title} {f"(about {estimate:g} s) " if estimate else ""}...')
        self._started = self._said = time.monotonic()
        self._estimate = estimate
        yield
        self.say(f'       done in {time.monotonic() - self._started:.0f} s')

    def run(self, command: Sequence[str | Path], environment: Mapping[str, str]) -> None:
        """Run a command, its output into the log; raise `SetupError` when it fails."""
        words = [str(word) for word in command]
        with self._log.open('a', buffering=1, encoding='utf-8') as log:
            start = log.tell()
            print('$', *words, file=log, flush=True)
            with subprocess.Popen(
                words,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors='replace',
                pass_fds=self._inherited,
            ) as process:
                assert process.stdout is not None
                for line in process.stdout:
                    log.write(line)
                    self._show(line.strip())
            print(end=self._erase(), file=sys.stderr, flush=True)
        if process.returncode:
            with self._log.open(encoding='utf-8') as log:
                log.seek(start)
                raise SetupError(self._failure(words, process.returncode, log.read()))

    def _show(self, line: str) -> None:
        """Show that a long command is alive: a status line on a terminal, else every 20 s."""
        now = time.monotonic()
        if (self._live or now - self._said > 20) and not line.startswith('WARNING'):
            self._said = now
            passed = now - self._started
            left = self._estimate - passed
            time_left = f', about {left:.0f} s left' if left >= 1.0 else ''
            text = f'       {passed:.0f} s{time_left}  {line}'[:79]
            print(self._erase() + text, end='' if self._live else '\n', file=sys.stderr, flush=True)

    def _erase(self) -> str:
        return '\r\033[K' if self._live else ''

    def _failure(self, words: Sequence[str], status: int, output: str) -> str:
        if 'connection broken by' in output or 'Failed to establish a new connection' in output:
            reason = (
                'The Python package index cannot be reached. Connect this machine to the '
                'network, or set HTTPS_PROXY or PIP_INDEX_URL, and run the command again.'
            )
        elif 'No space left on device' in output:
            reason = 'The disk is full: the environment takes about 2 GB.'
        else:
            lines = [line for line in output.splitlines() if not line.startswith('WARNING')]
            reason = '\n'.join(['Its last lines:', *(f'    {line}' for line in lines[-15:])])
        return (
            f'`{" ".join(words[:4])} ...` failed (exit status {status}). {reason}\n'
            f'The whole output is in {self._log}'
        )
