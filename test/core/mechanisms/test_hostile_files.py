# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Files of mechanisms that are wrong in one entry each: read, or refused with the file and why."""

import copy
import math
import warnings
from functools import partial

import pytest
import yaml

from screw_dynamics_ros.core.errors import DescriptionError
from screw_dynamics_ros.core.mechanisms.closures.loop_closures import read_loop_closures
from screw_dynamics_ros.core.mechanisms.parallel.mechanism_description import mechanism_of
from support.paths import CONFIG, ROOT

WRONG = (
    None, '', 'x', -1, 0.0, math.nan, math.inf, 1e200, 10**400, 10**5000, True, '1', [], {}, [1],
    [[1, 2], [3]], ['1', '2', '3'], [True, True, True], [1e200, 1e200, 1e200], [None, None, None],
    [0] * 1000, {'a': 1},
)  # fmt: skip
FILES = {
    'stewart_gough': (CONFIG / 'parallel' / 'stewart_gough.yaml', mechanism_of),
    'delta': (CONFIG / 'parallel' / 'delta.yaml', mechanism_of),
    'excavator': (ROOT / 'urdf' / 'loops' / 'excavator_closures.yaml', read_loop_closures),
}


def places(content, path=()):
    """Yield the paths of all entries; of lists of mappings those of the first one only."""
    yield path
    if isinstance(content, dict):
        for key, value in content.items():
            yield from places(value, (*path, key))
    elif isinstance(content, list):
        for k, value in enumerate(content):
            if k == 0 or not isinstance(value, dict):
                yield from places(value, (*path, k))


def changed(content, path, change):
    """Return a copy in which `change(parent, key)` was applied to an entry."""
    whole = {'': copy.deepcopy(content)}
    parent, key = whole, ''
    for following in path:
        parent, key = parent[key], following
    change(parent, key)
    return whole['']


def replace(parent, key, value):
    parent[key] = value


def remove(parent, key):
    del parent[key]


def add(parent, key):
    """Double an entry of a list; give a mapping further keys, one of them not a text."""
    if isinstance(parent, list):
        parent.append(parent[key])
    else:
        parent.update({'zz': 1, 5: 2})


@pytest.mark.parametrize('name', FILES)
def test_every_entry_wrong_in_every_way(name):
    path, read = FILES[name]
    content = yaml.safe_load(path.read_text())
    changes = [partial(replace, value=value) for value in WRONG]
    refusals = []
    for place in places(content):
        for change in [*changes, *([remove, add] if place else [])]:
            with warnings.catch_warnings():
                warnings.simplefilter('error')
                try:
                    read(changed(content, place, change), 'file')
                except DescriptionError as error:
                    refusals.append(str(error))
    assert len(refusals) > 300
    assert [text for text in refusals if not text.startswith('file') or len(text) > 700] == []


@pytest.mark.parametrize(
    ('path', 'value', 'text'),
    [
        (('legs', 0, 'type'), ['UPS'], 'leg 1: type must be one of UPS, PUS, RUS'),
        (('legs', 0, 'name'), None, 'leg 1, name must be a name'),
        (('legs', 0, 'lower'), '0.5', 'leg 1, lower must be a finite number'),
        (('legs', 0, 'base', 1), 10**400, 'leg 1, base must be finite numbers'),
        (('units', 'length'), {}, 'units: length must be one of m, mm'),
        (('platform', 'mass'), True, 'mass must be a finite number'),
    ],
)  # fmt: skip
def test_the_entry_is_named(path, value, text):
    content = yaml.safe_load(FILES['stewart_gough'][0].read_text())
    with pytest.raises(DescriptionError, match=text):
        mechanism_of(changed(content, path, partial(replace, value=value)))
