"""The profiles of Fast DDS: used by nodes, unless the user has others, and to some effect."""

import os
from pathlib import Path

import pytest

pytest.importorskip('rclpy')

from defusedxml import ElementTree
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from screw_dynamics_ros.ros.process import middleware
from screw_dynamics_ros.ros.process.middleware import PROFILES, use_profiles
from screw_dynamics_ros.ros.share import share_folder
from support.robots import urdf_path


@pytest.fixture(autouse=True)
def no_variables(monkeypatch, tmp_path):
    """Begin without profiles, in a folder without any."""
    for variable, *_ in PROFILES:
        monkeypatch.setenv(variable, '')  # remembers what there was, also if that is nothing
        del os.environ[variable]
    monkeypatch.chdir(tmp_path)


@pytest.fixture(params=range(len(PROFILES)))
def generation(request, monkeypatch):
    """Place in PROFILES of the Fast DDS that is said to be installed."""
    monkeypatch.setattr(middleware, 'generation', lambda: request.param)
    return request.param


def test_profiles_are_used(generation):
    """Those of the generation that is installed: the other one complains about the file."""
    use_profiles()
    variable, ours, _ = PROFILES[generation]
    assert os.environ[variable] == str(share_folder() / 'config' / ours)
    assert Path(os.environ[variable]).is_file()
    assert sum(variable in os.environ for variable, *_ in PROFILES) == 1


def test_profiles_of_the_user_stay(monkeypatch, generation):
    """Fast DDS 3 goes on reading the variable of Fast DDS 2."""
    for variable, *_ in PROFILES[: generation + 1]:
        with monkeypatch.context() as context:
            context.setenv(variable, 'own.xml')
            use_profiles()
            assert [os.environ.get(known) for known, *_ in PROFILES if known in os.environ] == [
                'own.xml'
            ]


def test_profiles_in_the_folder_stay(generation):
    """Fast DDS reads a file of this name where it is started."""
    Path(PROFILES[generation][2]).touch()
    use_profiles()
    assert not any(variable in os.environ for variable, *_ in PROFILES)


def test_both_generations_say_the_same():
    """In their own words and namespaces."""
    durations = []
    for _, ours, _ in PROFILES:
        [writer] = ElementTree.parse(share_folder() / 'config' / ours).findall('*/*')
        assert writer.attrib['is_default_profile'] == 'true'
        durations.append([part.text for part in writer.iterfind('*/*/*')])
    assert durations == [['0', '20000000']] * 2


def test_timer_thread_sleeps(start, connect, monkeypatch):
    """Without the profile each of 1000 reliable messages wakes it, with it one in ten or so."""
    woken = []
    Path('bare.xml').write_text('<dds><profiles/></dds>')
    for name in ('bare', 'profile'):
        with monkeypatch.context() as context:
            if name == 'bare':
                for variable, *_ in PROFILES:
                    context.setenv(variable, str(Path('bare.xml').resolve()))
            driver = start(
                'simulator',
                {'rate': 500.0, 'urdf': urdf_path('planar_2r')},
                ['-r', f'__ns:=/{name}'],
            )
        client = connect(name)
        client.subscribe(JointState, 'joint_states', profile=QoSProfile(depth=100))
        wait_for_states(client, 100)
        begin = switches(driver.process.pid)
        wait_for_states(client, 1000)
        woken.append(switches(driver.process.pid) - begin)
        assert driver.stop() == 0
        client.close()
    assert 'Error' not in driver.output, driver.output  # about what ours says
    bare, profile = woken
    assert 0 < profile < bare / 3


def wait_for_states(client, count):
    client.received['joint_states'].clear()
    client.wait(lambda: len(client.received['joint_states']) >= count, what='joint states')


def switches(process):
    """Return how often the timer thread of the middleware went to sleep."""
    for task in Path(f'/proc/{process}/task').iterdir():
        if (task / 'comm').read_text().startswith('dds.ev'):
            for line in (task / 'status').read_text().splitlines():
                if line.startswith('voluntary_ctxt_switches'):
                    return int(line.split()[1])
    return pytest.skip('no Fast DDS, or one that does not name its threads')
