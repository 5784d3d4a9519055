# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Descriptions become models in the background; the last one is used, faults are reported."""

import threading

import pytest

from screw_dynamics_ros.core.errors import DescriptionError
from screw_dynamics_ros.ros import description
from screw_dynamics_ros.ros.description import (
    PARAMETER,
    TOPIC,
    Description,
    DescriptionLoader,
    DescriptionSource,
    urdf_text,
)
from support.processes import wait_for

DEADLINE = 300.0  # s; only a failing test waits that long


def wait(loader):
    """Return the next outcome."""
    return wait_for(loader.poll)


def test_builds_in_another_thread():
    loader = DescriptionLoader(lambda text: (text.upper(), threading.get_ident()))
    assert loader.poll() is None
    assert not loader.is_pending
    loader.submit([Description('robot', TOPIC)])
    outcome = wait(loader)
    assert (outcome.description, outcome.reason) == (Description('robot', TOPIC), '')
    assert outcome.model[0] == 'ROBOT'
    assert outcome.model[1] != threading.get_ident()
    assert loader.poll() is None


def test_texts_that_are_descriptions(monkeypatch):
    """A name of a file would be opened; the length has a bound."""
    monkeypatch.setattr(description, 'MAX_DESCRIPTION_LENGTH', 12)
    for text in ('<robot/>', '\ufeff <robot/>', '\t\r\n<robot/> '):
        assert urdf_text(text, 'a message') == text
    for text in ('', '/etc/passwd', 'x<robot/>'):
        with pytest.raises(DescriptionError, match=r'^a message is not XML but '):
            urdf_text(text, 'a message')
    with pytest.raises(DescriptionError, match=r'^a message is longer than 12 characters$'):
        urdf_text('<robot/>     ', 'a message')


def test_refusals_carry_the_reason():
    def build(text):
        raise DescriptionError('joint elbow has no axis')

    loader = DescriptionLoader(build)
    loader.submit([Description('robot', PARAMETER)])
    outcome = wait(loader)
    assert outcome.model is None
    assert outcome.reason == 'joint elbow has no axis'


def test_any_failure_is_survived(monkeypatch):
    """Those that are no faults of the description are logged with a traceback."""
    faults = description.FAULTS.__class__()
    monkeypatch.setattr(description, 'FAULTS', faults)
    loader = DescriptionLoader(lambda text: 1 / len(text))
    loader.submit([Description('', TOPIC)])
    assert wait(loader).reason == 'ZeroDivisionError: division by zero'
    assert list(faults.status().values) == ['robot description']
    loader.submit([Description('four', TOPIC)])
    assert wait(loader).model == 0.25


def test_the_first_that_can_be_built_is_taken_and_the_others_are_told():
    def build(text):
        if text == 'bad':
            raise DescriptionError('joint elbow has no axis')
        return text

    loader = DescriptionLoader(build)
    loader.submit([Description('bad', PARAMETER), Description('good', TOPIC)])
    outcome = wait(loader)
    assert (outcome.model, outcome.description.origin) == ('good', TOPIC)
    assert outcome.reason == 'joint elbow has no axis'


def test_of_many_requests_the_last_one_counts():
    """Whatever was asked for before is not handed out, ready or not."""
    release, built = threading.Event(), []

    def build(text):
        assert release.wait(DEADLINE)
        built.append(text)
        return text

    loader = DescriptionLoader(build)
    for text in ('first', 'second', 'third', 'last'):
        loader.submit([Description(text, TOPIC)])
    assert loader.is_pending
    release.set()
    assert wait(loader).model == 'last'
    assert len(built) <= 2
    wait_for(lambda: not loader.is_pending)
    assert loader.poll() is None


def test_what_becomes_ready_while_another_request_waits_is_not_handed_out():
    gate, built = threading.Semaphore(0), []

    def build(text):
        assert gate.acquire(timeout=DEADLINE)
        built.append(text)
        return text

    loader = DescriptionLoader(build)
    loader.submit([Description('old', TOPIC)])
    wait_for(lambda: loader.waiting is None)  # it is taken up
    loader.submit([Description('new', TOPIC)])
    gate.release()
    wait_for(lambda: loader.waiting is None)  # the next one is
    assert built == ['old']
    assert loader.poll() is None
    gate.release()
    assert wait(loader).model == 'new'


def test_what_is_ready_and_not_fetched_is_given_up_for_a_new_request():
    release = threading.Event()
    release.set()

    def build(text):
        assert release.wait(DEADLINE)
        return text

    loader = DescriptionLoader(build)
    loader.submit([Description('old', TOPIC)])
    wait_for(lambda: not loader.is_busy)
    release.clear()
    loader.submit([Description('new', TOPIC)])
    assert loader.poll() is None
    release.set()
    assert wait(loader).model == 'new'


OLD = Description('old', TOPIC)


def source(topic=None, parameter='', active=None):
    made = DescriptionSource()
    made.from_topic, made.from_parameter, made.active = topic, parameter, active
    return made


@pytest.mark.parametrize(
    ('made', 'texts'),
    [
        (source(), []),
        (source(topic='new'), ['new']),
        (source(topic=''), ['']),
        (source(topic='new', active=OLD), ['new', 'old']),
        (source(topic='old', active=OLD), ['old']),
        (source(parameter='given', topic='new'), ['given', 'new']),
        (source(parameter='given', topic='new', active=OLD), ['given', 'new', 'old']),
        (
            source(parameter='given', topic='new', active=Description('mine', PARAMETER)),
            ['given', 'mine'],
        ),
        (source(topic='new', active=Description('mine', PARAMETER)), ['new', 'mine']),
        (source(parameter='old', topic='new', active=OLD), ['old', 'new']),
    ],
)
def test_what_is_tried_one_after_the_other(made, texts):
    """The parameter, then the topic unless a parameter is active, then the current one.

    The old robot is built again only where the one that is wanted cannot be.
    """
    assert [description.text for description in made.candidates()] == texts
