# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The view in headless Chromium: what the page says, and what its pictures show."""

from __future__ import annotations

import base64
import io
import threading

import numpy as np
import pytest

pytest.importorskip('viser')
pytest.importorskip('selenium')

from PIL import Image
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from screw_dynamics_ros.cli.view.posture_source import PostureSource
from screw_dynamics_ros.cli.view.viewer import FRAME_PERIOD_S, Viewer
from screw_dynamics_ros.core.lie import quaternions
from support.browser import chromium, needs_chromium, wait

pytestmark = needs_chromium

LOCAL_HOST, PORT = '127.0.0.1', 18080

#: A red ball of 1 kg, 0.5 m in front of a joint about y: its torque is -4.905 cos q N m.
URDF = """
<robot name="pendulum">
  <link name="base"/>
  <link name="arm">
    <inertial><origin xyz="0.5 0 0"/><mass value="1"/>
      <inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><origin xyz="0.5 0 0"/><geometry><sphere radius="0.1"/></geometry>
      <material name="red"><color rgba="1 0 0 1"/></material></visual>
  </link>
  <link name="tip"/>
  <joint name="swing" type="revolute">
    <parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="10" velocity="1"/>
  </joint>
  <joint name="end" type="fixed">
    <parent link="arm"/><child link="tip"/><origin xyz="0.5 0 0"/>
  </joint>
</robot>
"""


@pytest.fixture(scope='module')
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp('profile')) as driver:
        yield driver


@pytest.fixture(scope='module')
def viewer(tmp_path_factory):
    path = tmp_path_factory.mktemp('robot') / 'pendulum.urdf'
    path.write_text(URDF)
    with Viewer(PostureSource(URDF, path), LOCAL_HOST, PORT) as viewer:
        ended = threading.Event()

        def draw():
            while not ended.wait(FRAME_PERIOD_S):
                viewer.draw()

        thread = threading.Thread(target=draw)
        thread.start()
        yield viewer
        ended.set()
        thread.join()


def red(browser):
    """Return which pixels (height, width) of the page are red."""
    # Unlike the method of Selenium, this waits as long as a busy machine needs.
    shot = browser.execute_cdp_cmd('Page.captureScreenshot', {'format': 'png'})['data']
    picture = Image.open(io.BytesIO(base64.b64decode(shot))).convert('RGB')
    channels = np.asarray(picture).astype(int)
    return (channels[..., 0] > 120) & (channels[..., 1:].max(axis=-1) < 0.5 * channels[..., 0])


def pixel(viewer, point):
    """Return row and column at which the open page shows a point (3,) of the scene [m]."""
    (client,) = viewer.server.get_clients().values()
    camera = client.camera
    R = quaternions.to_matrix(np.roll(camera.wxyz, -1))
    x, y, z = R.T @ (point - camera.position)  # to the right, down, ahead
    height, width = camera.image_height, camera.image_width
    focal = 0.5 * height / np.tan(0.5 * camera.fov)
    return round(0.5 * height + focal * y / z), round(0.5 * width + focal * x / z)


def ball(q):
    return np.array([0.5 * np.cos(q), 0.0, -0.5 * np.sin(q)])


def test_a_slider_moves_the_robot_on_the_page(browser, viewer):
    browser.get(viewer.address)
    wait(browser, lambda: 'swing' in browser.find_element(By.TAG_NAME, 'body').text)
    wait(browser, lambda: viewer.server.get_clients())
    wait(browser, lambda: red(browser)[pixel(viewer, ball(0.0))])
    assert '-4.9' in browser.find_element(By.CSS_SELECTOR, 'svg.torque-bars').text

    field = browser.find_element(By.CSS_SELECTOR, 'input[type=text][value="0"]')
    field.send_keys(Keys.CONTROL, 'a')
    field.send_keys('0.9', Keys.ENTER)
    wait(browser, lambda: viewer.source.latest().q[0] == 0.9)

    def moved():
        shown = red(browser)
        return shown[pixel(viewer, ball(0.9))] and not shown[pixel(viewer, ball(0.0))]

    wait(browser, moved)
    wait(browser, lambda: '-3.0' in browser.find_element(By.CSS_SELECTOR, 'svg.torque-bars').text)


def test_the_exported_page_shows_the_robot_without_a_server(browser, viewer, tmp_path):
    page = tmp_path / 'robot.html'
    page.write_text(viewer.page())
    browser.get(page.as_uri())
    wait(browser, lambda: red(browser).sum() > 500)
