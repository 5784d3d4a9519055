# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""doc/reference/field_pains.md: each of the twenty difficulties has tests, which exist."""

import ast
import re

import pytest

from support.paths import DOC, ROOT

PAGE = DOC / 'reference' / 'field_pains.md'
COUNT = 20


def sections(text):
    """Return {number: text} of the numbered sections of the page."""
    parts = re.split(r'^## (\d+)\. .*$', text, flags=re.MULTILINE)
    return dict(zip(map(int, parts[1::2]), parts[2::2]))


def named_tests(text):
    """Return the (path, names) of the tests that a section names."""
    found = re.findall(r'^\* `(test/[\w/]+\.py)::([\w:]+)`$', text, re.MULTILINE)
    return [(path, names.split('::')) for path, names in found]


def is_defined(path, names):
    """Whether a file defines a test, in a class or by itself."""
    if not (ROOT / path).is_file():
        return False
    body = ast.parse((ROOT / path).read_text()).body
    for name in names:
        found = [
            node
            for node in body
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name
        ]
        if not found:
            return False
        body = found[0].body
    return isinstance(found[0], ast.FunctionDef) and names[-1].startswith('test_')


def test_all_are_there_in_order():
    assert list(sections(PAGE.read_text())) == list(range(1, COUNT + 1))


@pytest.mark.parametrize('number', range(1, COUNT + 1))
def test_each_one_has_reports_and_tests_that_exist(number):
    section = sections(PAGE.read_text())[number]
    assert re.search(r'\w#\d+', section)
    tests = named_tests(section)
    assert tests
    assert len(tests) == section.count('\n* ')
    assert [each for each in tests if not is_defined(*each)] == []


@pytest.mark.parametrize(
    ('path', 'names'),
    [
        ('nowhere.py', ['test_nothing']),
        ('test/doc/test_field_pains.py', ['test_nothing']),
        ('test/doc/test_field_pains.py', ['sections']),
        ('test/cli/doctor/test_doctor.py', ['TestRunningRobot']),
        ('test/cli/doctor/test_doctor.py', ['TestRunningRobot', 'test_nothing']),
    ],
)
def test_what_does_not_exist_is_noticed(path, names):
    assert not is_defined(path, names)
    assert is_defined('test/cli/doctor/test_doctor.py', ['TestRunningRobot', 'test_nobody'])
