# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which parameters others can change while a controller acts on torques."""

import pytest
from rclpy.parameter import Parameter

from screw_dynamics_ros.nodes.known_parameters import all_parameters, own_parameters
from screw_dynamics_ros.nodes.outputs.dynamics.command_parameters import LIMITS, LOCKED, MODEL
from support.host_bench import Bench

LIMIT, MODELED, FREE = (
    ('effort_limit_factor', 0.5),
    ('gravity', [0.0, 0.0, 9.81]),
    ('max_delay', 7.0),
)


@pytest.fixture
def bench(request, monkeypatch, keep):
    made = keep(Bench(monkeypatch, backend='python', **getattr(request, 'param', {})))
    return made


def change(bench, name, value):
    """Return why a change is refused, '' if it is not."""
    (result,) = bench.node.set_parameters([Parameter(name, value=value)])
    return '' if result.successful else result.reason


def test_locked_parameters_exist():
    known = {each.name for each in all_parameters()}
    assert known >= LOCKED['all']
    commands = {each.name for each in own_parameters('dynamics')}
    assert commands >= LIMITS
    assert not LIMITS & MODEL
    assert 'enabled' not in LOCKED['all']


@pytest.mark.parametrize(
    ('bench', 'locked'),
    [
        ({}, {LIMIT[0]}),
        ({'command_parameters_locked': 'limits'}, {LIMIT[0]}),
        ({'command_parameters_locked': 'all'}, {LIMIT[0], MODELED[0]}),
        ({'command_parameters_locked': 'none'}, set()),
    ],
    indirect=['bench'],
)
def test_locked_while_enabled(bench, locked):
    """What does not change is taken, and so is the end of enabling."""
    for enabled in (False, True, False):
        assert change(bench, 'enabled', enabled) == ''
        for name, value in (LIMIT, MODELED, FREE):
            before = bench.node.get_parameter(name).value
            reason = change(bench, name, value)
            if enabled and name in locked:
                assert f'{name}: locked while enabled' in reason
                assert (
                    list(bench.node.get_parameter(name).value) == list(before)
                    if isinstance(value, list)
                    else bench.node.get_parameter(name).value == before
                )
                assert change(bench, name, before) == ''
            else:
                assert reason == ''
                assert change(bench, name, before) == ''


@pytest.mark.parametrize('bench', [{'command_parameters_locked': 'all'}], indirect=True)
def test_locked_together_with_others(bench):
    """One that is locked refuses all of a request, and nothing of it is stored."""
    assert change(bench, 'enabled', True) == ''
    result = bench.node.set_parameters_atomically(
        [Parameter(name, value=value) for name, value in (FREE, LIMIT)]
    )
    assert not result.successful
    assert bench.node.get_parameter(FREE[0]).value != FREE[1]


def test_the_lock_itself_is_taken_at_start_only(bench):
    assert 'read-only' in change(bench, 'command_parameters_locked', 'none')
