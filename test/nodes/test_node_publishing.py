# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The order in which the host publishes, and what is made elsewhere."""

import math
import os
import threading
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from rclpy.executors import SingleThreadedExecutor
from std_msgs.msg import String

from screw_dynamics_ros.nodes.hosting import drawing
from screw_dynamics_ros.nodes.hosting.drawing import DrawingProcess, DrawnNumbers, DrawnTopic
from screw_dynamics_ros.nodes.hosting.state_pipeline import StatePipeline
from screw_dynamics_ros.nodes.outputs.kinematics.kinematics_outputs import Kinematics
from screw_dynamics_ros.ros.data_path import loop
from screw_dynamics_ros.ros.data_path.records import LoopRecord
from screw_dynamics_ros.ros.diagnostics import Level
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.messages.serialized import packed
from screw_dynamics_ros.ros.process import worker
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.topics.channel import NO_OUTPUT, Channel
from screw_dynamics_ros.ros.topics.channel_record import EFFORT, NOT_VALID, VELOCITY
from support.host_bench import Bench, serialized
from support.processes import wait_for
from support.robots import urdf_path


def publisher(name, sent):
    return SimpleNamespace(
        topic_name=name,
        publish=None,
        get_subscription_count=lambda: 1,
        handle=SimpleNamespace(publish_raw=lambda data: sent.append((name, data))),
    )


def channel(name, sent, rank=0):
    """Return a topic that says when it is published."""
    heard = []
    made = Channel(
        publisher(name, heard), lambda stamp: stamp, velocity=True, effort=True, rank=rank
    )
    made.send = lambda stamp: sent.append(f'{name} at {int.from_bytes(stamp[:4], "little")}')
    return made


@pytest.fixture
def sent():
    return []


@pytest.fixture
def states(sent):
    """Return a pipeline with four topics, without a node."""
    node = SimpleNamespace(resolve_topic_name=str, count_publishers=lambda topic: 1)
    made = StatePipeline(node)
    made.channels = [
        channel('markers', sent, 2),
        channel('tf', sent),
        channel('singularity', sent, 2),
        channel('gravity', sent),
    ]
    made.compare_velocities = lambda: None
    made.look_for_listeners()
    return made


def publish(states):
    """Publish all outputs for a state."""
    states.tables._use_channels(states)
    record = states.tables.loop
    record.mapper = JointStateMapper(())
    record.mapper.stamp, record.has = 5_000_000_007, VELOCITY | EFFORT
    loop.use_channels(record, 0)


def test_what_is_made_elsewhere_comes_last(states, sent):
    publish(states)
    assert sent == ['tf at 5', 'gravity at 5', 'markers at 5', 'singularity at 5']


def test_a_fault_in_one_output_leaves_the_others(states, sent):
    def fail(stamp):
        raise OverflowError('a number too large')

    states.channels[1].publish = fail
    publish(states)
    assert sent == ['gravity at 5', 'markers at 5', 'singularity at 5']
    assert 'OverflowError: a number too large' in FAULTS.status().values['output tf']


def test_what_is_not_due_costs_no_time(states, sent):
    states.channels[0].gates = (NO_OUTPUT,)
    publish(states)
    assert sent == ['tf at 5', 'gravity at 5', 'singularity at 5']


def test_nothing_is_reported_of_drawing_right_after_the_start_of_the_machine(monkeypatch):
    made = DrawingProcess()
    monkeypatch.setattr(drawing, 'time', SimpleNamespace(monotonic=lambda: 1.0))
    assert made.status().level == Level.OK
    made.worker.end()


def test_markers_come_at_their_rate(monkeypatch, keep):
    """Not with each joint state."""
    offered, rates = [], {'marker_rate': 8.0, 'singularity_rate': 30.0}
    bench = keep(Bench(monkeypatch, Kinematics, 'kinematics', **rates))
    monkeypatch.setattr(DrawingProcess, 'offer', lambda _, topic, task: offered.append(topic))
    bench.describe(urdf_path('planar_2r').read_text())
    for _ in range(100):
        bench.clock.offset += 0.01
        state = serialized(('joint1', 'joint2'), (0.3, 0.4), bench.clock.time_ns())
        bench.host.states.receive(state, {})
    assert [topic.channel.topic for topic in offered] == ['/life/kinematics/markers'] * 8
    sent = [topic for topic, _ in bench.sent]
    assert sent.count('/life/kinematics/singularity/tip') == 30


# --- messages that are made in another process ----------------------------------------------------


def test_the_center_of_mass_is_computed_if_it_is_drawn(monkeypatch, keep):
    bench = keep(Bench(monkeypatch, Kinematics, 'kinematics'))
    bench.describe(urdf_path('planar_2r').read_text())
    for markers, is_there in (
        (['inertias'], False),
        (['centers_of_mass'], True),
        (['twists'], True),  # no new model
    ):
        bench.set(markers=markers)
        assert bench.host.source.compiling == (is_there and markers != ['twists'])
        bench.finish()
        assert (bench.part._adopted.plan.center in bench.host.model.results) == is_there
    drawn = [picture.drawing for picture in bench.part._pictures(bench.part._adopted)]
    assert 'center_of_mass' not in [shape.namespace for each in drawn for shape in each.shapes]


def test_a_model_is_adopted_when_it_is_built(monkeypatch, keep):
    """Its topics are there at once, and do not wait for the next look at descriptions."""
    bench, tasks = keep(Bench(monkeypatch, Kinematics, 'kinematics')), []
    executor = SingleThreadedExecutor()
    monkeypatch.setattr(executor, 'create_task', tasks.append)
    executor.add_node(bench.node)
    bench.host.source.receive(String(data=urdf_path('planar_2r').read_text()))
    bench.gate.release()
    bench.wait(lambda: tasks)
    assert bench.host.model is None
    tasks.pop()()
    assert bench.host.model is not None
    executor.shutdown()


class Sum:
    """Makes a message of the stamp and the sum of each array."""

    def __call__(self, stamp, *numbers):
        if any(np.isnan(array).any() for array in numbers):
            raise ValueError('no number')
        return stamp + bytes(int(array.sum()) for array in numbers)


@pytest.fixture(scope='module')
def shared_worker():
    """Return the process of all tests: it takes a second to start."""
    made = worker.Worker('draws')
    yield made
    made.end()


@pytest.fixture
def process(monkeypatch, shared_worker):
    """Return one whose messages are published however long its start takes."""
    monkeypatch.setattr(drawing, 'MAX_AGE_S', math.inf)
    made = DrawingProcess()
    made.worker = shared_worker
    return made


def drawn(name, sent, process, *arrays, maker=None):
    made = DrawnTopic(publisher(name, sent), process)
    made.draw(
        maker or Sum(), [DrawnNumbers(lambda array=array: [array]) for array in arrays], rate=1e6
    )
    made.channel.snapshot.connect()
    return made.channel


def take(channel, stamp):
    """Let a channel use the numbers of a state."""
    record, mapper = LoopRecord(), JointStateMapper(())
    record.mapper, mapper.stamp = mapper, stamp
    mapper.accepted = channel.snapshot.number + 1
    assert loop.take_snapshot(channel.snapshot, record) == NOT_VALID
    channel.snapshot.use()


def test_the_numbers_of_the_moment_count(process, sent):
    """Arrays of any shape, copied when they are offered; the stamp is theirs."""
    array = np.ones((2, 3))
    one = drawn('a', sent, process, array, np.full(4, 2.0))
    other = drawn('b', sent, process)
    take(one, 5_000_000_007)
    take(other, 6)
    array[:] = 9.0
    wait_for(lambda: len(sent) == 2)
    assert sorted(sent) == [('a', packed(5_000_000_007) + bytes([6, 8])), ('b', packed(6))]
    assert (one.published, other.published) == (1, 1)


@contextmanager
def busy(process, folder):
    """Let the process have something else to do."""
    os.mkfifo(gate := folder / 'gate')
    blocker = threading.Thread(target=process.worker.call, args=(Path.read_bytes, gate))
    blocker.start()
    wait_for(lambda: process.worker.waiting)
    yield
    gate.write_bytes(b'')
    blocker.join()


def test_while_the_process_is_busy_the_newest_numbers_wait(process, sent, tmp_path):
    """Of each topic one, however long it takes."""
    array = np.zeros(1)
    one = drawn('a', sent, process, array)
    take(one, 1)
    wait_for(lambda: sent)
    with busy(process, tmp_path):
        for k in range(2, 100):
            array[0] = k
            take(one, k)
    wait_for(lambda: sent[-1] == ('a', packed(99) + bytes([99])))
    assert len(sent) <= 3  # the first, one that was on its way, the last


def test_nothing_is_published_after_it_was_cleared(process, sent, tmp_path):
    """What was offered before belongs to another robot, or has other colors."""
    one = drawn('a', sent, process, np.zeros(1))
    with busy(process, tmp_path):
        take(one, 1)
        wait_for(lambda: not process._waiting)  # it is on its way
        process.clear()
        take(one, 1)
        process.clear()
    take(one, 2)
    wait_for(lambda: sent)
    assert sent == [('a', packed(2) + bytes([0]))]


def test_what_has_taken_too_long_is_left_out(process, sent, monkeypatch):
    one = drawn('a', sent, process, np.zeros(1))
    monkeypatch.setattr(drawing, 'MAX_AGE_S', 0.0)
    take(one, 1)
    wait_for(lambda: process.status().values['messages'] == '0, 1 dropped')
    assert not sent
    monkeypatch.setattr(drawing, 'MAX_AGE_S', math.inf)
    take(one, 2)
    wait_for(lambda: sent)
    assert sent == [('a', packed(2) + bytes([0]))]


def test_what_cannot_be_made_is_told_and_the_others_are_made(process, sent, monkeypatch):
    monkeypatch.setattr(worker, 'DEATH_HOLD_S', 0.0)  # another test lets the process die
    bad = drawn('bad', sent, process, np.array([np.nan]))
    good = drawn('good', sent, process, np.ones(1))
    for _ in range(2):
        take(bad, 1)
        take(good, 1)
    wait_for(lambda: sent)
    assert {name for name, _ in sent} == {'good'}
    wait_for(lambda: process.status().level == Level.WARN)
    assert 'bad: ValueError: no number' in process.status().summary


def test_a_process_that_died_is_replaced(process, sent, monkeypatch):
    monkeypatch.setattr(worker, 'DEATH_HOLD_S', math.inf)
    one = drawn('a', sent, process, np.ones(1))
    take(one, 1)
    wait_for(lambda: sent)
    process.worker.process.kill()

    def is_reported():
        take(one, 2)
        return 'was ended by signal 9' in process.status().summary

    wait_for(is_reported)
    assert process.status().level == Level.WARN
    take(one, 3)
    wait_for(lambda: sent[-1][1][:8] == packed(3))


def test_publishing_may_fail(process, sent):
    """A publisher that is destroyed meanwhile ends nothing."""
    one = drawn('a', sent, process, np.ones(1))

    def fail(data):
        raise RuntimeError('destroyed')

    send, one.send = one.send, fail
    take(one, 1)
    wait_for(lambda: 'destroyed' in process.status().summary)
    one.send = send
    take(one, 2)
    wait_for(lambda: sent)
