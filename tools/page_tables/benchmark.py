# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The measured tables of the pages in doc/reference/performance.

Below each table stand all comparisons of its parts that a peer wins and all requirements that are
missed, also those for which the table has no line.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from page_tables.results import (
    Figure,
    Results,
    first,
    label,
    limit,
    lost,
    machine_of,
    note,
    number,
    ours,
    table,
    theirs,
    times,
    unit_of,
    verdict,
)

PYTHON, CPP, PARALLEL, LOOP = (
    'Pinocchio from Python',
    'Pinocchio C++',
    'Pinocchio ...InParallel',
    'loop in Python',
)
ECHO = 'echo of objects in rclpy'
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
#: In the table of nodes, once they have been measured.
MEASURED_ON_DEMAND = ('node_kilohertz', 'node_rates')

#: Parts whose tables are on other pages.
OTHER_PAGES = (
    'all_solutions',
    'all_solutions_speed',
    'external_torque',
    'gradients',
    'identification',
    'recordings',
)

#: Results of programs that are no parts of benchmarks/run.py, and write their tables themselves.
STUDIES = ('feedforward', 'observers')


#: Rows of the overview: what, link, part, other library.
COMPARED = (
    ('single calls from Python', 'calls.md', 'single_calls', CPP),
    ('C code and object files', 'calls.md#c-code', 'c_code', CPP),
    ('stacks of samples', 'stacks.md', 'stacks', CPP),
    ('1024 simulated arms', 'simulation.md', 'simulation', 'MuJoCo rollout, one thread'),
    ('one simulated arm', 'simulation.md', 'simulation', 'mj_step'),
    (
        'bodies in absolute coordinates',
        'simulation.md#absolute-coordinates',
        'absolute_coordinates',
        'numpy.linalg.solve, same rows',
    ),
    ('inverse kinematics', 'inverse_kinematics.md', 'inverse_kinematics', 'pink'),
    ('', '', 'inverse_kinematics', 'Robotics Toolbox'),
    ('', '', 'inverse_kinematics', 'EAIK'),
    ('latency of a node, all outputs', 'nodes.md', 'node_latency', ECHO),
    ('latency of a node, 200 and 1000 Hz', 'nodes.md', 'node_rates', ECHO),
    ('latency of a node, same outputs', 'nodes.md', 'node_kilohertz', 'Pinocchio and rclpy'),
    ('each instruction set', 'instruction_sets.md', 'instruction_sets', CPP),
)


def expectations(folder: Path) -> str:
    """Return what a user can expect, one line each, with the measured numbers."""

    def time(part: str, robot: str, name: str, whose: str = 'ours', **values: str) -> str:
        figure = Results(folder, part).select(robot=robot, name=name, **values)[0]
        return number(figure[whose]) + unit_of(figure)

    def call(name: str) -> str:
        panda, talos = (
            time('single_calls', robot, name, peer=PYTHON)
            for robot in ('Panda, 9 dof', 'TALOS, 44 dof')
        )
        return f'{panda} and {talos}'

    def kilohertz(name: str, whose: str = 'ours') -> str:
        return time('node_kilohertz', 'Panda', f'all outputs: {name}', whose)

    one = 'inverse dynamics, one core'
    least, most = times_slower(folder)
    lines = (
        f'One call from Python, for a Panda and for TALOS with 44 joints: inverse dynamics '
        f'{call("inverse dynamics")}, mass matrix {call("mass matrix")}, derivatives of forward '
        f'dynamics {call("derivatives of forward dynamics")}.',
        f'The same from C: inverse dynamics of a Panda '
        f'{time("c_code", "Panda, 9 dof", "inverse dynamics, C")}.',
        f'Recordings and learning: {time("stacks", "Panda, 9 dof", one)} for each of 4096 samples '
        '(inverse dynamics of a Panda, one core).',
        f'One solution of inverse kinematics of a Panda: '
        f'{time("inverse_kinematics", "Panda, 8 dof, one tip", "time")}.',
        f'One simulated step of a Panda: '
        f'{time("simulation", "Panda, 7 joints", "one arm, RK4", peer="mj_step")}.',
        f'Nodes: {kilohertz("state to last one")} in the median from a joint state to the last of '
        f'all outputs at 1 kHz, {kilohertz("state to last one", "ours_p99")} in 99 %; an echo in '
        f'rclpy, which computes nothing: {kilohertz("state to last one", "theirs")} and '
        f'{kilohertz("state to last one", "theirs_p99")}.',
        f'`bringup` with all outputs of a Panda: {kilohertz("memory")} of memory, '
        f'{kilohertz("share of a processor")} of a processor.',
        f'Start of all functions of `bringup`: '
        f'{time("first_use", "Panda, 7 joints", "everything bringup needs, first use")} the first '
        'time, then from the cache '
        f'{time("first_use", "Panda, 7 joints", "everything bringup needs, from the cache")}.',
        f'Without llvmlite: {least:.0f} to {most:.0f} times as long for a call.',
        'No hard deadlines from Python: use the C code for hard real time.',
    )
    return ''.join(f'* {line}\n' for line in lines)


def overview(folder: Path) -> str:
    """Return how many times faster ours is, least and most, and each comparison that it loses."""
    rows, slower, kind = [], [], ''
    for what, page, part, peer in COMPARED:
        figures = [
            figure
            for figure in Results(folder, part).figures
            if figure.get('peer', '').startswith(peer)
            and (peer != 'mj_step' or figure['peer'] == peer)
            and figure.get('ratio')
        ]
        kind = what or kind
        of_times = part.startswith('node')  # these ratios are ours / theirs
        times_faster = [1.0 / f['ratio'] if of_times else f['ratio'] for f in figures]
        lost_here = [
            (kind, label(figure), peer, number(ratio))
            for figure, ratio in zip(figures, times_faster)
            if ratio < 1.0
        ]
        slower += lost_here
        least, most = number(min(times_faster)), number(max(times_faster))
        rows.append(
            (
                f'[{what}]({page})' if what else '',
                figures[0]['peer'],
                least if least == most else f'{least} to {most}',
                f'**{len(lost_here)} of {len(figures)}**' if lost_here else f'0 of {len(figures)}',
            )
        )
    text = table(
        ('what', 'beside', 'ours is times faster', 'comparisons in which ours is slower'),
        rows,
        'ratios of medians, from the least to the most favorable comparison',
    )
    heads = 'what', 'case', 'beside', 'ours is times faster'
    return text + table(heads, slower, 'slower than the comparison')[:-1] if slower else text


def machine(folder: Path) -> str:
    """Return what was measured on, one line for each different set-up."""
    parts = sorted(path.stem for path in folder.glob('*.json'))
    return machine_of(folder, [part for part in parts if part not in (*OTHER_PAGES, *STUDIES)])


def single_calls(folder: Path) -> str:
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
                'remark',
            ),
            rows,
            'times in µs: median (99th percentile)',
        )
        + f'C++: {results.environments[0].get("C++", "not measured")}.\n'
        + verdict(results)
    )


def c_code(folder: Path) -> str:
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
            'remark',
        ),
        rows,
        'times in ns: median',
    ) + verdict(results)


def stacks(folder: Path) -> str:
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
            'remark',
        ),
        rows,
        'times in µs per sample: median (99th percentile)',
    ) + verdict(results)


def simulation(folder: Path) -> str:
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
            'remark',
        ),
        rows,
        'times per step and arm: median (99th percentile); share of a core: mean (99th percentile) '
        'of processor time',
    ) + verdict(results)


def absolute_coordinates(folder: Path) -> str:
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
    ]
    return table(
        ('system', 'what', 'ours', 'beside', 'theirs', 'theirs / ours', 'limit', 'remark'),
        rows,
        'times in µs: median (99th percentile); of the growth, ours / theirs',
    ) + verdict(results)


def inverse_kinematics(folder: Path) -> str:
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
        ('robot', 'solver', 'solved', 'time', 'ours is times faster', 'remark'),
        rows,
        'times in µs: median (99th percentile)',
    ) + verdict(results)


def nodes(folder: Path) -> str:
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
        ('what', 'ours', 'beside', 'theirs', 'ours / theirs', 'limit', 'remark'),
        rows,
        'median (99th percentile) for times; ratios of latencies are ours / theirs',
    )
    echo = first(results.select(peer=ECHO))
    excused = first(results.select(name='late, excused by pauses'))
    same = note(echo).partition('echo and ours: ')[2]
    lines = [f'Echo and ours have the same settings: {same}.\n'] if same else []
    if excused:
        lines.append(f'Late during pauses of the machine: {note(excused)}.\n')
    beside = [f for f in results.figures if f['name'].startswith('beside ')]
    if beside:
        notes = '; '.join(f'{f["name"]}, {note(f)}' for f in beside)
        lines.append(f'States without an output, included with the longest latency: {notes}.\n')
    counted = [f for f in results.figures if f['group'] == '1 kHz' and 'states' in f['name']]
    if counted:
        notes = '; '.join(
            f'{f["name"]} {f["ours"]:g} beside {f["peer"]} {note(f)}' for f in counted
        )
        lines.append(f'At 1 kHz, best effort, depth 5, one node at a time: {notes}.\n')
    return text + ''.join(lines) + verdict(results)


def instruction_sets(folder: Path) -> str:
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
        ('robot', 'function', *sets, 'remark'),
        rows,
        'ours, and how many times faster that is than Pinocchio C++ compiled for the same set',
    ) + verdict(results)


def start(folder: Path) -> str:
    """Return the table of the first use, and without llvmlite."""
    results = Results(folder, 'first_use', 'python_backend')
    rows = []
    for figure in results.figures:
        name = figure['name']
        if figure['group'].startswith('python'):
            name = f'without llvmlite: {name}'
        rows.append(
            (figure['robot'], name, ours(figure, unit=True), theirs(figure), limit(figure))
            + (lost(figure),)
        )
    text = table(
        ('robot', 'what', 'ours', 'echo in rclpy', 'limit', 'remark'),
        rows,
        'median (99th percentile, or the longest of all starts)',
    )
    least, most = times_slower(folder)
    return (
        f'{text}Without llvmlite these calls take {least:.0f} to {most:.0f} times as long as '
        f'[compiled ones](calls.md).\n\n{verdict(results)}'
    )


def times_slower(folder: Path) -> tuple[float, float]:
    """Return the least and the most times as long that calls take without llvmlite."""
    compiled = Results(folder, 'single_calls')
    ratios = []
    for figure in Results(folder, 'python_backend').figures:
        same = first(compiled.select(robot=figure['robot'], name=figure['name'], peer=CPP))
        assert same is not None
        ratios.append(figure['ours'] / same['ours'])
    return min(ratios), max(ratios)


TABLES: dict[str, Callable[[Path], str]] = {
    'expectations': expectations,
    'overview': overview,
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
