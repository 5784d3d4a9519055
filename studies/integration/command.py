# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Repeat the study of Müller and Terze: SE(3) or SO(3) x R^3 for bodies in absolute coordinates.

Integrates the four examples of the paper and some more in both groups, prints what comes out beside
the claims of the paper, and draws one picture for each of its figures. What to make of it is in
doc/theory/choice_of_configuration_space.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from screw_dynamics_ros import __version__
from screw_dynamics_ros.cli.command_line import print_above, progress_bar, write_whole
from screw_dynamics_ros.core import ScrewDynamicsError
from studies.integration.study import FULL, QUICK, STEPS, Study, carry_out
from studies.integration.tables import Table, all_tables

DONE, NOT_SAVED, BROKEN = 0, 1, 3
EXIT_STATUS = f'exit status: {DONE} done, {NOT_SAVED} results could not be saved, {BROKEN} failed'


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study; return the exit status."""
    options = parse(sys.argv[1:] if arguments is None else arguments)
    try:
        with progress_bar('integration_study') as progress:
            started = count()

            def say(what: str) -> None:
                print_above(f'{what} ...')
                progress(next(started) / STEPS)

            study = carry_out(QUICK if options.quick else FULL, say)
    except ScrewDynamicsError as error:
        print(f'integration_study: {error}', file=sys.stderr)
        return BROKEN
    tables = all_tables(study)
    print('\n'.join(table.markdown() for table in tables), flush=True)
    return save(study, tables, options.out)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        prog='integration_study',
        description=__doc__,
        epilog=EXIT_STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        '--out',
        type=Path,
        default=Path('results/integration_study'),
        metavar='FOLDER',
        help='folder for tables.md, tables.json and the pictures (default: %(default)s)',
    )
    parser.add_argument(
        '--quick', action='store_true', help='1 s instead of 10 s of each example, fewer tableaus'
    )
    return parser.parse_args(arguments)


def save(study: Study, tables: Sequence[Table], folder: Path) -> int:
    """Write tables and pictures; return the exit status."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        text = '\n'.join(table.markdown() for table in tables)
        write_whole(folder / 'tables.md', text.encode())
        content = {
            'version': __version__,
            'tables': [
                {'title': t.title, 'head': list(t.head), 'rows': [list(row) for row in t.rows]}
                for t in tables
            ],
        }
        write_whole(folder / 'tables.json', (json.dumps(content, indent=1) + '\n').encode())
        print(f'tables: {folder / "tables.md"}, {folder / "tables.json"}')
        from studies.integration.pictures import save_pictures

        pictures = save_pictures(study, folder)
        print(f'pictures: {len(pictures)} in {folder}, {pictures[0].name} to {pictures[-1].name}')
    except ImportError:
        print('no pictures: matplotlib is not installed (pip install matplotlib)')
    except OSError as error:
        print(f'integration_study: not saved: {error}; choose another --out', file=sys.stderr)
        return NOT_SAVED
    return DONE
