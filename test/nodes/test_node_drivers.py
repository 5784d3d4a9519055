# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Driver presets in nodes: accepted, and active between defaults and parameters of one's own."""

import pytest

pytest.importorskip('rclpy')

import rclpy
from std_msgs.msg import String

from screw_dynamics_ros.core.measurement.estimation.effort_terms import TERMS
from screw_dynamics_ros.ros.drivers import find_driver, presets
from support.host_bench import Bench
from support.paths import CONFIG
from support.robots import urdf_path

FOLDER = CONFIG / 'drivers'
MODEL = CONFIG / 'model.yaml'


@pytest.mark.parametrize('name', presets(FOLDER))
def test_terms_are_active(name, monkeypatch, ros_domain):
    """Of what efforts contain, and of what the robot adds to commands."""
    driver = find_driver(name, FOLDER)
    rclpy.init(domain_id=ros_domain)
    given = {**driver.parameters['/**'], **driver.parameters['/**/dynamics']}
    bench = Bench(monkeypatch, **given)
    bench.host.source.receive(String(data=urdf_path('planar_2r').read_text()))
    bench.finish()
    compensated = driver.terms('/**/dynamics', 'compensated_terms')
    contained = driver.terms('/**', 'effort_terms')
    assert list(bench.part.shares) == [term not in compensated for term in TERMS]
    assert list(bench.host.effort_shares) == [term in contained for term in TERMS]
    bench.close()
    rclpy.shutdown()


def test_a_preset_between_defaults_and_parameters_of_ones_own(start, connect, tmp_path):
    """As bringup.launch.py gives them; a robot whose efforts are currents has no wrenches."""
    own = tmp_path / 'own.yaml'
    own.write_text('/**/dynamics: {ros__parameters: {compensated_terms: [gravity, friction]}}')
    files = (MODEL, FOLDER / 'ur.yaml', own)
    arguments = [word for file in files for word in ('--params-file', str(file))]
    start('bringup', {}, ['-r', '__ns:=/driver', *arguments])
    client = connect('driver')
    client.wait(lambda: 'driver/bringup: robot description' in client.diagnostics)
    assert list(client.parameters('bringup')['nodes']) == ['kinematics', 'dynamics']
    assert list(client.parameters('dynamics')['compensated_terms']) == ['gravity', 'friction']
    client.describe(urdf_path('planar_2r').read_text())
    topics = client.node.get_topic_names_and_types
    client.wait(lambda: '/driver/dynamics/gravity' in dict(topics()), what='topics of dynamics')
    assert not any(topic.startswith('/driver/wrench_estimator/') for topic in dict(topics()))
