"""The measured tables of doc/all_solutions.md are what its script makes of the results."""

import importlib.util

import pytest

from support.paths import DOC, ROOT


@pytest.fixture(scope='module')
def tables():
    specification = importlib.util.spec_from_file_location(
        'solution_tables', ROOT / 'tools' / 'solution_tables.py'
    )
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_page_is_what_the_results_say(tables):
    page = (DOC / 'all_solutions.md').read_text(encoding='utf-8')
    assert tables.update(page) == page, 'run python tools/solution_tables.py'


def test_a_page_without_a_table_is_refused(tables):
    page = (DOC / 'all_solutions.md').read_text(encoding='utf-8')
    with pytest.raises(ValueError, match='the page has the tables'):
        tables.update(page.replace('<!-- table: speed -->', ''))
