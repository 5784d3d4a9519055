# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Write generated tables and files: `python tools/pages.py [--check] [PAGE ...]`.

Each table stands between two comments, `<!-- table: NAME -->` and
`<!-- end of table -->`; what is between them is replaced. Measured figures come from
benchmarks/results/*.json, which `make bench` writes; parameters and executables from their
declarations, which need ROS 2. `--check` changes nothing and ends with status 1 if a page would
change.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / 'benchmarks' / 'results'
sys.path += [str(ROOT / folder) for folder in ('', 'tools', 'benchmarks', 'test')]

from screw_dynamics_ros.registry import NODES  # noqa: E402

BLOCK = re.compile(r'(<!-- table: (\w+) -->\n).*?(<!-- end of table -->)', re.DOTALL)
NUMBER = re.compile(r'\d+(?:\.\d+)?')

#: Makes a table from the folder of results.
Table = Callable[[Path], str]

REGISTRY = 'page_tables.registry'

PERFORMANCE = 'doc/reference/performance'

#: Pages of measurements beside other libraries, and the tables of each.
MEASURED = {
    'index': ('expectations', 'overview', 'machine'),
    'calls': ('single_calls', 'c_code'),
    'stacks': ('stacks',),
    'simulation': ('simulation', 'absolute_coordinates'),
    'inverse_kinematics': ('inverse_kinematics',),
    'nodes': ('nodes', 'start'),
    'instruction_sets': ('instruction_sets',),
}

#: Names of badges.
BADGES = 'license', 'python', 'ros'

#: Pages of outputs, and the tables of each.
OF_OUTPUTS = {
    'doc/reference/nodes/topics.md': ('topics',),
    'doc/reference/nodes/model_state.md': ('parts',),
    'doc/how_to/recordings.md': ('recorded',),
}

#: Each page, and the module whose TABLES it shows, or among whose FILES it is.
PAGES = {
    **dict.fromkeys(('README.md', 'doc/index.md'), 'page_tables.highlights'),
    **{f'doc/pictures/badge_{name}.svg': 'page_tables.badges' for name in BADGES},
    'QUALITY_DECLARATION.md': 'page_tables.coverage',
    **{f'{PERFORMANCE}/{name}.md': 'page_tables.benchmark' for name in MEASURED},
    'doc/reference/all_solutions.md': 'page_tables.solutions',
    'doc/reference/all_solutions_tables.md': 'page_tables.solutions',
    'doc/reference/doctor.md': 'page_tables.detection',
    'doc/how_to/gradients.md': 'page_tables.gradients',
    'doc/how_to/identification.md': 'identification',
    'doc/how_to/torque_accuracy.md': 'external_torque',
    'doc/how_to/contact_localization.md': 'page_tables.contacts',
    'doc/reference/operation_counts.md': 'page_tables.operation_counts',
    'doc/reference/nodes/index.md': REGISTRY,
    **dict.fromkeys(OF_OUTPUTS, 'page_tables.outputs'),
    'doc/reference/parameters.md': REGISTRY,
    'doc/reference/messages.md': 'page_tables.messages',
    **{f'config/{row.config}.yaml': REGISTRY for row in NODES.values()},
}

#: The tables of pages that do not show all tables of their module.
SHOWN = {
    **{f'{PERFORMANCE}/{name}.md': tables for name, tables in MEASURED.items()},
    **OF_OUTPUTS,
    'README.md': ('faster',),
    'doc/index.md': ('numbers',),
    'doc/reference/all_solutions.md': ('speed',),
    'doc/reference/all_solutions_tables.md': (
        'measured_on',
        'random_poses',
        'hard_poses',
        'path_tracking',
    ),
}

#: By how much numbers may differ: those of simulations are rounded differently by each processor.
TOLERANCES = {'doc/how_to/contact_localization.md': 1.01}


def updated(page: str, text: str, folder: Path = RESULTS) -> str:
    """Return the text of a page with its tables of now; raises `ValueError` like `with_tables`."""
    module = importlib.import_module(PAGES[page])
    if page in getattr(module, 'FILES', ()):
        return str(module.FILES[page]())
    tables: Mapping[str, Table] = {
        name: module.TABLES[name] for name in SHOWN.get(page, module.TABLES)
    }
    to_root = '../' * page.count('/')
    return with_tables(text, tables, folder).replace('](benchmarks/', f']({to_root}benchmarks/')


def with_tables(text: str, tables: Mapping[str, Table], folder: Path = RESULTS) -> str:
    """Return a text with all its tables replaced.

    Raises `ValueError` if it lacks a table, has an unknown one, or one twice.
    """
    found = [match[2] for match in BLOCK.finditer(text)]
    if sorted(found) != sorted(tables):
        raise ValueError(f'the page has the tables {found} instead of {list(tables)}')
    return BLOCK.sub(lambda match: match[1] + tables[match[2]](folder) + match[3], text)


def alike(text: str, other: str, tolerance: float) -> bool:
    """Return whether texts are equal but for numbers that differ by no more than a tolerance."""
    if not tolerance or NUMBER.sub('#', text) != NUMBER.sub('#', other):
        return text == other
    pairs = zip(NUMBER.findall(text), NUMBER.findall(other))
    return all(abs(float(a) - float(b)) <= tolerance for a, b in pairs)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pages, or only look; return the exit status."""
    parser = argparse.ArgumentParser(description='Write the generated tables of pages.')
    parser.add_argument('--check', action='store_true', help='only report pages that would change')
    parser.add_argument('page', nargs='*', help=f'all by default: {", ".join(PAGES)}')
    options = parser.parse_args(arguments)
    if unknown := set(options.page) - set(PAGES):
        parser.error(f'no such page: {", ".join(sorted(unknown))}; there are {", ".join(PAGES)}')
    outdated = []
    for page in options.page or PAGES:
        path = ROOT / page
        before = path.read_text(encoding='utf-8')
        after = updated(page, before)
        if alike(before, after, TOLERANCES.get(page, 0.0)):
            continue
        outdated.append(page)
        if not options.check:
            path.write_text(after, encoding='utf-8')
    if outdated:
        print('outdated:' if options.check else 'written:', ', '.join(outdated))
    return int(options.check and bool(outdated))


if __name__ == '__main__':
    sys.exit(main())
