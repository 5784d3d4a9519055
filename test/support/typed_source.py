# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Typed functions from texts, for tests."""

from __future__ import annotations

import linecache
from typing import Any


def loaded(text: str, file: str, names: dict[str, Any]) -> dict[str, Any]:
    """Run the text of a module, whose source is then found under the name of the file."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    result = dict(names)
    exec(compile(text, file, 'exec'), result)
    return result
