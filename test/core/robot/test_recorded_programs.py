# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One robot, one program: what is recorded does not depend on processor, NumPy or Python."""

import json

import pytest

from support.recorded_programs import FILE, SUBJECTS, digests

EXPECTED = json.loads(FILE.read_text(encoding='utf-8'))


def test_every_subject_has_digests():
    assert list(EXPECTED) == list(SUBJECTS)
    assert sum(map(len, EXPECTED.values())) > 280


@pytest.mark.parametrize('subject', SUBJECTS)
def test_programs_are_the_committed_ones(subject):
    """See `support.recorded_programs` for how to commit others."""
    try:
        found = digests(subject)
    except LookupError as error:
        pytest.skip(str(error))
    changed = {
        name: (EXPECTED[subject].get(name), found.get(name))
        for name in EXPECTED[subject].keys() | found.keys()
        if EXPECTED[subject].get(name) != found.get(name)
    }
    assert not changed
