# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joints without values in a recording are named before it is processed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip('rosbags')

from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.ros.joint_states.policies import Policies, Reason
from screw_dynamics_ros.ros.recordings.coverage import check_coverage, refusals, rename_joints
from screw_dynamics_ros.ros.recordings.sources import RecordingError
from screw_dynamics_ros.ros.recordings.storage import RecordingReader
from support.recordings import JOINT_STATE, string, writing

TOPIC = '/joint_states'
TABLE = """t,a.position,b.position,x.position,a.effort,b.effort,x.effort
1,0.1,,0.3,5,,7
2,0.1,0.2,0.3,5,,7
"""


@pytest.fixture
def reader(tmp_path):
    path = tmp_path / 'run.csv'
    path.write_text(TABLE)
    with RecordingReader(path) as opened:
        yield opened


@pytest.mark.parametrize(
    ('joints', 'policies', 'needs_efforts', 'match'),
    [
        ('ab', {}, False, None),
        ('a', {}, True, None),
        ('ab', {}, True, r'has efforts of b; --leave-out b .* \(x are recorded\), or set effort_p'),
        ('ab', {'effort': 'zero'}, True, None),
        ('abc', {}, False, r'has positions of c; --leave-out c .* or set position_policy to zero'),
        ('abc', {'position': 'zero'}, False, None),
        ('abc', {'position': 'zero', 'effort': 'zero'}, True, None),
        ('axb', {}, True, r'has efforts of b; --leave-out b [^(]*, or set effort_policy to zero'),
    ],
)
def test_joints_without_values(reader, joints, policies, needs_efforts, match):
    """Positions of all joints, and efforts if all outputs depend on them, unless they are zero."""
    arguments = reader, TOPIC, list(joints), Policies(**policies), needs_efforts
    if match is None:
        check_coverage(*arguments)
        return
    with pytest.raises(RecordingError, match=match):
        check_coverage(*arguments)


def test_a_topic_without_joints(tmp_path):
    """Without messages, or with messages that are not joint states."""
    with writing(tmp_path / 'run', {'/empty': JOINT_STATE, '/other': JOINT_STATE}) as write:
        write('/other', 1, string('text'))
    with RecordingReader(tmp_path / 'run') as reader:
        for topic, count in (('/empty', 0), ('/other', 1)):
            with pytest.raises(RecordingError, match=f'none of the {count} messages on {topic} na'):
                check_coverage(reader, topic, ['a'], Policies(), False)


def test_joints_are_renamed(reader):
    """Two may change places; names must be recorded, and not become those of others."""
    with pytest.raises(UnknownNameError, match=r"run.csv has no joint 'c'; it has a, b, x"):
        rename_joints(reader, TOPIC, {'a': 'd', 'c': 'e'})
    with pytest.raises(ArgumentError, match=r"two joints of .*run.csv are 'b' then"):
        rename_joints(reader, TOPIC, {'a': 'b'})
    rename_joints(reader, TOPIC, {'a': 'b', 'b': 'c'})
    check_coverage(reader, TOPIC, ['b', 'c'], Policies(), False)
    with pytest.raises(RecordingError, match='has efforts of c'):
        check_coverage(reader, TOPIC, ['b', 'c'], Policies(), True)


def test_reasons_of_refused_messages():
    records = {
        Reason.DUPLICATE_STAMP: SimpleNamespace(count=3, detail='1.5 s'),
        Reason.INCOMPLETE: SimpleNamespace(count=2, detail='a'),
    }
    assert refusals(SimpleNamespace(records=records)) == (
        f'{Reason.DUPLICATE_STAMP.value} (3 times, 1.5 s); {Reason.INCOMPLETE.value} (2 times, a)'
    )
    assert refusals(SimpleNamespace(records={})) == ''
