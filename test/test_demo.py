"""The demo: its arithmetic on recordings made up here, its processes, and one run of the whole."""

from __future__ import annotations

import io
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from robots import BUNDLED
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.cli import demo, demo_processes, demo_view
from screw_dynamics_ros.cli.demo_processes import ChildError, Children, free_domain
from screw_dynamics_ros.cli.demo_push import Push
from screw_dynamics_ros.cli.demo_recording import STAMPED, Recording, Series, singular_values
from screw_dynamics_ros.cli.demo_report import make_report, mean, percentile, rate, worst
from screw_dynamics_ros.cli.demo_snapshot import take_snapshot
from screw_dynamics_ros.cli.demo_view import Screen, cut, lines, one_line
from screw_dynamics_ros.core import Robot

PANDA = BUNDLED / 'panda.urdf'
TOOL = 'panda_hand_tcp'
PUSH = Push((8.0, -5.0, 12.0), start=2.0, end=6.0)
PERIOD = 0.02  # s between the joint states of made-up recordings
DELAYS = {'joint_states': 0.0002, 'jacobian': 0.0010, 'tf': 0.0005, 'gravity': 0.0006,
          'coriolis': 0.0007, 'feedforward': 0.0008, 'wrench': 0.0012}  # s from stamp to arrival

Edit = Callable[[str, int, np.ndarray], 'np.ndarray | None']


@pytest.fixture(scope='module')
def robot() -> Robot:
    return Robot.from_urdf(PANDA)


def chain_of(robot: Robot) -> list[tuple[str, tuple[float, ...] | None]]:
    """Return the joints from the root to the tool, with the numbers of those that are fixed."""
    joints = {joint.child: joint for joint in robot.description.joints}
    chain: list[tuple[str, tuple[float, ...] | None]] = []
    link = TOOL
    while link in joints:
        joint = joints[link]
        fixed = tuple(pose_numbers(joint.origin)) if joint.type == 'fixed' else None
        chain.insert(0, (joint.name, fixed))
        link = joint.parent
    return chain


def pose_numbers(pose: np.ndarray) -> np.ndarray:
    """Return (x, y, z, qx, qy, qz, qw) of a (4, 4) pose."""
    return np.concatenate([pose[:3, 3], Rotation.from_matrix(pose[:3, :3]).as_quat()])


def make_recording(robot: Robot, duration: float = 8.0,
                   edit: Edit = lambda name, k, values: values) -> Recording:
    """Return what a perfect run of an arm that moves steadily gives; `edit` spoils messages."""
    chain = chain_of(robot)
    recording = Recording(robot.joint_names, 'panda_link0', TOOL, [n for _, n in chain],
                          start=1_000_000_000)
    kernel = robot.fuse('gravity_torques', 'coriolis_torques', ('jacobian', TOOL, 'body'),
                        'joint_transforms')
    rows = [robot.transform_joints.index(name) for name, fixed in chain if fixed is None]
    v = np.full(robot.nv, 0.05)
    for k in range(round(duration / PERIOD)):
        seconds = k * PERIOD
        q = np.array([0.1, -0.4, 0.2, -2.2, 0.1, 1.9, 0.8, 0.02]) + v * seconds
        gravity, coriolis, jacobian, transforms = kernel(
            *({'q': q, 'v': v, 'gravity': robot.gravity}[name] for name in kernel.inputs))
        force = float(PUSH.strength(seconds)) * np.array(PUSH.force)
        wrench = np.concatenate([force, np.zeros(3)])
        effort = gravity + coriolis - jacobian.T @ np.roll(wrench, 3)
        messages = {
            'joint_states': np.concatenate([q, v, effort]), 'gravity': gravity,
            'coriolis': coriolis, 'feedforward': gravity + coriolis, 'wrench': wrench,
            'jacobian': jacobian.ravel(), 'tf': transforms[rows].ravel(), 'applied': force}
        stamp = recording.start + round(seconds * 1e9)
        for name, values in messages.items():
            edited = edit(name, k, values)
            if edited is not None:
                recording.series[name].add(stamp + round(DELAYS.get(name, 0.0) * 1e9),
                                           (stamp, edited.tolist()))
    return recording


@pytest.fixture(scope='module')
def perfect(robot: Robot) -> Recording:
    return make_recording(robot)


# --- push -----------------------------------------------------------------------------------------


def test_push_rises_stays_and_falls():
    assert PUSH.strength([0.0, 2.0, 2.25, 2.5, 4.0, 5.5, 5.75, 6.0, 9.0]) == pytest.approx(
        [0.0, 0.0, 0.5, 1.0, 1.0, 1.0, 0.5, 0.0, 0.0])


def test_push_is_continuous_with_its_rate():
    time_ = np.linspace(1.5, 6.5, 5001)
    slope = np.gradient(PUSH.strength(time_), time_)
    assert np.abs(slope).max() < 1.6 / PUSH.ramp
    assert np.abs(np.gradient(slope, time_)).max() < 6.1 / PUSH.ramp**2


def test_steady_and_absent_leave_out_what_is_between():
    time_ = np.array([1.9, 2.1, 3.4, 3.6, 5.4, 5.6, 6.9, 7.1])
    assert PUSH.steady(time_).tolist() == [False, False, False, True, True, False, False, False]
    assert PUSH.absent(time_).tolist() == [True, False, False, False, False, False, False, True]


# --- recording ------------------------------------------------------------------------------------


def test_series_gives_all_or_the_last_messages():
    series = Series(2, lambda text: (int(text), (float(text), -float(text))))
    for k in range(4):
        series.add(10 + k, str(k))
        assert len(series.values()) == k + 1
    assert len(series) == 4
    assert series.stamps().tolist() == [0, 1, 2, 3]
    assert series.arrivals(2).tolist() == [12, 13]
    assert series.values(1).tolist() == [[3.0, -3.0]]
    assert series.values(9).shape == series.values().shape == (4, 2)


def test_series_reads_what_is_asked_for_and_all_only_once():
    read: list[int] = []

    def decode(message: int) -> tuple[int, tuple[float]]:
        read.append(message)
        return message, (0.0,)

    series = Series(1, decode)
    for k in range(5):
        series.add(k, k)
    series.values(2)
    assert read == [3, 4]
    series.values()
    series.stamps()
    series.values(1)
    assert read == [3, 4, 0, 1, 2, 3, 4]


def test_series_without_messages():
    series = Series(3, lambda message: message)
    for last in (0, 1):
        assert series.values(last).shape == (0, 3)
        assert series.stamps(last).shape == series.arrivals(last).shape == (0,)


def test_latency_runs_to_the_last_stamped_output(perfect: Recording):
    index, since_arrival, since_stamp = perfect.latency()
    assert len(index) == len(perfect.series['joint_states'])
    assert since_arrival == pytest.approx(np.full(len(index), 0.0010))
    assert since_stamp == pytest.approx(np.full(len(index), 0.0012))


@pytest.mark.parametrize('lost', STAMPED)
def test_latency_leaves_out_incomplete_sets(robot: Robot, lost: str):
    recording = make_recording(robot, 1.0, lambda name, k, values: (
        None if name == lost and k in (3, 7) else values))
    index, since_arrival, _ = recording.latency()
    assert sorted(set(range(50)) - set(index.tolist())) == [3, 7]
    assert len(since_arrival) == 48


def test_together_pairs_messages_by_stamp(robot: Robot):
    recording = make_recording(robot, 0.2, lambda name, k, values: (
        None if (name == 'wrench' and k == 2) or (name == 'gravity' and k == 5) else values))
    seconds, wrench, gravity = recording.together('wrench', 'gravity')
    assert seconds == pytest.approx([0.0, 0.02, 0.06, 0.08, 0.12, 0.14, 0.16, 0.18])
    assert len(wrench) == len(gravity) == 8
    assert gravity[2] == pytest.approx(recording.series['gravity'].values()[3])


def test_tool_pose_is_that_of_the_model(robot: Robot, perfect: Recording):
    position, rotation = perfect.tool_pose(perfect.series['tf'].values())
    q = perfect.series['joint_states'].values()[:, :robot.nq]
    expected = robot.link_pose(q, TOOL)
    assert np.abs(position - expected[:, :3, 3]).max() < 1e-14
    assert np.abs(rotation.as_matrix() - expected[:, :3, :3]).max() < 1e-14


def test_singular_values_do_not_depend_on_the_order_of_rows(perfect: Recording):
    rows = perfect.series['jacobian'].values(5)
    swapped = np.roll(rows.reshape(5, 6, -1), 3, axis=1).reshape(5, -1)
    assert singular_values(rows).shape == (5, 6)
    assert singular_values(rows) == pytest.approx(singular_values(swapped))


# --- statistics and comparisons -------------------------------------------------------------------


def test_statistics():
    assert rate([0, 10_000_000, 20_000_000]) == pytest.approx(100.0)
    assert percentile([1.0, 2.0, 9.0], 50) == 2.0
    assert mean([-1.0, 3.0]) == 1.0
    assert worst([[1.0, -4.0], [2.0, 3.0]]) == 4.0
    for nothing in (rate([]), rate([5]), rate([5, 5]), percentile([], 50), mean([]), worst([])):
        assert math.isnan(nothing)


def test_perfect_run_passes(perfect: Recording):
    report = make_report(perfect, PUSH, PANDA, TOOL)
    assert report.failures == []
    assert report.rates['joint_states'] == pytest.approx(1.0 / PERIOD)
    assert report.latency['median since arrival'] == pytest.approx(1.0)
    assert report.latency['p99 since stamp'] == pytest.approx(1.2)


def failures(recording: Recording, push: Push = PUSH) -> str:
    return '; '.join(make_report(recording, push, PANDA, TOOL).failures)


@pytest.mark.parametrize('axis', [0, 1, 2])
def test_another_force_fails(perfect: Recording, axis: int):
    force = list(PUSH.force)
    force[axis] += 0.5
    assert failures(perfect, Push((force[0], force[1], force[2]), PUSH.start, PUSH.end)) == (
        f'force {"xyz"[axis]} of {force[axis]:g} N, mean error')


@pytest.mark.parametrize(('name', 'column', 'by', 'at', 'failed'), [
    ('wrench', 1, 2.0, 4.0, 'force y of -5 N, worst error'),
    ('wrench', 4, 1.0, 4.0, 'moment of 0 N m, worst error'),
    ('wrench', 4, math.nan, 4.0, 'moment of 0 N m, mean error; moment of 0 N m, worst error'),
    ('wrench', 2, 2.0, 1.0, 'force without push, worst'),
    ('wrench', 2, 2.0, 2.2, ''),  # on the ramp
    ('feedforward', 3, 1.0, 1.0, 'feedforward - torque, worst (panda_joint4)'),
    ('joint_states', 17, 1.0, 1.0, 'feedforward - torque, worst (panda_joint2)'),
])
def test_one_wrong_number_fails(robot: Robot, name: str, column: int, by: float, at: float,
                                failed: str):
    def spoil(series: str, k: int, values: np.ndarray) -> np.ndarray:
        if series == name and k == round(at / PERIOD):
            values = values.copy()
            values[column] += by
        return values

    assert failures(make_recording(robot, edit=spoil)) == failed


def test_wrong_tool_frame_fails(robot: Robot):
    pytest.importorskip('pinocchio')
    recording = make_recording(robot, edit=lambda name, k, values: (
        values + 1e-6 * (np.arange(len(values)) == 0) if name == 'tf' and k == 9 else values))
    assert failures(recording) == 'tool position against Pinocchio'


def test_without_pinocchio_the_rest_is_compared(
        perfect: Recording, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, 'pinocchio', None)
    report = make_report(perfect, PUSH, PANDA, TOOL)
    assert report.failures == []
    assert 'Pinocchio' in report.remarks[0]


def test_lost_messages_fail(robot: Robot):
    recording = make_recording(robot, edit=lambda name, k, values: (
        None if name == 'gravity' and k % 15 == 0 else values))
    assert failures(recording) == 'joint states without all outputs'


@pytest.mark.parametrize('silent', ['joint_states', *STAMPED])
def test_silence_is_no_success(robot: Robot, silent: str):
    recording = make_recording(robot, edit=lambda name, k, values: (
        None if name == silent else values))
    assert 'joint states without all outputs' in failures(recording)


def test_run_too_short_for_a_steady_push_fails(robot: Robot):
    assert 'force x of 8 N, mean error' in failures(make_recording(robot, 3.0))


# --- conclusion -----------------------------------------------------------------------------------


def test_conclusion_of_a_good_run(
        perfect: Recording, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip('matplotlib')
    assert demo.conclude(perfect, PUSH, PANDA, tmp_path / 'new') == 0
    text = capsys.readouterr().out
    assert 'FAIL' not in text
    assert 'PASSED' in text
    assert max(map(len, text.replace(str(tmp_path), '').splitlines())) < 80
    assert (tmp_path / 'new/demo.png').read_bytes()[:8] == b'\x89PNG\r\n\x1a\n'
    contents = json.loads((tmp_path / 'new/demo.json').read_text())
    assert contents['passed'] is True
    assert contents['joint_states'] == 400


def test_conclusion_of_a_bad_run(
        perfect: Recording, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    other = Push((8.0, 5.0, 12.0), PUSH.start, PUSH.end)
    assert demo.conclude(perfect, other, PANDA, tmp_path) == 1
    text = capsys.readouterr().out
    assert re.search(r'FAIL +force y of 5 N, mean error +10', text)
    assert 'FAILED: force y of 5 N, mean error; force y of 5 N, worst error' in text
    contents = json.loads((tmp_path / 'demo.json').read_text())
    assert contents['passed'] is False
    assert [c['name'] for c in contents['comparisons'] if not c['passed']] == [
        'force y of 5 N, mean error', 'force y of 5 N, worst error']


def test_conclusion_without_any_message(
        robot: Robot, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    empty = Recording(robot.joint_names, 'panda_link0', TOOL, [None], start=0)
    assert demo.conclude(empty, PUSH, PANDA, tmp_path) == 1
    assert 'NaN' not in (tmp_path / 'demo.json').read_text()


def test_conclusion_without_matplotlib(
        perfect: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]):
    monkeypatch.setitem(sys.modules, 'matplotlib', None)
    assert demo.conclude(perfect, PUSH, PANDA, tmp_path) == 0
    assert 'no picture: matplotlib is not installed' in capsys.readouterr().out


def test_conclusion_where_nothing_can_be_saved(
        perfect: Recording, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / 'results').write_text('a file')
    assert demo.conclude(perfect, PUSH, PANDA, tmp_path / 'results') == 0
    assert 'not saved' in capsys.readouterr().out


# --- view -----------------------------------------------------------------------------------------


@pytest.mark.parametrize('width', [10, 20, 40, 79, 120, 300])
@pytest.mark.parametrize('messages', [0, 5, 250])
def test_view_fits(robot: Robot, width: int, messages: int):
    recording = make_recording(robot, messages * PERIOD)
    view = lines(take_snapshot(recording, PUSH, 3.0, 8.0), width, 'title ' * 10)
    assert max(len(''.join(text for text, _ in line)) for line in view) <= width
    assert len(view) < 24 or width < 79


def test_narrow_view_cuts_no_number_in_two(robot: Robot, perfect: Recording):
    def numbers(width: int) -> list[list[str]]:
        view = lines(take_snapshot(perfect, PUSH, 3.0, 8.0), width)
        return [''.join(text for text, _ in line)[13:].split() for line in view[4:14]]

    wide = numbers(120)
    for width in range(20, 79):
        for narrow, whole in zip(numbers(width), wide):
            assert narrow == whole[:len(narrow)]


def test_view_shows_the_latest_numbers(robot: Robot, perfect: Recording):
    recording = make_recording(robot, 5.0)
    view = '\n'.join(''.join(text for text, _ in line)
                     for line in lines(take_snapshot(recording, PUSH, 5.0, 8.0), 79))
    q = recording.series['joint_states'].values(1)[0][:robot.nq]
    assert ''.join(f'{value:10.4f}' for value in robot.link_pose(q, TOOL)[:3, 3]) in view
    assert ''.join(f'{value:8.3f}' for value in robot.gravity_torques(q)[1:4]) in view
    assert re.search(r'y +-5\.00 +-5\.00', view)
    assert not re.search(r'-0\.0+(\s|$)', view)
    assert 'joint1  joint2' in view
    assert 'latency 1.00 ms' in view


def test_force_bar_shows_estimate_and_applied_force():
    line = demo_view.force_bar('x', applied=5.0, estimated=-10.0, scale=10.0, width=60)
    text = ''.join(piece for piece, _ in line)[37:]
    half = len(text) // 2
    assert text[:half] == '█' * half
    assert text[half] == '│'
    assert text[half + 1:].index('┃') == round(half / 2) - 1


def test_cut_counts_columns_not_escape_sequences():
    assert cut([('abc', 'good'), ('def', '')], 4) == [('abc', 'good'), ('d', '')]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = 'utf-8'

    def isatty(self) -> bool:
        return True


def test_screen_redraws_in_place(perfect: Recording, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv('TERM', 'xterm')
    monkeypatch.setenv('COLUMNS', '70')
    monkeypatch.setenv('LINES', '12')
    monkeypatch.delenv('NO_COLOR', raising=False)
    stream = Terminal()
    with Screen(stream, 'title') as screen:
        for seconds in (1.0, 1.1):
            screen.draw(take_snapshot(perfect, PUSH, seconds, 8.0))
    text = stream.getvalue()
    assert text.startswith('\033[?25l')
    assert text.endswith('\033[?25h')
    assert text.count('\n') == 22
    assert text.count('\033[11A') == 1
    visible = re.sub(r'\033\[[0-9;?]*[A-Za-z]|\r', '', text)
    assert max(map(len, visible.split('\n'))) <= 69


def test_screen_without_unicode_and_colour(perfect: Recording, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv('TERM', 'xterm')
    monkeypatch.setenv('NO_COLOR', '1')
    stream = Terminal()
    stream.encoding = 'ascii'  # type: ignore[misc]
    Screen(stream, 'title').draw(take_snapshot(perfect, PUSH, 1.0, 8.0))
    stream.getvalue().encode('ascii')
    assert '\033[1m' not in stream.getvalue()


def test_screen_elsewhere_prints_a_line_each_second(perfect: Recording):
    stream = io.StringIO()
    with Screen(stream, 'title') as screen:
        for k in range(31):
            screen.draw(take_snapshot(perfect, PUSH, 0.1 * k + 0.05, 8.0))
    assert len(stream.getvalue().splitlines()) == 4
    assert '\033' not in stream.getvalue()
    assert stream.getvalue().splitlines()[0] == one_line(take_snapshot(perfect, PUSH, 0.05, 8.0))


# --- processes ------------------------------------------------------------------------------------


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], str]:
    """Return a function that makes a module children can run."""
    monkeypatch.setenv('PYTHONPATH', os.pathsep.join(
        [str(tmp_path), *os.environ.get('PYTHONPATH', '').split(os.pathsep)]))

    def make(name: str, code: str) -> str:
        (tmp_path / f'{name}.py').write_text(code)
        return name

    return make


def wait_for(condition: Callable[[], object], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, 'timed out'
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()[0] != 'Z'
    except FileNotFoundError:
        return False


def test_child_that_dies_is_reported_with_its_last_output(modules: Callable[[str, str], str]):
    name = modules('short_lived', 'import sys; print("a reason"); sys.exit(7)')
    with Children() as children:
        children.start('driver', name, [])
        children.check()
        wait_for(lambda: not is_running(children.pids()['driver']))
        with pytest.raises(ChildError, match=r'(?s)driver ended with exit status 7.*a reason'):
            children.check()


def test_children_end_with_the_block(modules: Callable[[str, str], str]):
    name = modules('patient', 'import time; time.sleep(60)')
    pids: dict[str, int] = {}

    def crash() -> None:
        with Children() as children:
            children.start('a', name, [])
            children.start('b', name, [])
            pids.update(children.pids())
            assert all(map(is_running, pids.values()))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        crash()
    assert len(pids) == 2
    assert not any(map(is_running, pids.values()))


def test_child_that_does_not_listen_is_killed(
        modules: Callable[[str, str], str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(demo_processes, 'PATIENCE', (
        (signal.SIGINT, 0.1), (signal.SIGTERM, 0.1), (signal.SIGKILL, 5.0)))
    name = modules('stubborn', 'import signal, time\n'
                   'for s in (signal.SIGINT, signal.SIGTERM): signal.signal(s, signal.SIG_IGN)\n'
                   'print("deaf")\ntime.sleep(60)')
    with Children() as children:
        children.start('stubborn', name, [])
        wait_for(lambda: children.output('stubborn') == ['deaf'])
        pid = children.pids()['stubborn']
    assert not is_running(pid)


def test_children_end_with_a_killed_parent(modules: Callable[[str, str], str]):
    name = modules('orphan', 'import time; time.sleep(60)')
    parent = modules('killed', f'''
import time
from screw_dynamics_ros.cli.demo_processes import Children
with Children() as children:
    children.start('orphan', {name!r}, [])
    print(children.pids()['orphan'], flush=True)
    time.sleep(60)
''')
    with subprocess.Popen([sys.executable, '-m', parent], stdout=subprocess.PIPE, text=True,
                          cwd=Path(demo.__file__).parents[2]) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        assert is_running(pid)
        process.kill()
    wait_for(lambda: not is_running(pid))


def test_free_domain_is_one_that_is_safe_to_use():
    assert 0 < free_domain() <= 101
    assert free_domain(55, 55) == 55


# --- the whole, over DDS --------------------------------------------------------------------------


@pytest.fixture
def start_demo(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Return a function that starts the demo in a process of its own."""
    pytest.importorskip('rclpy')
    pytest.importorskip('tf2_msgs.msg')
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        started.append(subprocess.Popen(
            [sys.executable, '-u', '-m', 'screw_dynamics_ros.cli.demo', '--results', str(tmp_path),
             *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            cwd=Path(demo.__file__).parents[2]))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def read_until(process: subprocess.Popen[str], pattern: str) -> str:
    """Return the output up to a line that matches."""
    assert process.stdout is not None
    text = ''
    for line in process.stdout:
        text += line
        if re.search(pattern, line):
            return text
    raise AssertionError(f'{pattern!r} not found in\n{text}')


def pids_in(text: str) -> dict[str, int]:
    return {name: int(pid) for name, pid in re.findall(r'started (\w+), process (\d+)', text)}


def test_demo_passes(start_demo: Callable[..., subprocess.Popen[str]], tmp_path: Path):
    process = start_demo('--duration', '6')
    text = process.communicate()[0]
    assert process.returncode == 0, text
    assert re.search(r'^ +5\.\d s +tool .* N  latency ', text, re.MULTILINE)
    assert 'PASSED' in text
    contents = json.loads((tmp_path / 'demo.json').read_text())
    assert contents['passed'] is True
    assert contents['joint_states'] > 500
    assert 0.0 < contents['latency']['median since arrival'] < 1000.0
    assert (tmp_path / 'demo.png').exists()
    assert set(pids_in(text)) == {'simulator', 'bringup'}
    assert not any(map(is_running, pids_in(text).values()))


def test_demo_is_interrupted(start_demo: Callable[..., subprocess.Popen[str]]):
    process = start_demo()
    pids = pids_in(read_until(process, 'started bringup'))
    process.send_signal(signal.SIGINT)
    text = process.communicate()[0]
    assert process.returncode == 130
    assert 'Traceback' not in text
    assert not any(map(is_running, pids.values()))


def test_demo_whose_driver_dies(start_demo: Callable[..., subprocess.Popen[str]]):
    process = start_demo()
    text = read_until(process, r'^ +\d\.\d s +tool ')
    pids = pids_in(text)
    os.kill(pids['simulator'], signal.SIGKILL)
    text = process.communicate()[0]
    assert process.returncode == 3
    assert 'the process simulator ended by signal 9; its last output:' in text
    assert 'comparison' not in text
    assert not any(map(is_running, pids.values()))


@pytest.mark.parametrize('duration', ['5', '301', 'nan', 'long'])
def test_duration_is_checked(duration: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as error:
        demo.parse(['--duration', duration])
    assert error.value.code == 2
    assert duration in capsys.readouterr().err


@pytest.mark.parametrize('module', ['rclpy', 'tf2_msgs.msg'])
def test_without_ros_the_remedy_is_named(
        module: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip('rclpy')
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, 'screw_dynamics_ros.cli.demo_client', raising=False)
    assert demo.main(['--duration', '6']) == 3
    error = capsys.readouterr().err
    assert module in error
    assert 'make demo' in error


def test_arguments_of_ros_are_ignored():
    options = demo.parse(['--duration', '7', '--ros-args', '-r', '__node:=x'])
    assert options.duration == 7.0


def test_other_arguments_are_not(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        demo.parse(['--duraton', '7'])
    assert '--duraton' in capsys.readouterr().err
