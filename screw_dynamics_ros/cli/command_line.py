# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What the commands share: frame, parsers, files, progress."""

from __future__ import annotations

import argparse
import io
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from ..core import files
from ..core.errors import ArgumentError, ScrewDynamicsError
from ..entry import DONE, INTERRUPTED, NEGATIVE, PARTIAL, UNUSABLE
from ..ros.description_file import assignments, description_text
from ..ros.xacro_expansion import ExpansionError

MAX_TIMEOUT_S = 600.0
LINE_PERIOD_S = 30.0  # of lines of progress
ROBOT_FILE = 'a URDF, xacro, SDFormat or MJCF file'
GRAVITY = (0.0, 0.0, -9.81)  # m/s^2
STYLE = {
    'font.size': 9,
    'axes.titlesize': 10,
    'axes.spines.top': False,
    'axes.spines.right': False,
    'axes.grid': True,
    'axes.grid.axis': 'y',
    'grid.color': '#e4e4e4',
    'axes.axisbelow': True,
    'legend.frameon': False,
}  # of matplotlib


class UnusableError(Exception):
    """An invalid argument, for the status `UNUSABLE`; the text names it and the remedy."""


def execute(
    name: str,
    parse: Callable[[Sequence[str]], argparse.Namespace],
    run: Callable[[argparse.Namespace], int],
    arguments: Sequence[str] | None,
) -> int:
    """Run a command; return its exit status.

    Parameters
    ----------
    name : str
    parse : callable
        Returns the options of a command line without ROS arguments.
    run : callable
        Returns the exit status for the options, which have all arguments as `given`. It may raise
        `ScrewDynamicsError` to refuse a robot or its data, `UnusableError` or OSError.
    arguments : sequence of str, optional
        By default those of the process.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = parse(own_arguments(given))
    options.given = given
    try:
        return run(options)
    except ScrewDynamicsError as error:
        print(f'refused: {error}', file=sys.stderr)
        return NEGATIVE
    except (UnusableError, OSError) as error:
        print(f'{name}: {error}', file=sys.stderr)
        return UNUSABLE
    except KeyboardInterrupt:
        print(f'\n{name}: interrupted', file=sys.stderr)
        return INTERRUPTED
    finally:
        exec('')  # otherwise CPython ends by SIGINT if exec of a text was interrupted (dataclasses)


def exit_statuses(negative: str = '', partial: str = '') -> str:
    """Return the table of exit statuses for the help of a command.

    Parameters
    ----------
    negative : str
        Results with the status `NEGATIVE`, beside a refused robot or data.
    partial : str
        Results with the status `PARTIAL`, if there are any.
    """
    rows = {
        DONE: 'done',
        NEGATIVE: f'{negative}, or the robot or its data are refused'.removeprefix(', or '),
        UNUSABLE: 'the command line or a file cannot be used, or a requirement is missing',
        PARTIAL: partial,
        INTERRUPTED: 'interrupted',
    }
    return 'exit status:\n' + '\n'.join(f'  {n:<5}{text}' for n, text in rows.items() if text)


def heed_interrupts() -> None:
    """Let SIGINT raise `KeyboardInterrupt`, so that the command can clean up."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def progress_bar(name: str) -> Iterator[Callable[..., None]]:
    """Show progress and remaining time on stderr within a `with` block.

    The bar is removed at the end. If stderr is no terminal, lines show the progress.

    Parameters
    ----------
    name : str
        Name of the task.

    Yields
    ------
    callable
        ``show(share, detail='')`` updates the completed fraction, from 0 to 1, and a detail.
    """
    from tqdm import tqdm

    class Bar(tqdm):
        monitor_interval = 0  # no thread, because processes may be forked

    line = '{desc} [{bar:40}] {percentage:3.0f}% {elapsed}, {remaining} left {postfix}'
    with Bar(total=1.0, desc=name, disable=None, leave=False, bar_format=line, ascii='.#') as bar:
        last = time.monotonic()

        def show(share: float, detail: str = '') -> None:
            nonlocal last
            bar.set_postfix_str(detail, refresh=False)
            bar.update(share - bar.n)
            if bar.disable and time.monotonic() - last >= LINE_PERIOD_S:
                last = time.monotonic()
                print(f'{name}: {share:.0%} {detail}'.rstrip(), file=sys.stderr, flush=True)

        yield show


def print_above(text: str, file: TextIO | None = None) -> None:
    """Print lines above the progress bar, if one is shown; by default on stderr."""
    from tqdm import tqdm

    tqdm.write(text, file=file or sys.stderr)
    (file or sys.stderr).flush()


def command_parser(
    name: str, description: str | None, epilog: str | None = None
) -> argparse.ArgumentParser:
    """Return the parser of a command; its help keeps the line breaks of the texts.

    By default the epilog is that of `exit_statuses`.
    """
    return argparse.ArgumentParser(
        prog=name,
        description=description,
        epilog=epilog or exit_statuses(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def option(
    parser: argparse._ActionsContainer,
    words: str,
    text: str | None = None,
    kind: Callable[[str], Any] | None = None,
    default: Any = None,
    **more: Any,
) -> None:
    """Add an argument to a parser or a group.

    Parameters
    ----------
    parser : argparse.ArgumentParser or group
    words : str
        Its names and the names of its values, such as '-o --output FILE' or '--gravity X Y Z'; an
        option without values is a switch, unless it has choices.
    text : str, optional
        For the help.
    kind : callable, optional
        Returns the value of a word; raises `argparse.ArgumentTypeError`.
    default : optional
    **more
        As for `argparse.ArgumentParser.add_argument`.
    """
    first, *others = words.split()
    names = [first, *(word for word in others if word.startswith('-'))]
    values = tuple(word for word in others if not word.startswith('-'))
    if first.startswith('-') and not values and 'choices' not in more:
        parser.add_argument(*names, action='store_true', help=text, **more)
        return
    if len(values) > 1:
        more['nargs'] = len(values)
    if values:
        more.setdefault('metavar', values if len(values) > 1 else values[0])
    parser.add_argument(*names, help=text, type=kind or str, default=default, **more)


def own_arguments(arguments: Sequence[str]) -> list[str]:
    """Return the arguments before --ros-args; a launch file appends the others."""
    own = list(arguments)
    return own[: own.index('--ros-args')] if '--ros-args' in own else own


def _float(text: str) -> float:
    """Return a number, NaN for other text."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def number(text: str) -> float:
    """Return a finite number; raises `argparse.ArgumentTypeError`."""
    value = _float(text)
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f'{text!r} is not a finite number')
    return value


def positive(text: str) -> float:
    """Return a positive number; raises `argparse.ArgumentTypeError`."""
    value = number(text)
    if value <= 0.0:
        raise argparse.ArgumentTypeError(f'{text!r} is not positive')
    return value


def between(low: float, high: float, unit: str = '') -> Callable[[str], float]:
    """Return the kind of numbers in a range."""

    def kind(text: str) -> float:
        value = _float(text)
        if not low <= value <= high:  # so is NaN
            raise argparse.ArgumentTypeError(
                f'{text!r} is not between {low:g} and {high:g} {unit}'.rstrip()
            )
        return value

    return kind


seconds = between(0.0, MAX_TIMEOUT_S, 's')


def whole(low: int, high: float = math.inf) -> Callable[[str], int]:
    """Return the kind of whole numbers in a range."""

    def kind(text: str) -> int:
        value = int(text) if text.isdecimal() else -1
        if not low <= value <= high:
            limits = f'of at least {low}' if high == math.inf else f'from {low} to {high}'
            raise argparse.ArgumentTypeError(f'{text!r} is not a whole number {limits}')
        return value

    return kind


def names(words: str) -> tuple[str, ...]:
    """Return the words of a comma-separated list."""
    return tuple(word.strip() for word in words.split(',') if word.strip())


def some_of(known: Collection[str]) -> Callable[[str], tuple[str, ...]]:
    """Return the kind of lists of some of these names, in any case."""

    def kind(words: str) -> tuple[str, ...]:
        chosen = names(words.lower())
        if not chosen or not set(chosen) <= set(known):
            raise argparse.ArgumentTypeError(
                f'{words!r}: expected names of {", ".join(known)}, separated by commas'
            )
        return chosen

    return kind


def add_robot(parser: argparse.ArgumentParser, text: str = ROBOT_FILE, **more: Any) -> None:
    """Add the argument FILE, a description, and --description-arguments; see `robot_text`."""
    option(parser, 'description FILE', text, Path, **more)
    add_arguments_of(parser, 'description', 'FILE')


def robot_text(options: argparse.Namespace) -> str:
    """Return the description of the options of `add_robot`; raises as `read_description`."""
    return read_description(options.description, options.description_arguments)


def add_gravity(parser: argparse.ArgumentParser) -> None:
    """Add the option --gravity."""
    option(
        parser,
        '--gravity X Y Z',
        'acceleration of free fall in the root frame [m/s^2] (default: 0 0 -9.81)',
        number,
        GRAVITY,
    )


def add_arguments_of(parser: argparse.ArgumentParser, name: str, file: str) -> None:
    """Add the option --NAME-arguments for the arguments of a description."""
    option(
        parser,
        f'--{name}-arguments ARGUMENTS',
        f'arguments of {file}, if that is a xacro file: "name:=value name:=value"',
        default='',
    )


def read_description(
    path: Path, arguments: str = '', name: str = 'description', argument: str = 'FILE'
) -> str:
    """Return the text of the file that an argument names, expanded if it is a xacro file.

    Parameters
    ----------
    path : Path
    arguments : str
        Value of the option --NAME-arguments: 'name:=value name:=value'.
    name : str
    argument : str
        What names the file, for errors.

    Raises
    ------
    UnusableError
        If the file cannot be read or expanded.
    DescriptionError
        If it is an SRDF.
    """
    option = f'--{name}-arguments'
    try:
        given = assignments(arguments)
    except ArgumentError as error:
        raise UnusableError(f'argument {option}: {error}') from None
    try:
        return description_text(path, given, f'{option} ')
    except ExpansionError as error:
        raise UnusableError(f'argument {argument}: {path}: {error}') from None
    except ArgumentError as error:
        raise UnusableError(
            f'argument {argument}: cannot read the description {path}: {error}; name the URDF or '
            'xacro file of a robot'
        ) from None


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically; raises `OSError`.

    Ctrl-C takes effect afterwards. A device or pipe is written directly.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    with deferred_interrupts():
        target = path.resolve()  # target of a symbolic link
        files.write(target, content)
        mask = os.umask(0)
        os.umask(mask)
        target.chmod(0o666 & ~mask)


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Defer SIGINT to the end of a `with` block."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if received:
            signal.raise_signal(signal.SIGINT)


def save_figure(figure: Any, path: Path, dpi: int) -> None:
    """Write a matplotlib figure like `write_whole`; PNG if the path has no suffix."""
    path = path if path.suffix else path.with_name(f'{path.name}.png')
    buffer = io.BytesIO()
    figure.savefig(buffer, format=path.suffix[1:], dpi=dpi)
    write_whole(path, buffer.getvalue())


@contextmanager
def drawing(path: Path, dpi: int) -> Iterator[Any]:
    """Yield pyplot to draw one figure, and write it like `save_figure`.

    Raises ImportError without matplotlib.
    """
    import matplotlib

    matplotlib.use('Agg')
    from matplotlib import pyplot

    path.parent.mkdir(parents=True, exist_ok=True)
    with pyplot.rc_context(STYLE):
        yield pyplot
        save_figure(pyplot.gcf(), path, dpi)
        pyplot.close()


def write_file(path: Path, option: str, content: str | bytes) -> None:
    """Write the file of an option; raises `UnusableError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise UnusableError(
            f'argument {option}: cannot write {path}: {error.strerror}; name a file that can be '
            'written'
        ) from None
    print(f'written: {path}')
