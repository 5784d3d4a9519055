# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""`make mutants`: the changes that it makes, and the list of those that change no result."""

import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest

pytest.importorskip('cosmic_ray')

from cosmic_ray.mutating import mutate_code

from tools.coverage_of_tests import __main__ as coverage_of_tests
from tools.coverage_of_tests import measurement
from tools.mutants.changes import can_be_imported, changes_of, compiles, lines_with_changes
from tools.mutants.coverage import folder_of_tests
from tools.mutants.operators import RemoveCall, RemoveKeyword, SwapArguments
from tools.mutants.report import Equivalent

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize('operator', [RemoveCall, RemoveKeyword, SwapArguments])
def test_operators_change_what_their_examples_show(operator):
    for example in operator.examples():
        code = mutate_code(example.pre_mutation_code, operator(), example.occurrence)
        assert code == example.post_mutation_code


def test_the_order_of_symmetric_functions_is_no_change():
    lines = lines_with_changes('max(a, b)\nnp.hypot(a, b)\nf(a, b)\n')
    swaps = [line for line, each in lines.items() for name, _ in each if name == 'SwapArguments']
    assert swaps == [3]


def test_annotations_and_texts_are_not_changed():
    lines = lines_with_changes("def f(a: int | None = 1) -> int | None:\n    return f'{a + 1}'\n")
    assert [name for name, _ in lines[1]] == ['NumberReplacer', 'NumberReplacer']
    assert 2 not in lines


def test_a_star_of_parameters_is_no_product():
    lines = lines_with_changes('def f(a, *, b=1):\n    return a * b\n')
    assert {name for name, _ in lines[1]} == {'NumberReplacer'}
    assert {k for name, k in lines[2] if name.endswith('Mul_Div')} == {1}


def test_files_whose_libraries_are_missing_are_left_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path('needs_none.py').write_text('import math\n')
    Path('needs_one.py').write_text('import a_library_that_is_not_here\n')
    assert can_be_imported('needs_none.py')
    assert not can_be_imported('needs_one.py')


def test_each_line_has_one_change_that_compiles(tmp_path):
    (tmp_path / 'module.py').write_text('def f(a, b):\n    g(a, b, c=1)\n    return a < b + 2\n')
    changes = changes_of(tmp_path, ['module.py'])
    assert [change.line for change in changes] == [2, 3]
    assert all(compiles(change.code) and change.before != change.after for change in changes)


def test_a_sample_stays_the_same_when_other_lines_change(tmp_path):
    module = tmp_path / 'module.py'
    lines = [f'x{k} = a + {k} * b\n' for k in range(40)]
    module.write_text(''.join(lines))
    before = changes_of(tmp_path, ['module.py'], sample=10)
    assert before == changes_of(tmp_path, ['module.py'], sample=10)
    assert before != changes_of(tmp_path, ['module.py'], sample=10, seed=2)
    module.write_text(''.join(['# above\n', 'y = a < b\n', *lines]))
    after = changes_of(tmp_path, ['module.py'], sample=10)
    new = [each for each in after if each.before == 'y = a < b']
    assert len(after) == 10
    assert {each.key for each in after if each not in new} <= {each.key for each in before}
    assert len(new) <= 1


def test_folders_of_tests_have_the_path_of_the_file():
    observers = 'screw_dynamics_ros/core/estimation/observers/kalman.py'
    assert folder_of_tests(ROOT, observers) == 'test/core/estimation/observers'
    annotate = 'screw_dynamics_ros/nodes/parallel/outputs.py'
    assert folder_of_tests(ROOT, annotate) == 'test/nodes'


def test_equivalent_changes_name_lines_that_exist(tmp_path):
    Equivalent(ROOT / 'tools/mutants/equivalent.yaml', ROOT)
    (tmp_path / 'module.py').write_text('a = 1\n')
    listed = tmp_path / 'equivalent.yaml'
    listed.write_text('module.py:\n- {before: a = 2, after: a = 3, reason: none}\n')
    with pytest.raises(SystemExit, match='no line'):
        Equivalent(listed, tmp_path)


@pytest.mark.parametrize('status', [0, 1, 2, 3, -15])
def test_an_interrupted_run_is_no_measurement(tmp_path, monkeypatch, status):
    """Every change of a line that it has not reached would survive."""
    (tmp_path / measurement.BUILD).mkdir(parents=True)

    def run(command, *, env, **_):
        Path(env['TEST_DURATIONS']).write_text('{"test_a.py::test_b": 1.0}')
        return subprocess.CompletedProcess(command, status)

    monkeypatch.setattr(measurement.subprocess, 'run', run)
    whole = status in (0, 1)
    with nullcontext() if whole else pytest.raises(SystemExit, match='interrupted'):
        assert measurement.measure(tmp_path, {'test_a.py': ''})[1] == status
    assert len(list(tmp_path.rglob('*.tests.json'))) == whole


def test_help_measures_nothing(monkeypatch, capsys):
    monkeypatch.setattr(coverage_of_tests, 'measure', None)
    with pytest.raises(SystemExit, match='0'):
        coverage_of_tests.main(['--help'])
    assert 'make coverage' in capsys.readouterr().out
