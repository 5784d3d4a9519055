# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""`compile --output`: C functions beside the messages of the nodes, for the same joint states."""

import ctypes
import re
import subprocess

import numpy as np
import pytest

pytest.importorskip('rclpy')

import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter

from screw_dynamics_ros.cli import compile as command
from screw_dynamics_ros.cli.c_outputs import NOT_EXPORTED, COutputs
from screw_dynamics_ros.cli.c_steps import BUILDERS, SUPPORT
from screw_dynamics_ros.core import ArgumentError, Robot, UnknownNameError
from screw_dynamics_ros.core.annotation.reference_torques import rows
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.estimation.effort_terms import TERMS
from screw_dynamics_ros.core.estimation.low_pass import weights
from screw_dynamics_ros.core.estimation.observers.table import OBSERVERS
from screw_dynamics_ros.core.outputs import OUTPUTS
from screw_dynamics_ros.entry import DONE
from screw_dynamics_ros.nodes.outputs.dynamics.dynamics_outputs import Dynamics
from screw_dynamics_ros.nodes.outputs.dynamics.reference import follow
from screw_dynamics_ros.nodes.outputs.external_wrenches.residual_recordings import (
    model_text,
    of_text,
)
from screw_dynamics_ros.nodes.outputs.external_wrenches.wrench_outputs import WrenchEstimator
from screw_dynamics_ros.nodes.outputs.kinematics.kinematics_outputs import Kinematics
from screw_dynamics_ros.ros.topics.channel_record import NOT_VALID
from support.cpp_programs import COMPILER, FLAGS, STRICT, needs_compilers
from support.host_bench import Bench, serialized
from support.residual_models import some_model
from support.robots import urdf_path

pytestmark = needs_compilers

ARM = urdf_path('panda').read_text()
LINK, STEP, T = 'panda_hand_tcp', 0.01, 0.02
CUTOFFS, BANDS = (20.0, 9.0), (0.3, 0.2, 0.1)
VALUES = {
    'observer_time_constant': T,
    'torque_cutoff': CUTOFFS[0],
    'wrench_cutoff': CUTOFFS[1],
    'torque_dead_band': BANDS[0],
    'force_dead_band': BANDS[1],
    'moment_dead_band': BANDS[2],
    'observer_effort_deviation': [0.5],
    'release_duration': 0.02,
}

EXPORTED = [
    row.part(LINK if row.of_links else '')
    for row in OUTPUTS.values()
    if row.name not in {*NOT_EXPORTED, 'commands'} and not row.of_base
]
STEPS = [name for name in EXPORTED if name.split('/')[0] in BUILDERS]
#: The outputs that depend on the observer.
OBSERVED = [name for name in EXPORTED if OUTPUTS[name.split('/')[0]].node == 'wrench_estimator']


class Groups:
    """All groups in one process, as in `bringup`."""

    def __init__(self, node, host):
        self.first = Kinematics(node, host)
        self.nodes = [
            Node(name, namespace='/life', enable_rosout=False)
            for name in ('dynamics', 'wrench_estimator')
        ]
        self.dynamics = Dynamics(self.nodes[0], host)
        self.estimator = WrenchEstimator(self.nodes[1], host)
        host.add(self.dynamics, self.nodes[0])
        host.add(self.estimator, self.nodes[1])
        self.nodes[0].set_parameters([Parameter('enabled', value=True)])

    def __getattr__(self, name):
        return getattr(self.first, name)


@pytest.fixture
def bench(monkeypatch, ros_domain):
    rclpy.init(domain_id=ros_domain)
    made = Bench(monkeypatch, Groups, 'all', backend='native', model_state=['all'])
    yield made
    made.close()
    rclpy.shutdown()


class CProgram:
    """The function that the command writes, compiled."""

    def __init__(self, folder, text, names, *arguments):
        urdf = folder / 'robot.urdf'
        urdf.write_text(text)
        named = [each for name in names for each in ('--output', name)]
        given = [str(urdf), *named, '--name', 'made', '--folder', str(folder), *arguments]
        assert command.main(given) == DONE
        library = folder / 'made.so'
        options = [flag for flag in FLAGS if flag != '-ffp-contract=fast']
        subprocess.run(
            [COMPILER, *STRICT, *options, 'made.c', '-lm', '-o', library], check=True, cwd=folder
        )
        self.library, header = ctypes.CDLL(library), (folder / 'made.h').read_text()
        self.inputs = re.findall(r'  in:  (\w+) \(', header)
        found = re.findall(r'  out: (\w+) \((.*)\)', header)
        self.results = {name: np.zeros([*map(int, re.findall(r'\d+', x))]) for name, x in found}
        steps = header.partition('void made_steps(')[2]
        self.steps_read = re.findall(r'const double (\w+)\[', steps)
        self.outputs = {
            name: np.zeros(int(size))
            for name, size in re.findall(r'    double (\w+)\[(\d+)\]', steps)
        }
        members = re.findall(r'^  (int64_t|double) (\w+)(?:\[(\d+)\])?;', header, re.M)
        self.words = np.zeros(sum(int(size or 1) for _, _, size in members), dtype=np.int64)
        self.memory, place = {}, 0
        for kind, name, size in members:
            words = self.words[place : place + int(size or 1)]
            self.memory[name] = words.view(float) if kind == 'double' else words
            place += len(words)
        if members:
            self.library.made_start(address(self.words))

    def __call__(self, given):
        """Compute all results for inputs by name; memory comes from the results before."""
        for name in self.results:
            if name.startswith('next_'):
                given[name.removeprefix('next_')] = self.results[name].copy()
        arrays = [np.ascontiguousarray(given[name], dtype=float) for name in self.inputs]
        self.library.made(*map(address, [*arrays, *self.results.values()]))
        return self.results

    def steps(self, given, elapsed):
        """Compute the outputs of the second function."""
        given = {**given, **self.results}
        arrays = [np.ascontiguousarray(given[name], dtype=float) for name in self.steps_read]
        every = [self.words, *arrays, *self.outputs.values()]
        first, *others = map(address, every)
        self.library.made_steps(first, ctypes.c_int64(elapsed), *others)
        return {name: array.copy() for name, array in self.outputs.items()}

    def residual(self, state, elapsed):
        """Compute the offset."""
        offset = np.zeros(len(state) // 3)
        memory, *arrays = map(address, (self.words, state, offset))
        self.library.made_residual(memory, ctypes.c_int64(elapsed), *arrays)
        return offset

    def set(self, **values):
        """Set numbers of the memory, wherever their names end so."""
        for end, value in values.items():
            chosen = [name for name in self.memory if name.endswith(end) and name[:3] != 'at_']
            assert chosen, end
            for name in chosen:
                self.memory[name][:] = value


def address(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def set_parameters(node, values):
    done = node.set_parameters([Parameter(name, value=value) for name, value in values.items()])
    assert all(each.successful for each in done), done


@pytest.mark.parametrize(
    ('observer', 'has_model'),
    [*((name, False) for name in OBSERVERS), ('kalman', True)],
)
def test_functions_in_c_give_the_numbers_of_the_messages(bench, tmp_path, observer, has_model):
    """All outputs with a formula, with the memories of observers and filters over many states.

    Those that do not depend on the observer with one of them. With a model of residuals, too.
    """
    exported = EXPORTED if observer == 'kalman' and not has_model else OBSERVED
    host, estimator = bench.host, bench.part.estimator
    set_parameters(bench.part.nodes[1], {**VALUES, 'observer': observer})
    bench.describe(ARM)
    bench.part._transforms.look()  # no other node has the frames
    # The reference is written below: states are beyond the limits of the fingers.
    steps = host.states.stages
    host.states.stages = [s for s in steps if not s.prepare or s.prepare.function is not follow]
    robot, joints = host.model.robot, host.mapper.joints
    n = len(joints)
    arguments = ['--observer', observer]
    if has_model:
        model = some_model(n=n, turning=[1] * (n - 1) + [0])
        (tmp_path / 'residual.yaml').write_text(model_text(joints, TERMS, model))
        arguments += ['--residual', str(tmp_path / 'residual.yaml')]
        found = of_text('', (tmp_path / 'residual.yaml').read_text(), joints, None)
        estimator._tare.residuals._use(found)
    made = CProgram(tmp_path, ARM, exported, *arguments)
    rng, channels = np.random.default_rng(1), {c.name: c for c in host.states.channels if c.name}
    shares, reference = np.array([1.0, 0.0, 1.0, 1.0, 1.0]), np.zeros(4 * n)
    set_parameters(
        bench.node, {'effort_terms': [term for term, share in zip(TERMS, shares) if share]}
    )
    host.model.payload[:] = robot.payload_parameters(
        {LINK: RigidBody(1.3, [0, 0.02, 0.1], np.eye(3))}
    )
    values = [estimator._observer._of_joints(name) for name in OBSERVERS[observer].parameters]
    phase = rng.uniform(0.0, 6.0, n)
    made.set(
        effort_deviations=VALUES['observer_effort_deviation'],
        reduced_filter_cutoff=CUTOFFS[1],
        fall=VALUES['release_duration'],
        contact_upper=estimator._flags._flags['contact'].upper,
        contact_lower=estimator._flags._flags['contact'].lower,
    )
    compared, flags = dict.fromkeys(exported, 0), set()
    was_settled = False
    is_settled = False
    for k in range(30):
        q = 0.5 * np.sin(phase + k * STEP) + [0, 0, 0, -1.5, 0, 1.5, 0, 0.02]
        v = 0.5 * np.cos(phase + k * STEP)
        tau = robot.gravity_torques(q) + rng.normal(size=n) + (20.0 if 13 <= k < 18 else 0.0)
        a = rng.normal(size=n)
        rows(bench.part.dynamics.outputs.reference)[:] = rows(reference)[:] = [np.ones(n), q, v, a]
        bench.clock.offset += STEP
        host.states.receive(serialized(joints, q, bench.clock.time_ns(), v, tau), {})
        first = k == 0
        step = (
            [1.0] * n + [0.0, 0.0, 1.0]
            if first
            else [np.exp(-STEP / T)] * n + [1.0 / STEP, STEP, 0.0]
        )
        torque, wrench = (weights(x, STEP) if is_settled else [0, 0, 1] for x in CUTOFFS)
        is_settled = estimator._observer.is_settled  # filters begin with the first valid torque
        given = {
            'q': q, 'v': v, 'a': a, 'gravity': [0.0, 0.0, -9.81], 'payload': host.model.payload,
            'effort_shares': shares, 'measured': tau, 'offset': np.zeros(n), 'shares': np.ones(5),
            'reference': reference, 'observer_step': step, 'dead_bands': BANDS,
            'observer_parameters': np.concatenate(values) if values else [0.0],
            'torque_weights': torque, 'wrench_weights': wrench, 'contact': [0.001, 0.2, 0.02],
        }  # fmt: skip
        if has_model:
            given['offset'] = made.residual(np.r_[q, v, tau], 0 if first else round(1e9 * STEP))
            np.testing.assert_array_equal(given['offset'], estimator._tare.record.offset)
        results = made(given)
        if is_settled:
            results = {**results, **made.steps(given, round(1e9 * STEP) if was_settled else 0)}
            flags |= {*results['contact']}
        was_settled = is_settled
        for name in exported:
            row, channel = OUTPUTS[name.split('/')[0]], channels[name]
            if channel.state == NOT_VALID or (name in STEPS and not is_settled):
                continue
            result = results[f'{name}_torques' if name in TERMS else name.replace('/', '_')]
            if row.is_screw and name not in STEPS:
                result = np.roll(result, 3, axis=0)
            sent = np.concatenate([array.ravel() for array in channel.arrays])
            if name == 'feedforward':  # before limits and ramps
                sent = host.model.results[bench.part.dynamics.outputs.terms.feedforward]
            np.testing.assert_allclose(sent, result.ravel(), rtol=1e-9, atol=1e-9, err_msg=name)
            compared[name] += 1
    assert all(compared.values()), compared
    assert flags == {0.0, 1.0} or has_model


def test_commands_are_those_of_the_node(bench, tmp_path):
    """With ramp, limits, a blend, a pause, and zero after the robot is disabled."""
    host, dynamics = bench.host, bench.part.nodes[0]
    bench.describe(ARM)
    joints = host.mapper.joints
    set_parameters(dynamics, {'joints': list(joints), 'enabled': False})
    set_parameters(dynamics, {'ramp_time': 0.05, 'blend_time': 0.04, 'effort_limit_factor': 0.3})
    set_parameters(dynamics, {'enabled': True})
    bench.finish()
    robot, n = host.model.robot, len(joints)
    made = CProgram(tmp_path, ARM, ['commands'])
    torque = bench.part.dynamics.commands.torque
    made.set(torque_ramp_time=0.05, torque_blend_time=0.04)
    made.set(torque_upper=torque.upper, torque_rates=torque.rates, is_enabled=1)
    channel = next(c for c in host.states.channels if c.name == 'commands')
    sent, last = [], np.zeros(n)
    for k in range(60):
        if k == 12:
            host.model.payload[:] = robot.payload_parameters(
                {LINK: RigidBody(4.0, [0, 0.02, 0.1], np.eye(3))}
            )
            bench.part.dynamics.commands.blend()
            made.set(commands_is_changed=1)
        if k == 18:
            bench.clock.offset += 3.0
        if k == 25:
            set_parameters(dynamics, {'enabled': False})
            made.set(is_enabled=0)
        q = 0.3 * np.sin(np.arange(n) + k * STEP) + [0, 0, 0, -1.5, 0, 1.5, 0, 0.02]
        v = 0.3 * np.cos(np.arange(n) + k * STEP)
        bench.clock.offset += STEP
        host.states.receive(serialized(joints, q, bench.clock.time_ns(), v, np.zeros(n)), {})
        given = {
            'q': q, 'v': v, 'gravity': [0.0, 0.0, -9.81], 'payload': host.model.payload,
            'shares': np.ones(5), 'reference': np.zeros(4 * n),
        }  # fmt: skip
        made(given)
        command = made.steps(given, 0 if k in (0, 18) else round(1e9 * STEP))['commands']
        is_sent = channel.state != NOT_VALID
        assert np.isfinite(command).all() == is_sent
        if is_sent:
            (last,) = channel.arrays
            np.testing.assert_allclose(command, last, rtol=1e-9, atol=1e-9, err_msg=str(k))
        sent.append(is_sent)
    assert sent[0]
    assert not sent[-1]
    assert not last.any()


def test_outputs_of_a_floating_base_by_pinocchio(tmp_path):
    pytest.importorskip('pinocchio')
    from support.free_robot import FreeModel

    text = urdf_path('solo12').read_text()
    joints = Robot.from_urdf(text, backend='reference', floating_base=True).joint_names
    peer, names = FreeModel(text, joints), ['base_wrench', 'momentum', 'center_of_mass_twist']
    made = CProgram(tmp_path, text, names, '--floating-base')
    results = made({
        'q': np.concatenate([peer.p, peer.R.as_quat(), peer.q]),
        'v': np.concatenate([peer.twist, peer.v]),
        'gravity': peer.model.gravity.linear,
        'payload': np.zeros(10 * (len(joints) + 1)),
    })  # fmt: skip
    expected = peer.expected()
    for name in names[:2]:
        np.testing.assert_allclose(np.roll(results[name], 3), expected[f'dynamics/{name}'])
    velocity = expected['dynamics/center_of_mass'][3:]
    np.testing.assert_allclose(results[names[2]], [0, 0, 0, *velocity])


@pytest.mark.parametrize('observer', ['static', 'momentum'])
def test_feet_that_carry_a_robot(tmp_path, observer):
    """Contact wrenches in equilibrium by Pinocchio; the lifted foot exerts nothing."""
    pytest.importorskip('pinocchio')
    from support.free_robot import FreeModel, in_equilibrium, standing

    text, feet = urdf_path('solo12').read_text(), ['FL_FOOT', 'HL_FOOT', 'FR_FOOT', 'HR_FOOT']
    robot = Robot.from_urdf(text, backend='reference', floating_base=True)
    peer, n = FreeModel(text, robot.joint_names), len(robot.joint_names)
    peer.q, peer.v, peer.twist = np.array([0.0, 0.8, -1.6] * 4), np.zeros(n), np.zeros(6)
    wrenches = standing(peer, feet[:3])
    tau, _ = in_equilibrium(peer, wrenches)
    names = [f'{name}/{foot}' for foot in feet for name in SUPPORT[1:]]
    options = '--floating-base', '--observer', observer
    made = CProgram(tmp_path, text, [*names, SUPPORT[0]], *options)
    for k in range(40):
        e = float(np.exp(-0.5)) if k else 1.0
        timing = [1.0 / STEP, STEP, 0.0] if k else [0.0, 0.0, 1.0]
        given = {
            'q': np.concatenate([peer.p, peer.R.as_quat(), peer.q]), 'v': np.zeros(6 + n),
            'gravity': peer.model.gravity.linear, 'payload': np.zeros(10 * (n + 1)),
            'effort_shares': np.ones(5), 'measured': tau, 'offset': np.zeros(n),
            'observer_step': [e] * n + timing, 'observer_parameters': [0.0],
            'torque_weights': [0, 0, 1], 'base_step': [e] * 6 + timing,
        }  # fmt: skip
        made(given)
        if k == 0 or k >= 20:  # the first time too early: it starts again after a pause
            outputs = made.steps(given, round(1e9 * STEP) if k > 20 else 0)
    assert outputs['support'].tolist() == [1.0, 1.0, 1.0, 0.0]
    for foot in feet:
        expected = wrenches.get(foot, np.zeros(6))
        np.testing.assert_allclose(outputs[f'contact_wrench_{foot}'], expected, atol=1e-6)
        covariance = outputs[f'contact_wrench_covariance_{foot}'].reshape(6, 6)[:3, :3]
        assert (np.linalg.eigvalsh(covariance) > 0.0).all()


@pytest.mark.parametrize('name', OUTPUTS)
def test_every_output_is_exported_or_refused_with_a_reason(name):
    robot = Robot.from_urdf(urdf_path('solo12'), backend='reference', floating_base=True)
    made, text = COutputs(robot), OUTPUTS[name].part('FL_FOOT' if OUTPUTS[name].of_links else '')
    if name in NOT_EXPORTED:
        with pytest.raises(ArgumentError, match=NOT_EXPORTED[name]):
            made.add(text)
    elif name in ('wrench', 'wrench_covariance'):
        with pytest.raises(ArgumentError, match='3 joints move it'):
            made.add(text)
    else:
        made.add(text)
        assert made.has_steps == (name in BUILDERS) == (not made.results)


def test_what_is_refused(tmp_path):
    """Names that do not exist, too few joints, outputs that are not exported, object files."""
    made = COutputs(Robot.from_urdf(urdf_path('planar_2r'), backend='reference'))
    for name, error, text in (
        ('weight', UnknownNameError, "no output 'weight'; choose one of position, "),
        ('twist', UnknownNameError, "'twist' does not name an output; write twist/LINK"),
        ('gravity/tip', UnknownNameError, 'write gravity'),
        ('twist/hand', UnknownNameError, "'hand'"),
        ('base_wrench', ArgumentError, 'use --floating-base'),
        ('wrench/tip', ArgumentError, '2 joints move it'),
        ('contact_wrench/tip', ArgumentError, 'use --floating-base'),
        ('wrench_covariance/tip', ArgumentError, 'reduced_wrench is their observable part'),
    ):
        with pytest.raises(error, match=text):
            made.add(name)
    assert not made.results
    made.add('singularity/tip')
    made.add('singularity/tip')
    assert made.c_source('made', [], False).source.count('double singularity_tip[4]') == 1
    arguments = ['--output', 'contact', '--target', 'aarch64-linux-gnu', '--folder', str(tmp_path)]
    assert command.main([str(urdf_path('planar_2r')), *arguments]) != DONE
    assert not [*tmp_path.iterdir()]
