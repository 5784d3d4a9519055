"""The order in which the host publishes, and what it puts off."""

from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy')

from screw_dynamics_ros.nodes.host import ModelHost

MAPPER = SimpleNamespace(stamp=0, has_velocity=True, has_effort=True)


def channel(name, sent, *, computed, published=0):
    return SimpleNamespace(
        enabled=True, velocity=True, effort=True, is_valid=lambda: True, listened=True,
        finish=(lambda: sent.append(f'compute {name}')) if computed else None,
        encode=lambda stamp: name, send=sent.append, published=published)


@pytest.fixture
def sent():
    return []


@pytest.fixture
def host(sent):
    """Return a host with four topics, without a node."""
    made = ModelHost.__new__(ModelHost)
    made._parts = [(None, [channel('markers', sent, computed=True, published=7),
                           channel('tf', sent, computed=False, published=9),
                           channel('singularity', sent, computed=True, published=3),
                           channel('gravity', sent, computed=False, published=8)])]
    made._look_for_listeners()
    return made


def test_what_is_computed_in_python_comes_last_and_takes_turns(host, sent):
    host._publish(MAPPER, until=float('inf'))
    assert sent == ['tf', 'gravity', 'compute singularity', 'singularity', 'compute markers',
                    'markers']


def test_without_time_only_one_is_computed(host, sent):
    host._publish(MAPPER, until=0.0)
    assert sent == ['tf', 'gravity', 'compute singularity', 'singularity']
    sent.clear()
    for _ in range(5):  # as often as markers now, and once more
        host._publish(MAPPER, until=0.0)
        host._look_for_listeners()
    assert sent.count('compute markers') == 1


def test_what_is_not_due_costs_no_turn(host, sent):
    singularity = host._parts[0][1][2]
    singularity.is_valid = lambda: False
    host._publish(MAPPER, until=0.0)
    assert sent == ['tf', 'gravity', 'compute markers', 'markers']
