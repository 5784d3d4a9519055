"""The measured tables of the README are what its script makes of the committed results."""

import importlib.util
import json
import re
import shutil

import pytest

from support.paths import DOC, ROOT

RESULTS = ROOT / 'benchmarks' / 'results'
README = (ROOT / 'README.md').read_text(encoding='utf-8')


@pytest.fixture(scope='module')
def tables():
    specification = importlib.util.spec_from_file_location(
        'readme_tables', ROOT / 'tools' / 'readme_tables.py'
    )
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


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


def test_pages_are_what_the_results_say(tables):
    assert tables.update(README) == README, 'run python tools/readme_tables.py'
    page = (DOC / 'performance.md').read_text(encoding='utf-8')
    assert tables.update(page, to_root='../') == page, 'run python tools/readme_tables.py'


def test_every_row_in_which_we_are_worse_is_in_the_readme(tables):
    page = (DOC / 'performance.md').read_text(encoding='utf-8')
    bold = [line.count('**') for line in page.splitlines() if line.startswith('|')]
    shown = [line.count('**') for line in README.splitlines() if line.startswith('|')]
    assert sum(map(bool, bold)) == sum(map(bool, shown)) > 0


def test_an_edited_number_shows(tables):
    """The text of each table is compared: one digit that is put right by hand is found."""
    for name in tables.TABLES:
        begin = README.index(f'<!-- table: {name}')
        digit = re.compile(r'[1-8]').search(README, README.index('-->', begin))
        edited = README[: digit.start()] + '9' + README[digit.end() :]
        assert tables.update(edited) == README != edited


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
def test_a_change_of_the_results_shows(tables, results, part, which):
    which = {key: value for key, value in which.items() if value is not None}
    change(results, part, which, ours=123.4)
    assert '123' in tables.update(README, results)
    assert tables.update(README, results) != README


def test_what_a_peer_wins_is_said(tables, results):
    """In the line of the table, in bold, and below, also without a line."""
    which = {'robot': 'UR5, 6 dof', 'name': 'gravity torques', 'peer': 'Pinocchio C++'}
    change(results, 'single_calls', which, ratio=0.5, worse=['median'])
    text = tables.single_calls(results)
    (line,) = (line for line in text.splitlines() if '**0.5**' in line)
    assert line.endswith('| **median of Pinocchio C++** |')
    assert 'UR5, 6 dof, gravity torques (median of Pinocchio C++)' in text.splitlines()[-1]
    which['name'] = 'kinetic energy'
    assert which['name'] not in tables.SINGLE
    change(results, 'single_calls', which, ratio=0.4, worse=['median'])
    assert 'kinetic energy (median of' in tables.single_calls(results).splitlines()[-1]


def test_what_misses_a_limit_is_said(tables, results):
    change(results, 'node_endurance', {'fails': True}, fulfilled=False)
    assert '**limit missed**' in tables.nodes(results)


def test_every_part_of_the_benchmark_has_results(tables):
    source = (ROOT / 'benchmarks' / 'run.py').read_text()
    named = {
        kind: re.findall(r"'(\w+)',", re.search(rf'{kind} = \((.*?)\)', source, re.DOTALL)[1])
        for kind in ('MODULES', 'ON_DEMAND')
    }
    found = {path.stem for path in RESULTS.glob('*.json')}
    assert set(named['MODULES']) == found - {*named['ON_DEMAND'], *tables.STUDIES}


def test_tables_that_are_missing_or_unknown_are_refused(tables):
    with pytest.raises(ValueError, match='stacks'):
        tables.update(README.replace('<!-- table: stacks in brief -->', ''))
    with pytest.raises(ValueError, match='stakes'):
        tables.update(README.replace('<!-- table: stacks in brief -->', '<!-- table: stakes -->'))


def test_results_know_the_processor_but_not_the_host(tables):
    for path in RESULTS.glob('*.json'):
        text = path.read_text()
        assert not re.search(r'[" =:]/(home|root|tmp|work|usr|opt|Users)/', text), path.name
        if path.stem in tables.STUDIES:
            continue
        where = json.loads(text)['environment']
        assert {'processor', 'cores', 'python', 'numpy', 'pinocchio', 'ROS', 'date'} <= set(where)
