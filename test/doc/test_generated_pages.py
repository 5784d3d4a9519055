# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Generated tables of README.md and doc/ are what `tools/pages.py` makes of the results."""

import json
import re
import shutil

import pytest

from screw_dynamics_ros.core.compile.kernels import WITHOUT_LLVMLITE
from support.paths import ROOT
from support.robots import all_example_robots
from support.tools import load_tool

RESULTS = ROOT / 'benchmarks' / 'results'

pages = load_tool('pages')
benchmark = load_tool('page_tables.benchmark')


def text_of(page):
    return (ROOT / page).read_text(encoding='utf-8')


README = text_of('README.md')


def test_badges_say_what_the_package_declares():
    """Their text for readers without pictures is that in the pictures, and that of the metadata."""
    shown = re.findall(r'<img src="(doc/pictures/badge_\w+\.svg)" alt="([^"]+)">', README)
    labels = [re.search(r'aria-label="([^"]+)"', text_of(path))[1] for path, _ in shown]
    assert [alt.lower() for _, alt in shown] == [label.lower() for label in labels]
    assert labels == ['license: Apache-2.0', 'Python: 3.10 to 3.13', 'ROS 2: Jazzy, Kilted']


@pytest.fixture
def results(tmp_path):
    """Return a copy of the results."""
    return shutil.copytree(RESULTS, tmp_path / 'results')


def change(folder, part, which, **values):
    """Change one figure."""
    path = folder / f'{part}.json'
    content = json.loads(path.read_text())
    (figure, *_) = (f for f in content['figures'] if which.items() <= f.items())
    figure.update(values)
    path.write_text(json.dumps(content))


def skip_without_what_is_needed(page):
    if pages.PAGES[page] == pages.REGISTRY:
        pytest.importorskip('rclpy')


@pytest.mark.parametrize('page', pages.PAGES)
def test_page_is_up_to_date(page):
    skip_without_what_is_needed(page)
    if page == 'doc/reference/operation_counts.md' and not all_example_robots():
        pytest.skip('example-robot-data is not installed')
    before = text_of(page)
    after = pages.updated(page, before)
    assert pages.alike(before, after, pages.TOLERANCES.get(page, 0.0)), 'run make tables'


@pytest.mark.parametrize(
    'page', [page for page in pages.PAGES if pages.BLOCK.search(text_of(page))]
)
def test_tables_that_are_missing_or_unknown_are_refused(page):
    skip_without_what_is_needed(page)
    mark = next(pages.BLOCK.finditer(text_of(page)))[1]
    for other in ('', '<!-- table: stakes -->\n'):
        with pytest.raises(ValueError, match='the page has the tables'):
            pages.updated(page, text_of(page).replace(mark, other))


def test_no_table_is_left_out():
    """Programs that measure torques and laws in a loop write their tables themselves."""
    studies = (
        'how_to/external_torques',
        'how_to/feedforward',
        'how_to/impedance_drives',
        'how_to/law_controller',
        'how_to/teleoperation',
        'how_to/trajectories',
        'reference/control_laws',
    )
    made = {*pages.PAGES, *(f'doc/{page}.md' for page in studies)}
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in (ROOT / 'doc').rglob('*.md')}
    assert {page for page, text in texts.items() if pages.BLOCK.search(text)} <= made


def test_texts_are_alike_but_for_rounding():
    assert pages.alike('| 12 mm | 3.4 % |', '| 13 mm | 3.3 % |', 1.01)
    assert not pages.alike('| 12 mm | 3.4 % |', '| 14 mm | 3.4 % |', 1.01)
    assert not pages.alike('| 12 mm |', '| - mm |', 1.01)
    assert not pages.alike('| 1.0 |', '| 1 |', 0.0)


def test_links_of_contacts_are_right_above_the_stated_force():
    """99 % and more at 80 N everywhere."""
    shares = re.findall(
        r'\| 80 N \|.*?\| ([\d.]+) % \| \d+ mm', text_of('doc/how_to/contact_localization.md')
    )
    assert len(shares) == len(load_tool('page_tables.contacts').cases())
    assert min(map(float, shares)) >= 99.0


def test_command(monkeypatch, tmp_path, capsys):
    """`--check` finds a page that was edited by hand; without it, the page is written."""
    page = 'doc/how_to/gradients.md'
    right = text_of(page)
    begin = pages.BLOCK.search(right).start()
    edited = right[:begin] + right[begin:].replace('median', 'mean', 1)
    (tmp_path / page).parent.mkdir(parents=True)
    (tmp_path / page).write_text(edited, encoding='utf-8')
    monkeypatch.setattr(pages, 'ROOT', tmp_path)
    assert pages.main(['--check', page]) == 1
    assert (tmp_path / page).read_text(encoding='utf-8') == edited
    assert pages.main([page]) == 0
    assert capsys.readouterr().out == f'outdated: {page}\nwritten: {page}\n'
    assert (tmp_path / page).read_text(encoding='utf-8') == right
    assert pages.main(['--check', page]) == 0
    with pytest.raises(SystemExit):
        pages.main(['doc/theory/lie_groups.md'])


def measured_pages():
    """Return the pages with measured tables of the benchmark."""
    return [page for page, module in pages.PAGES.items() if module == 'page_tables.benchmark']


def test_an_edited_number_shows():
    """The text of each table is compared: one digit that is put right by hand is found."""
    for page in (*measured_pages(), 'README.md'):
        text = text_of(page)
        for block in pages.BLOCK.finditer(text):
            digit = re.compile(r'[1-8]').search(text, block.end(1))
            edited = text[: digit.start()] + '9' + text[digit.end() :]
            assert pages.updated(page, edited) == text != edited


@pytest.mark.parametrize(
    ('part', 'which'),
    [
        ('single_calls', {'robot': 'Panda, 9 dof', 'name': 'inverse dynamics'}),
        ('stacks', {'name': 'forward dynamics, one core'}),
        ('inverse_kinematics', {'name': 'time', 'ours': None}),
        ('node_latency', {'name': 'state'}),
        ('first_use', {}),
    ],
)
def test_a_change_of_the_results_shows(results, part, which):
    which = {key: value for key, value in which.items() if value is not None}
    change(results, part, which, ours=123.4)
    texts = {
        page: (text_of(page), pages.updated(page, text_of(page), results))
        for page in measured_pages()
    }
    changed = [after for before, after in texts.values() if after != before]
    assert changed
    assert all('123' in after for after in changed)


def test_readme_shows_what_was_measured(results):
    figure = {'robot': 'Panda, 9 dof', 'name': 'inverse dynamics', 'peer': 'Pinocchio from Python'}
    change(results, 'single_calls', figure, ours=123.4)
    assert '| inverse dynamics | 123 µs |' in pages.updated('README.md', README, results)


def test_readme_can_be_read_in_ten_minutes():
    """Lines, words, lines of tables, the longest line, and a picture on the first screen."""
    lines = README.splitlines()
    assert len(lines) <= 150
    assert len(README.split()) <= 900
    assert sum(line.startswith('|') for line in lines) <= 25
    assert max(map(len, lines)) <= 250
    assert next(k for k, line in enumerate(lines) if '<img' in line or '![' in line) < 12


def test_what_a_peer_wins_is_said(results):
    """In the line of the table, in bold, and in the table below, also without a line."""
    which = {'robot': 'UR5, 6 dof', 'name': 'gravity torques', 'peer': 'Pinocchio C++'}
    change(results, 'single_calls', which, ratio=0.5, worse=['median'])
    text = benchmark.single_calls(results)
    (line,) = (line for line in text.splitlines() if '**0.5**' in line)
    assert line.endswith('| **slower** |')
    assert '| UR5, 6 dof, gravity torques |' in text.partition('Lost comparisons')[2]
    which['name'] = 'kinetic energy'
    assert which['name'] not in benchmark.SINGLE
    change(results, 'single_calls', which, ratio=0.4, worse=['median'])
    lost = benchmark.single_calls(results).partition('Lost comparisons')[2]
    assert 'kinetic energy |' in lost
    assert '| **slower** |' in lost


def test_the_overview_lists_what_a_peer_wins(results):
    assert 'UR5' not in benchmark.overview(results)
    which = {'robot': 'UR5, 6 dof, one tip', 'name': 'time', 'peer': 'EAIK 1.2.2'}
    change(results, 'inverse_kinematics', which, ratio=0.5)
    compared, _, slower = benchmark.overview(results).partition('Slower than the comparison')
    assert '| inverse kinematics | UR5, 6 dof, one tip, time | EAIK | 0.5 |' in slower
    assert len(slower.splitlines()) - 4 == sum(
        int(n) for n in re.findall(r'\*\*(\d+) of \d+\*\*', compared)
    )


def test_pages_and_messages_state_the_speed_without_llvmlite():
    least, _ = benchmark.times_slower(RESULTS)
    assert least > int(re.search(r'more than (\d+) times slower', WITHOUT_LLVMLITE)[1])
    assert WITHOUT_LLVMLITE in text_of('doc/start/limits.md')


def test_what_misses_a_limit_is_said(results):
    change(results, 'node_endurance', {'fails': True}, fulfilled=False)
    assert '**limit missed**' in benchmark.nodes(results)


def test_every_part_of_the_benchmark_has_results():
    source = (ROOT / 'benchmarks' / 'run.py').read_text()
    named = {
        kind: re.findall(r"'(\w+)',", re.search(rf'{kind} = \((.*?)\)', source, re.DOTALL)[1])
        for kind in ('MODULES', 'ON_DEMAND')
    }
    found = {path.stem for path in RESULTS.glob('*.json')}
    assert set(named['MODULES']) == found - {*named['ON_DEMAND'], *benchmark.STUDIES}


def test_results_know_the_processor_but_not_the_host():
    for path in RESULTS.glob('*.json'):
        text = path.read_text()
        assert not re.search(r'[" =:]/(home|root|tmp|work|usr|opt|Users)/', text), path.name
        if path.stem in benchmark.STUDIES:
            continue
        where = json.loads(text)['environment']
        assert {'processor', 'cores', 'python', 'numpy', 'pinocchio', 'ROS', 'date'} <= set(where)
