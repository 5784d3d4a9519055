# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Files of recorded residuals: YAML that other programs read, in any order of joints."""

import numpy as np
import pytest
import yaml

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.nodes.outputs.external_wrenches.residual_recordings import (
    HEADING,
    Recordings,
    read,
    write,
)
from screw_dynamics_ros.ros.data_folder import DataFolder

JOINTS, TERMS = ('hip', 'knee', 'toe'), ('gravity', 'payload')
Q, RESIDUALS = np.random.default_rng(3).normal(size=(2, 4, 3))


@pytest.fixture
def folder(tmp_path):
    tmp_path.chmod(0o700)
    return DataFolder(str(tmp_path))


@pytest.fixture
def recordings():
    made = Recordings(JOINTS, TERMS)
    assert len(made) == 0
    assert [each.shape for each in made.arrays] == [(0, 3), (0, 3)]
    for q, residual in zip(Q, RESIDUALS):
        made = made.with_pose(q, residual)
    return made


def test_what_is_written(folder, recordings):
    assert len(recordings) == 4
    for found, expected in zip(recordings.arrays, (Q, RESIDUALS)):
        np.testing.assert_array_equal(found, expected)
    write(folder, 'map.yaml', recordings)
    text = (folder.path / 'map.yaml').read_text()
    assert text.startswith(f'{HEADING}\n')
    content = yaml.safe_load(text)
    assert list(content) == ['joints', 'effort_terms', 'poses']
    assert content['joints'] == list(JOINTS)
    assert content['effort_terms'] == list(TERMS)
    for pose, q, residual in zip(content['poses'], Q, RESIDUALS):
        assert pose == {'positions': q.tolist(), 'residuals': residual.tolist()}


class PlainDumper(yaml.SafeDumper):
    """Repeats equal objects, as ROS 2 wants it."""

    def ignore_aliases(self, data):
        return True


def content(poses, joints=('toe', 'hip', 'knee'), terms=TERMS[::-1], **more):
    """Return a file as another program may write it."""
    whole = {'joints': list(joints), 'effort_terms': list(terms), 'poses': poses, **more}
    return yaml.dump(whole, Dumper=PlainDumper)


POSE = {'positions': [3.0, 1.0, 2.0], 'residuals': [-3.0, -1.0, -2.0]}


def test_numbers_are_those_of_their_joints(folder):
    (folder.path / 'map.yaml').write_text(content([POSE, POSE]))
    found = read(folder, 'map.yaml', JOINTS, TERMS)
    assert (found.joints, sorted(found.effort_terms), len(found)) == (JOINTS, sorted(TERMS), 2)
    q, residuals = found.arrays
    np.testing.assert_array_equal(q, [[1.0, 2.0, 3.0]] * 2)
    np.testing.assert_array_equal(residuals, [[-1.0, -2.0, -3.0]] * 2)


def test_a_file_that_does_not_exist_has_no_poses(folder):
    found = read(folder, 'map.yaml', list(JOINTS), list(TERMS))
    assert (found.joints, found.effort_terms, found.poses) == (JOINTS, TERMS, ())


def test_at_most_three_hundred_poses(folder):
    (folder.path / 'map.yaml').write_text(content([POSE] * 300))
    assert len(read(folder, 'map.yaml', JOINTS, TERMS)) == 300
    (folder.path / 'map.yaml').write_text(content([POSE] * 301))
    with pytest.raises(ArgumentError, match=r'^map\.yaml has 301 poses, more than 300$'):
        read(folder, 'map.yaml', JOINTS, TERMS)


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('[', ''),
        ('[1, 2]', r'is not a file of residuals; .* lists joints, effort_terms, poses'),
        ('{joints: [], effort_terms: []}', 'is not a file of residuals'),
        ('{joints: [], effort_terms: [], poses: {}}', 'is not a file of residuals'),
        (content([], ('hip', 'knee')), 'for other joints; the robot has hip, knee, toe'),
        (content([], ('hip', 'knee', 'toe', 1)), 'for other joints'),
        (content([], terms=['gravity']), 'effort_terms other than gravity, payload: record'),
        (content([POSE, {'positions': [1.0] * 3}]), 'residuals of pose 2 must be 3 finite numbers'),
        (content([{**POSE, 'positions': [1.0] * 4}]), 'positions of pose 1 must be 3 finite'),
        (content([{**POSE, 'residuals': ['a'] * 3}]), 'residuals of pose 1'),
        (content([{**POSE, 'residuals': [1.0, float('nan'), 1.0]}]), 'residuals of pose 1'),
        (content([POSE, POSE, 7]), 'positions of pose 3'),
    ],
)
def test_files_that_are_refused_by_name(folder, text, reason):
    (folder.path / 'map.yaml').write_text(text)
    with pytest.raises(ArgumentError, match=rf'^map\.yaml:? .*{reason}'):
        read(folder, 'map.yaml', JOINTS, TERMS)
