# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""doc/theory/lie_groups.md: its examples run, and the functions and tests it names exist."""

import doctest
import re

import numpy as np

from screw_dynamics_ros.core import lie
from support.doc_pages import ROOT, missing_tests, named_tests

PAGE = ROOT / 'doc' / 'theory' / 'lie_groups.md'


def test_examples_run():
    with np.printoptions():  # the page sets its own; the next test must not see them
        results = doctest.testfile(str(PAGE), module_relative=False)
    assert results.attempted >= 10
    assert results.failed == 0


def test_functions_named_exist():
    names = set(re.findall(r'`(so3|se3|so3xr3|quaternions|screws)\.(\w+)`', PAGE.read_text()))
    assert len(names) > 40
    missing = [
        f'{module}.{name}' for module, name in names if not hasattr(getattr(lie, module), name)
    ]
    assert not missing


def test_tests_named_exist():
    assert len(named_tests(PAGE)) > 40
    assert not missing_tests(PAGE, 'test_lie_*.py')
