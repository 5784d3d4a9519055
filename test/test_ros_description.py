"""Descriptions are turned into models in the background; the last one counts, a bad one is told."""

import threading
import time

from screw_dynamics_ros.core.errors import DescriptionError
from screw_dynamics_ros.ros.description import DescriptionLoader


def wait(loader, deadline=5.0):
    end = time.monotonic() + deadline
    while time.monotonic() < end:
        outcome = loader.poll()
        if outcome is not None:
            return outcome
        time.sleep(0.001)
    raise AssertionError('no outcome')


def test_builds_in_another_thread():
    loader = DescriptionLoader(lambda text: (text.upper(), threading.get_ident()))
    assert loader.poll() is None
    assert not loader.busy
    loader.submit('robot', 'topic')
    outcome = wait(loader)
    assert (outcome.text, outcome.origin, outcome.reason) == ('robot', 'topic', '')
    assert outcome.model[0] == 'ROBOT'
    assert outcome.model[1] != threading.get_ident()
    assert loader.poll() is None


def test_refusals_carry_the_reason():
    def build(text):
        raise DescriptionError('joint elbow has no axis')

    loader = DescriptionLoader(build)
    loader.submit('robot', 'parameter')
    outcome = wait(loader)
    assert outcome.model is None
    assert outcome.reason == 'joint elbow has no axis'


def test_any_failure_is_survived():
    loader = DescriptionLoader(lambda text: 1 / len(text))
    loader.submit('', 'topic')
    assert wait(loader).reason == 'ZeroDivisionError: division by zero'
    loader.submit('four', 'topic')
    assert wait(loader).model == 0.25


def test_of_many_descriptions_the_last_one_counts():
    release, built = threading.Event(), []

    def build(text):
        release.wait(5.0)
        built.append(text)
        return text

    loader = DescriptionLoader(build)
    for text in ('first', 'second', 'third', 'last'):
        loader.submit(text, 'topic')
    assert loader.busy
    time.sleep(0.01)
    release.set()
    while wait(loader).model != 'last':
        pass
    assert built[-1] == 'last'
    assert len(built) <= 2
    while loader.busy:
        time.sleep(0.001)
