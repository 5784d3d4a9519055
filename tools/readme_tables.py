"""Write the measured tables of README and doc/performance.md: `python tools/readme_tables.py`.

Figures come from benchmarks/results/*.json, which `make bench` writes. Each table stands between
two comments, `<!-- table: NAME -->` and `<!-- end of table -->`; what is between them is replaced.
Below each table stand all comparisons of its parts that a peer wins and all requirements that are
missed, also those for which the table has no line. `--check` changes nothing and ends with status 1
if one of them would change.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / 'benchmarks' / 'results'
PAGES = (ROOT / 'README.md', ROOT / 'doc' / 'performance.md')
BLOCK = re.compile(r'(<!-- table: (\w+)( in brief)? -->\n).*?(<!-- end of table -->)', re.DOTALL)

Figure = dict[str, Any]
PYTHON, CPP, PARALLEL, LOOP = (
    'Pinocchio from Python',
    'Pinocchio C++',
    'Pinocchio ...InParallel',
    'loop in Python',
)
#: Functions with a line in the table of single calls.
SINGLE = (
    'inverse dynamics',
    'forward dynamics',
    'mass matrix',
    'gravity torques',
    'all frames, theirs no array',
    "one frame's Jacobian",
    'Coriolis matrix',
    'regressor',
    'derivatives of inverse dynamics',
    'derivatives of forward dynamics',
)
#: What a table in brief shows, besides every row in which we are worse.
BRIEF_ROBOTS = (
    'Panda, 9 dof',
    'Panda, 8 dof, one tip',
    'UR5, 6 dof, one tip',
    'TALOS, 44 dof',
    'Panda, 7 joints',
)
BRIEF_ROWS = (
    'inverse dynamics',
    'forward dynamics',
    'mass matrix',
    "one frame's Jacobian",
    'derivatives of inverse dynamics',
    'inverse dynamics, 2 cores',
    'forward dynamics, 2 cores',
    'ours',
    'pink',
    'Robotics Toolbox',
    'everything bringup needs',
    'without llvmlite: inverse dynamics',
    '1 kHz',
    '1024 arms',
)


#: In the table of nodes, once they have been measured.
MEASURED_ON_DEMAND = ('node_kilohertz', 'node_rates')

#: Parts whose tables are on other pages: `tools/solution_tables.py`, `tools/gradient_tables.py`.
OTHER_PAGES = ('all_solutions', 'all_solutions_speed', 'gradients', 'identification', 'recordings')

#: Results of programs that are no parts of benchmarks/run.py, and write their tables themselves.
STUDIES = ('feedforward', 'observers')

#: Systems that the table of absolute coordinates in brief shows.
BRIEF_SYSTEMS = ('100 bodies', 'Panda')


class Results:
    """The figures of some parts of the benchmark."""

    def __init__(self, folder: Path, *parts: str) -> None:
        self.parts = parts
        files = [json.loads((folder / f'{part}.json').read_text()) for part in parts]
        self.environments = [file['environment'] for file in files]
        self.figures: list[Figure] = [figure for file in files for figure in file['figures']]

    def select(self, **values: str) -> list[Figure]:
        """Return the figures that have these values; '' also selects what is not there."""
        return [
            figure
            for figure in self.figures
            if all(figure.get(key, '') == value for key, value in values.items())
        ]

    def names(self, key: str) -> list[str]:
        """Return the values of a field, each once, in their order."""
        return list(dict.fromkeys(figure[key] for figure in self.figures))


def update(text: str, folder: Path = RESULTS, to_root: str = '') -> str:
    """Return a text with all its tables made anew; `to_root` leads from the page to the root.

    Raises `ValueError` if it lacks a table, has an unknown one, or one twice.
    """
    found = [match.group(2) for match in BLOCK.finditer(text)]
    if sorted(found) != sorted(TABLES):
        raise ValueError(f'the page has the tables {found} instead of {list(TABLES)}')

    def made(match: re.Match[str]) -> str:
        table = TABLES[match[2]](folder, bool(match[3]))
        return match[1] + table.replace('](benchmarks/', f']({to_root}benchmarks/') + match[4]

    return BLOCK.sub(made, text)


def kept(rows: list[tuple[str, ...]], brief: bool) -> list[tuple[str, ...]]:
    """Return the rows to show; the last cell of a row says where we are worse."""
    if not brief:
        return rows
    return [
        row for row in rows if row[-1] or (row[0] in BRIEF_ROBOTS and row[1].startswith(BRIEF_ROWS))
    ]


# --- tables ---


def machine(folder: Path, brief: bool = False) -> str:
    """Return what was measured on, one line for each different set-up."""
    parts = sorted(path.stem for path in folder.glob('*.json'))
    return machine_of(folder, [part for part in parts if part not in (*OTHER_PAGES, *STUDIES)])


def machine_of(folder: Path, parts: Iterable[str]) -> str:
    """Return what some parts were measured on."""
    lines: dict[str, list[tuple[str, list[float]]]] = {}
    for path in (folder / f'{part}.json' for part in parts):
        where = json.loads(path.read_text())['environment']
        line = (
            f'{where["processor"]}, {where["cores"]} cores, {where["vectors"]} doubles per vector; '
            f'Python {where["python"]}, NumPy {where["numpy"]}, llvmlite {where["llvmlite"]}, '
            f'Pinocchio {where["pinocchio"]}, rclpy {where["rclpy"]}, '
            f'Fast DDS for ROS {where["fastrtps"]}; {where["date"]}'
        )
        lines.setdefault(line, []).append((path.stem, where['load before and after']))
    text = []
    for line, parts in lines.items():
        loads = [load for _, pair in parts for load in pair]
        which = '' if len(lines) == 1 else f' ({", ".join(name for name, _ in parts)})'
        text.append(
            f'Measured on: {line}{which}. Load average of the machine, which others use too, '
            f'before and after the parts: {min(loads):.1f} to {max(loads):.1f}.\n'
        )
    return '\n'.join(text)


def single_calls(folder: Path, brief: bool = False) -> str:
    """Return the table of single calls."""
    results = Results(folder, 'single_calls')
    rows = []
    for robot in results.names('robot'):
        if robot.endswith('as is'):
            continue
        for name in SINGLE:
            python = first(results.select(robot=robot, name=name, peer=PYTHON))
            native = first(
                results.select(robot=robot, name=name.removesuffix(', theirs no array'), peer=CPP)
            )
            rows.append(
                (
                    robot,
                    name.replace('theirs no array', 'theirs left in place'),
                    ours(python),
                    theirs(python),
                    times(python),
                    theirs(native),
                    times(native),
                    lost(python, native),
                )
            )
    return (
        table(
            (
                'robot',
                'one call',
                'ours from Python',
                'Pinocchio from Python',
                'times faster',
                'Pinocchio C++',
                'times faster',
                'worse',
            ),
            kept(rows, brief),
            'times in µs: median (99th percentile)',
        )
        + f'C++: {results.environments[0].get("C++", "not measured")}.\n'
        + verdict(results)
    )


def c_code(folder: Path, brief: bool = False) -> str:
    """Return the table of C code and object files."""
    results = Results(folder, 'c_code')
    rows = []
    for figure in results.figures:
        if not figure['name'].endswith(', C'):
            continue
        name = figure['name'].removesuffix(', C')
        compiled = first(results.select(robot=figure['robot'], name=f'{name}, object file'))
        rows.append(
            (
                figure['robot'],
                name,
                ours(figure),
                ours(compiled),
                theirs(figure),
                times(figure),
                limit(figure),
                times(compiled),
                lost(figure, compiled),
            )
        )
    return table(
        (
            'robot',
            'one call',
            'C',
            'object file',
            'Pinocchio C++',
            'times faster in C',
            'limit',
            'times faster as object file',
            'worse',
        ),
        kept(rows, brief),
        'times in ns: median',
    ) + verdict(results)


def stacks(folder: Path, brief: bool = False) -> str:
    """Return the table of stacks and of a trajectory."""
    results = Results(folder, 'stacks', 'trajectories')
    rows = []
    peers = (PARALLEL, CPP, LOOP)
    for robot in results.names('robot'):
        for name in results.names('name'):
            found = {
                peer: first(results.select(robot=robot, name=name, peer=peer)) for peer in peers
            }
            measured = [figure for figure in found.values() if figure]
            if not measured:
                continue
            unit = '' if measured[0]['unit'] == 'us' else f' [{measured[0]["unit"]}]'
            best = min(measured, key=lambda figure: figure['ratio'])
            rows.append(
                (
                    robot,
                    f'{name}{unit}',
                    ours(best),
                    *(theirs(found[peer]) for peer in peers),
                    times(best),
                    lost(*measured),
                )
            )
    return table(
        (
            'robot',
            'stack',
            'ours',
            '`…InParallel`',
            'C++ loop',
            'Python loop',
            'times faster than the best',
            'worse',
        ),
        kept(rows, brief),
        'times in µs per sample: median (99th percentile)',
    ) + verdict(results)


def simulation(folder: Path, brief: bool = False) -> str:
    """Return the table of simulated arms; those of steps of 1 ms say how much faster than time."""
    results = Results(folder, 'simulation')
    rows = []
    for figure in results.figures:
        faster = 1000.0 / figure['ours'] if figure.get('unit') == 'us' else 100.0 / figure['ours']
        rows.append(
            (
                figure['robot'],
                figure['name'],
                ours(figure, unit=True),
                figure.get('peer', ''),
                theirs(figure),
                times(figure) if 'ratio' in figure else '',
                number(faster),
                limit(figure),
                lost(figure),
            )
        )
    return table(
        (
            'robot',
            'steps of 1 ms',
            'ours',
            'beside',
            'theirs',
            'ours is times faster',
            'ours: simulated s per s',
            'limit',
            'worse',
        ),
        kept(rows, brief),
        'times per step and arm: median (99th percentile); share of a core: mean (99th percentile) '
        'of processor time',
    ) + verdict(results)


def absolute_coordinates(folder: Path, brief: bool = False) -> str:
    """Return the table of bodies in absolute coordinates."""
    results = Results(folder, 'absolute_coordinates')
    rows = [
        (
            figure['robot'],
            figure['name'],
            ours(figure),
            figure.get('peer', ''),
            theirs(figure),
            number(figure.get('ratio')),
            limit(figure),
            lost(figure),
        )
        for figure in results.figures
        if not brief or figure['name'].startswith('growth') or figure['robot'] in BRIEF_SYSTEMS
    ]
    return table(
        ('system', 'what', 'ours', 'beside', 'theirs', 'theirs / ours', 'limit', 'worse'),
        rows,
        'times in µs: median (99th percentile); of the growth, ours / theirs',
    ) + verdict(results)


def inverse_kinematics(folder: Path, brief: bool = False) -> str:
    """Return the table of inverse kinematics."""
    results = Results(folder, 'inverse_kinematics')
    rows = []
    for robot in results.names('robot'):
        for peer in dict.fromkeys(
            f.get('peer', '') for f in results.figures if f['robot'] == robot
        ):
            time = first(results.select(robot=robot, name='time', peer=peer))
            solved = first(results.select(robot=robot, name='solved', peer=peer))
            of_peer = bool(peer)
            rows.append(
                (
                    robot,
                    (peer or 'ours') + (' (one tip)' if 'one tip only' in note(time) else ''),
                    f'{number(solved["theirs" if of_peer else "ours"])} %',
                    theirs(time) if of_peer else ours(time),
                    times(time) if of_peer else '',
                    lost(time, solved),
                )
            )
    return table(
        ('robot', 'solver', 'solved', 'time', 'ours is times faster', 'we are worse in'),
        kept(rows, brief),
        'times in µs: median (99th percentile)',
    ) + verdict(results)


def nodes(folder: Path, brief: bool = False) -> str:
    """Return the table of the nodes."""
    parts = ('node_latency', 'node_endurance', 'node_beside_requests', 'parameter_gap')
    parts += tuple(part for part in MEASURED_ON_DEMAND if (folder / f'{part}.json').exists())
    results = Results(folder, *parts)
    rows = []
    for figure in results.figures:
        name = figure['name']
        if figure['group'].startswith('Node latency'):
            name = f'message in to last of the messages out ({note(figure).split()[0]}: {name})'
        if name.startswith('beside'):
            name = f'500 Hz, state to last output {name}'
        if figure['group'].startswith('A driver'):
            name = f'500 Hz: {name}'
        if figure['group'].startswith('1 kHz'):
            name = f'1 kHz, {name}'
        rows.append(
            (
                name,
                ours(figure, unit=True),
                figure.get('peer', ''),
                theirs(figure),
                number(figure.get('ratio')),
                limit(figure),
                lost(figure),
            )
        )
    text = table(
        ('what', 'ours', 'beside', 'theirs', 'ours / theirs', 'limit', 'worse'),
        [row for row in rows if not brief or row[-1] or row[0].endswith('state to last output')],
        'median (99th percentile) for times; ratios of latencies are ours / theirs',
    )
    echo = first(results.select(peer='echo of objects in rclpy'))
    excused = first(results.select(name='late, excused by pauses'))
    same = note(echo).partition('echo and ours: ')[2]
    lines = [f'Echo and ours have the same settings: {same}.\n'] if same else []
    if excused:
        lines.append(f'Excused: {note(excused)}.\n')
    beside = [f for f in results.figures if f['name'].startswith('beside ')]
    if beside:
        told = '; '.join(f'{f["name"]}, {note(f)}' for f in beside)
        lines.append(f'Without an output, which counts as the longest time of all: {told}.\n')
    counted = [f for f in results.figures if f['group'] == '1 kHz' and 'states' in f['name']]
    if counted:
        told = '; '.join(f'{f["name"]} {f["ours"]:g} beside {f["peer"]} {note(f)}' for f in counted)
        lines.append(f'At 1 kHz one node after the other, best effort, depth 5: {told}.\n')
    return text + ''.join(lines) + verdict(results)


def instruction_sets(folder: Path, brief: bool = False) -> str:
    """Return the table of the sets that processors have."""
    results = Results(folder, 'instruction_sets')
    cells: dict[tuple[str, str, str], dict[str, Figure]] = {}
    for figure in results.figures:
        what, _, name = figure['name'].rpartition(', ')
        key = figure['group'].partition(': ')[2], figure['robot'], what
        cells.setdefault(key, {})[name] = figure
    sets = list(dict.fromkeys(name for found in cells.values() for name in found))
    rows = [
        (
            robot,
            f'{group.partition(",")[0].lower()}: {what}' if group.startswith('Stacks') else what,
            *(f'{number(each["ours"])}{unit_of(each)}, {times(each)}' for each in found.values()),
            lost(*found.values()),
        )
        for (group, robot, what), found in cells.items()
        if len(found) == len(sets) and '2 cores' not in what and 'as is' not in robot
    ]
    return table(
        ('robot', 'function', *sets, 'worse'),
        [
            row
            for row in rows
            if not brief or row[-1] or (row[0] == BRIEF_ROBOTS[0] and row[1] in SINGLE[:3])
        ],
        'ours, and how many times faster that is than Pinocchio C++ compiled for the same set',
    ) + verdict(results)


def start(folder: Path, brief: bool = False) -> str:
    """Return the table of the first use, and without llvmlite."""
    results = Results(folder, 'first_use', 'python_backend')
    rows = []
    for figure in results.figures:
        name = figure['name']
        if figure['group'].startswith('python'):
            name = f'without llvmlite: {name}'
        rows.append(
            (figure['robot'], name, ours(figure, unit=True), limit(figure), lost(figure)),
        )
    return table(
        ('robot', 'what', 'ours', 'limit', 'worse'),
        kept(rows, brief),
        'median (99th percentile, or the longest of five starts)',
    ) + verdict(results)


TABLES: dict[str, Callable[[Path, bool], str]] = {
    'machine': machine,
    'single_calls': single_calls,
    'c_code': c_code,
    'stacks': stacks,
    'simulation': simulation,
    'absolute_coordinates': absolute_coordinates,
    'inverse_kinematics': inverse_kinematics,
    'nodes': nodes,
    'start': start,
    'instruction_sets': instruction_sets,
}


# --- cells ---


def first(figures: Sequence[Figure]) -> Figure | None:
    """Return the first figure, None if there is none."""
    return figures[0] if figures else None


def number(value: float | None) -> str:
    """Return a number with three digits."""
    if value is None:
        return ''
    return f'{value:.0f}' if abs(value) >= 100 else f'{value:.3g}'


def unit_of(figure: Figure) -> str:
    """Return the unit with a space before it."""
    unit = {'us': 'µs'}.get(figure.get('unit', ''), figure.get('unit', ''))
    return f' {unit}' if unit else ''


def ours(figure: Figure | None, *, unit: bool = False) -> str:
    """Return our median and 99th percentile."""
    return _pair(figure, 'ours', unit=unit)


def theirs(figure: Figure | None) -> str:
    """Return the peer's median and 99th percentile."""
    return _pair(figure, 'theirs')


def _pair(figure: Figure | None, whose: str, *, unit: bool = False) -> str:
    if not figure or whose not in figure:
        return '–'
    tail = number(figure.get(f'{whose}_p99'))
    return (
        number(figure[whose]) + (f' ({tail})' if tail else '') + (unit_of(figure) if unit else '')
    )


def times(figure: Figure | None) -> str:
    """Return how many times faster, bold where it is less than once."""
    if not figure:
        return '–'
    ratio = number(figure['ratio'])
    return f'**{ratio}**' if figure['ratio'] < 1.0 else ratio


def limit(figure: Figure) -> str:
    """Return what is required."""
    if 'required' not in figure:
        return ''
    sign = '≥' if figure['meaning'].endswith('least') else '≤'
    of_ratio = figure['meaning'].startswith('ratio')
    return f'{sign} {figure["required"]:g}' + (' times' if of_ratio else unit_of(figure))


def note(figure: Figure | None) -> str:
    """Return the note of a figure."""
    return figure.get('note', '') if figure else ''


def lost(*figures: Figure | None) -> str:
    """Return, in bold, where a peer is better, and that a requirement is missed."""
    words = []
    for figure in figures:
        if figure and figure['worse']:
            words += [f'{name} of {figure["peer"]}' for name in figure['worse']]
        if figure and figure.get('fulfilled') is False:
            words.append('limit missed')
    return f'**{"; ".join(dict.fromkeys(words))}**' if words else ''


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], what: str) -> str:
    """Return a table with a line about its cells above, as Markdown; equal first cells once."""
    lines = [
        f'{what[0].upper()}{what[1:]}.\n',
        f'| {" | ".join(heads)} |',
        '|---' * len(heads) + '|',
    ]
    previous = ''
    for head, *cells in rows:
        shown = '' if head == previous and len(heads) > 4 else head
        lines.append(f'| {" | ".join([shown, *cells])} |')
        previous = head
    return '\n'.join(lines) + '\n\n'


def verdict(results: Results) -> str:
    """Return what comparisons are lost and what limits are missed, and of how many."""
    compared = [f for f in results.figures if not f.get('peer', 'ours').startswith('ours')]
    worse = [figure for figure in compared if figure['worse']]
    required = [figure for figure in results.figures if 'fulfilled' in figure]
    missed = [figure for figure in required if not figure['fulfilled']]
    files = ', '.join(f'[{part}.json](benchmarks/results/{part}.json)' for part in results.parts)
    text = ''
    if compared:
        text = f'Of {len(compared)} comparisons in {files} we lose {len(worse)}'
        text += _listed(f'{label(f)} ({", ".join(f["worse"])} of {f["peer"]})' for f in worse)
        text += '. '
    text += f'Of {len(required)} limits of our own we miss {len(missed)}'
    text += _listed(
        f'{label(f)}{" against " + f["peer"] if "peer" in f else ""} ({limit(f)})' for f in missed
    )
    return f'{text}.\n'


def label(figure: Figure) -> str:
    """Return robot and name."""
    return f'{figure["robot"]}, {figure["name"]}'


def _listed(parts: Iterable[str]) -> str:
    text = '; '.join(parts)
    return f': {text}' if text else ''


def write(page: Path, after: str, check: bool) -> None:
    """Write a page, or only look whether it would change."""
    if not check:
        page.write_text(after, encoding='utf-8')
    elif after != page.read_text(encoding='utf-8'):
        sys.exit(f'{page.name} is not what benchmarks/results say')


def only_looks(arguments: Sequence[str] | None = None) -> bool:
    """Return whether the command line says `--check`."""
    parser = argparse.ArgumentParser(description='Write the measured tables.')
    parser.add_argument('--check', action='store_true', help='only tell whether it would change')
    return bool(parser.parse_args(arguments).check)


def main() -> None:
    """Write the pages, or only look."""
    check = only_looks()
    for page in PAGES:
        to_root = '../' * len(page.relative_to(ROOT).parts[1:])
        write(page, update(page.read_text(encoding='utf-8'), to_root=to_root), check)


if __name__ == '__main__':
    main()
