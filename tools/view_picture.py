# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Make doc/pictures/view.webp, view_light.png and view_dark.png: a push on a simulated Panda.

PYTHONPATH=. .venv/bin/python tools/view_picture.py

The robot moves under servos while its hand is pushed. From its joint states alone, `annotate`
estimates the wrench; pages of the view in headless Chromium show that, picture by picture. Needs
viser, selenium, pillow, chromium and chromedriver.
"""

from __future__ import annotations

import base64
import io
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.support.ui import WebDriverWait

from screw_dynamics_ros.cli.view.posture_source import PostureSource
from screw_dynamics_ros.cli.view.state import LinkWrench, ViewState
from screw_dynamics_ros.cli.view.torque_bars import bars
from screw_dynamics_ros.cli.view.viewer import Viewer
from screw_dynamics_ros.core import AnnotationSettings, Robot, annotate_arrays, bundled_urdf
from screw_dynamics_ros.core.simulation import SimulatedRobot
from screw_dynamics_ros.core.tree.joint_limits import of_velocities, velocity_names

PICTURES = Path(__file__).resolve().parents[1] / 'doc' / 'pictures'
HAND = 'panda_hand'
STEP = 0.002  # s
STEPS_PER_PICTURE = 50
PERIOD, PUSH_START, PUSH_END = 6.0, 1.5, 4.0  # s
PUSH = np.array([0.0, 0.0, 0.0, 25.0, 0.0, -15.0])  # N m and N, in the frame of the hand
STIFFNESS, DAMPING = 60.0, 15.0  # 1/s^2 and 1/s, of joint errors
SIZE = (840, 470)  # pixels
QUALITY = 70
CENTER = np.array([-0.25, 0.33, 0.45])  # m, beside the robot, which the panel would hide otherwise
CAMERA = 2.3 * np.array([0.57, 0.77, 0.28])  # m, from there
DEADLINE = 120.0  # s
PORT = 18090
FLAGS = (
    '--headless=new',
    '--no-sandbox',
    '--enable-unsafe-swiftshader',
    '--use-gl=angle',
    '--use-angle=swiftshader',
    '--disable-background-networking',
    '--hide-scrollbars',
    f'--window-size={SIZE[0]},{SIZE[1] + 150}',
)
HIDE_NOTES = (
    "const s = document.createElement('style');"
    "s.textContent = '[class*=Notification-root] {display: none}'; document.head.append(s)"
)
TEXT_OF_BARS = "return document.querySelector('svg.torque-bars')?.textContent"
TWO_FRAMES = 'const f = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(f))'


class Recorded(PostureSource):
    """Shows the states of a motion, one after the other."""

    movable = False

    def add_controls(self, gui: Any) -> None:
        """Add nothing."""

    def show(self, state: ViewState) -> None:
        """Show a state."""
        self._state = state


def main() -> None:
    """Make the pictures."""
    path = bundled_urdf('panda')
    states = motion(Robot.from_urdf(path))
    middle = len(states) // 2
    pictures = photographed(path, states, dark=False)
    pictures[middle].save(PICTURES / 'view_light.png', optimize=True)
    pictures[0].save(
        PICTURES / 'view.webp',
        save_all=True,
        append_images=pictures[1:],
        duration=round(1000 * STEP * STEPS_PER_PICTURE),
        loop=0,
        quality=QUALITY,
        method=4,
    )
    (dark,) = photographed(path, states[middle : middle + 1], dark=True)
    dark.save(PICTURES / 'view_dark.png', optimize=True)


def motion(robot: Robot) -> list[ViewState]:
    """Return the state of each picture of a simulated motion with a push."""
    middle = np.array([0.0, -0.3, 0.0, -2.0, 0.0, 1.8, 0.8, 0.02])
    amplitude = np.array([0.35, 0.2, 0.15, 0.25, 0.2, 0.2, 0.3, 0.0])
    w = 2.0 * np.pi / PERIOD
    simulated = SimulatedRobot(robot, middle)
    simulated.set_state(middle, amplitude * w)
    samples = []
    for time in np.arange(0.0, PERIOD, STEP):
        q, v = simulated.q.copy(), simulated.v.copy()
        wanted = middle + amplitude * np.sin(w * time)
        rate, acceleration = amplitude * w * np.cos(w * time), w * w * (middle - wanted)
        a = acceleration + STIFFNESS * (wanted - q) + DAMPING * (rate - v)
        tau = robot.inverse_dynamics(q, v, a)
        samples.append((q, v, tau))
        rise = np.clip(min(time - PUSH_START, PUSH_END - time) / 0.5, 0.0, 1.0)
        simulated.step(tau, STEP, {HAND: rise * rise * (3.0 - 2.0 * rise) * PUSH})
    q, v, tau = (np.array(each) for each in zip(*samples))
    stamps = np.arange(len(q)) * round(STEP * 1e9)
    found = annotate_arrays(
        robot,
        stamps,
        q,
        v,
        tau,
        outputs=('gravity', 'coriolis', 'inertia', 'external_torque', 'wrench'),
        frames=[HAND],
        settings=AnnotationSettings(observer='momentum'),
    )
    return [
        ViewState(
            q[k],
            v[k],
            stamps[k] / 1e9,
            {
                **{name: found[name][k] for name in ('gravity', 'coriolis', 'inertia')},
                'external': found['external_torque'][k],
                'measured': tau[k],
            },
            wrenches=(LinkWrench(HAND, found[f'wrench/{HAND}'][k]),),
        )
        for k in range(0, len(q), STEPS_PER_PICTURE)
    ]


def photographed(path: Path, states: list[ViewState], *, dark: bool) -> list[Image.Image]:
    """Return the picture of the page for each state."""
    source = Recorded(path.read_text(), path)
    source.show(states[0])
    names = velocity_names(source.robot)
    limits = of_velocities(source.robot, source.robot.limits.effort)
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which('chromium')
    for flag in (*FLAGS, f'--user-data-dir={tempfile.mkdtemp()}'):
        options.add_argument(flag)
    service = webdriver.ChromeService(shutil.which('chromedriver'))
    pictures = []
    with (
        Viewer(source, '127.0.0.1', PORT, dark=dark) as viewer,
        webdriver.Chrome(options, service) as browser,
    ):
        camera = viewer.server.initial_camera
        camera.position, camera.look_at = CENTER + CAMERA, CENTER
        browser.set_script_timeout(DEADLINE)
        waiting = WebDriverWait(browser, DEADLINE, 0.1, [WebDriverException])
        browser.get(viewer.address)
        browser.execute_script(HIDE_NOTES)
        for state in states:
            source.show(state)
            viewer.draw(whole=True)
            text = re.sub('<[^>]+>', '', bars(names, state.torques, limits))
            waiting.until(lambda page, shown=text: page.execute_script(TEXT_OF_BARS) == shown)
            browser.execute_async_script(TWO_FRAMES)
            shot = browser.execute_cdp_cmd('Page.captureScreenshot', {'format': 'png'})['data']
            picture = Image.open(io.BytesIO(base64.b64decode(shot))).convert('RGB')
            pictures.append(picture.crop((0, 0, *SIZE)))
            print(f'{state.stamp:.1f} s', flush=True)
    return pictures


if __name__ == '__main__':
    main()
