# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Headless Chromium, controlled by selenium, for tests that `needs_chromium` marks."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import pytest

CHROMIUM, DRIVER = shutil.which('chromium'), shutil.which('chromedriver')
DEADLINE = 300.0  # s; only a failing test waits that long
FLAGS = (
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--enable-unsafe-swiftshader',
    '--use-gl=angle',
    '--use-angle=swiftshader',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--window-size=900,320',
)

Value = TypeVar('Value')

needs_chromium = pytest.mark.skipif(
    not (CHROMIUM and DRIVER and find_spec('selenium')),
    reason='chromium, chromedriver or selenium is not installed',
)


@contextmanager
def chromium(profile: Path) -> Iterator[Any]:
    """Start Chromium with an empty profile folder; it ends with the `with` block."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f'--user-data-dir={profile}'):
        options.add_argument(flag)
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


def wait(browser: Any, condition: Callable[[], Value]) -> Value:
    """Return the first value of a condition that is true."""
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(browser, DEADLINE).until(lambda _: condition())
