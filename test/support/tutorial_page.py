# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Run a page as a reader does, block after block, and compare what is printed.

    python test/support/tutorial_page.py doc/tutorials/<page>.md [--pictures]

Lines after `>>>` go to one Python, those after `$ ` in blocks of kind `console` to one bash, both
in an empty folder; blocks of other kinds are only read. Output is compared by the rules of doctest:
white space is one, and `...` stands for anything. A command that ends with another status than 0
fails. Pictures that the page shows have to be written by its blocks; --pictures stores them.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r'^```(\w+)\n(.*?)^```$', re.MULTILINE | re.DOTALL)
PROMPT = re.compile(r"^\$ (.*<< 'EOF'\n(?:.*\n)*?EOF|(?:.*\\\n)*.*)\n?", re.MULTILINE)
PICTURE = re.compile(r'!\[[^\]]*\]\((\.\./pictures/[^)]+)\)')


class Shell:
    """One bash for all commands of a page; ends what runs in the background at its end."""

    END = '--- end of command: '

    def __init__(self) -> None:
        self._bash = subprocess.Popen(
            ['bash', '--norc'],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, command: str) -> None:
        """Print what a command prints; raises RuntimeError with its status."""
        self._bash.stdin.write(f'{command}\necho "{self.END}$?"\n')
        self._bash.stdin.flush()
        for line in self._bash.stdout:
            before, found, status = line.partition(self.END)
            if not found:
                print(line, end='')
                continue
            print(before, end='')
            if int(status):
                raise RuntimeError(f'status {int(status)} of {command}')
            return
        raise RuntimeError(f'bash ended with {command}')

    def close(self) -> None:
        """End bash and what it has started."""
        os.killpg(self._bash.pid, signal.SIGTERM)  # bash itself ignores it while it waits
        self._bash.communicate('wait\n')


def examples(text: str) -> list[doctest.Example]:
    """Return the prompts of a page and what they print, in their order."""
    found = []
    for fence in FENCE.finditer(text):
        kind, block = fence.groups()
        line = text.count('\n', 0, fence.start(2))
        if kind == 'python':
            block = doctest.DocTestParser().get_examples(block)
            for each in block:
                each.lineno += line
            found += block
        elif kind == 'console':
            _, *parts = PROMPT.split(block)
            for command, output in zip(parts[::2], parts[1::2]):
                found.append(doctest.Example(f'shell({command!r})', output, lineno=line))
    return found


def run(page: Path, pictures: bool) -> list[str]:
    """Run a page in the present folder; return the pictures that it lacks."""
    text, shell = page.read_text(encoding='utf-8'), Shell()
    try:
        test = doctest.DocTest(examples(text), {'shell': shell.run}, page.name, str(page), 0, None)
        failures, attempted = doctest.DocTestRunner(optionflags=OPTIONS).run(test)
    finally:
        shell.close()
    missing = [] if attempted else ['any prompt']
    for shown in PICTURE.findall(text):
        made = Path(Path(shown).name)
        if not made.exists():
            missing.append(shown)
        elif pictures:
            shutil.copy(made, page.parent / shown)
    return missing + [f'{failures} outputs'] * bool(failures)


def main() -> str | None:
    """Return what is missing, for `sys.exit`."""
    page = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        # the command of this repository, as pip installs it
        command = Path('bin/screw-dynamics')
        command.parent.mkdir()
        command.write_text(f'#!/bin/sh\nexec {sys.executable} -m screw_dynamics_ros "$@"\n')
        command.chmod(0o755)
        for each in (ROOT / 'examples' / 'recordings').iterdir():  # as pages ask for
            shutil.copy(each, each.name)
        os.environ['PATH'] = f'{Path("bin").resolve()}:{os.environ["PATH"]}'
        os.environ['PYTHONPATH'] = os.pathsep.join([str(ROOT), os.environ.get('PYTHONPATH', '')])
        sys.path.insert(0, str(ROOT))
        os.environ['MPLBACKEND'] = 'Agg'
        missing = run(page, '--pictures' in sys.argv)
        os.chdir('/')
    return f'{page.name}: not as printed: {", ".join(missing)}' if missing else None


if __name__ == '__main__':
    sys.exit(main())
