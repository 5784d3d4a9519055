# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What commands print with an exit status."""

from __future__ import annotations

from functools import partial

import pytest

from screw_dynamics_ros.entry import DONE, NEGATIVE, UNUSABLE


@pytest.fixture
def said(capsys):
    """Return a function that runs a command and returns what has been printed.

    That is the text of stderr if it refuses, else of stdout. Its status must be the given one.
    """

    def run(main, *arguments, status=DONE):
        assert main([str(argument) for argument in arguments]) == status
        printed = capsys.readouterr()
        return printed.err if status in (NEGATIVE, UNUSABLE) else printed.out

    return run


@pytest.fixture
def refused(said):
    """Return the function for commands that refuse a robot or its data."""
    return partial(said, status=NEGATIVE)


@pytest.fixture
def unusable(said):
    """Return the function for command lines that cannot be used."""
    return partial(said, status=UNUSABLE)
