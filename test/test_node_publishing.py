"""The order in which the host publishes, and what it puts off."""

from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy')

from screw_dynamics_ros.nodes.host import ModelHost
from screw_dynamics_ros.ros.spare_time import SpareTime

MAPPER = SimpleNamespace(stamp=5_000_000_007, has_velocity=True, has_effort=True)


def channel(name, sent, pieces=0):
    """Return a topic that says what is done, in `pieces` pieces and at last."""
    return SimpleNamespace(
        enabled=True, velocity=True, effort=True, is_valid=lambda: True, listened=True,
        count_listeners=lambda: None, published=0,
        pieces=[lambda i=i: sent.append(f'{name} {i}') for i in range(pieces)],
        encode=lambda stamp: f'{name} at {int.from_bytes(stamp[:4], "little")}', send=sent.append)


@pytest.fixture
def sent():
    return []


@pytest.fixture
def host(sent):
    """Return a host with four topics, without a node."""
    made = ModelHost.__new__(ModelHost)
    made._spare_time = SpareTime(None)
    made._parts = [(None, [channel('markers', sent, pieces=2), channel('tf', sent),
                           channel('singularity', sent, pieces=1), channel('gravity', sent)])]
    made._look_for_listeners()
    return made


ALL = ['tf at 5', 'gravity at 5', 'markers 0', 'markers 1', 'markers at 5', 'singularity 0',
       'singularity at 5']


def test_what_is_computed_in_python_comes_last(host, sent):
    host._publish(MAPPER)
    host._spare_time.use(until=float('inf'), behind=False)
    assert sent == ALL


def test_without_time_one_piece_is_done_after_each_state(host, sent):
    for done in (['markers 0'], ['markers 1', 'markers at 5'],
                 ['singularity 0', 'singularity at 5'], ['markers 0']):
        sent.clear()
        host._publish(MAPPER)
        host._spare_time.use(until=0.0, behind=False)
        assert sent == [*ALL[:2], *done]


def test_it_carries_the_stamp_of_the_results(host, sent):
    """A state that came since and was not answered does not count."""
    mapper = SimpleNamespace(**vars(MAPPER))
    host._publish(mapper)
    mapper.stamp = 9_000_000_000
    host._spare_time.use(until=float('inf'), behind=False)
    assert sent == ALL


def test_what_is_not_due_costs_no_time(host, sent):
    markers = host._parts[0][1][0]
    markers.is_valid = lambda: False
    host._publish(MAPPER)
    host._spare_time.use(until=0.0, behind=False)
    assert sent == [*ALL[:2], 'singularity 0', 'singularity at 5']
