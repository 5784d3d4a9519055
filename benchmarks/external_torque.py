# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""External torques of identified arms: observers, with a residual model, and an LSTM beside them.

    OPENBLAS_NUM_THREADS=1 python benchmarks/run.py --only external_torque
    PYTHONPATH=.:test python benchmarks/external_torque.py --recording RUN.npz --urdf ROBOT.urdf

Simulated arms have friction that the model lacks: load, Stribeck curve, presliding. One has
backlash between joints and motors with encoders. They move for ten minutes without contact; from
the first two the dynamics are identified, from all of them residual model and LSTM are trained.
Thresholds of contacts are those of the residual model, by two minutes of other motions without it;
six minutes of other motions are judged.
The LSTM (PyTorch) estimates what the observer `momentum` has for zero from positions and
velocities; it trains for a minute on two cores, of which the best epoch counts.

Files with the arrays t, q, v, tau and joint_names that the user names are divided into 70, 10
and 20 %.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == '__main__':
    ROOT = Path(__file__).resolve().parents[1]
    sys.path[:0] = [str(ROOT), str(ROOT / 'test')]

from figures import Figure, table

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.annotation.annotate import annotate_arrays
from screw_dynamics_ros.core.annotation.settings import AnnotationSettings
from screw_dynamics_ros.core.annotation.unloaded_residual import (
    as_of_nodes,
    settings_of,
    unloaded_residual,
)
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.estimation.threshold_flag import ThresholdFlag
from screw_dynamics_ros.core.identification import (
    EffortModel,
    IdentificationOptions,
    JointRecording,
    identify_recordings,
)
from support.robots import urdf_path
from support.simulated_recording import SMOOTHING
from support.unmodeled_friction import FrictionalArm

SECONDS = 60.0  # of each simulated motion
TRAINED, TUNED, JUDGED = 10, 2, 6  # motions
IDENTIFIED = 2  # of the trained ones
VELOCITY_NOISE = 1e-3  # rad/s
PAYLOAD = 1.0  # kg
PUSH, PUSH_EVERY, PUSH_LASTS = 15.0, 5.0, 1.0  # N, s, s
ALARMS = 60.0  # asked for in an hour of free motion
RELEASE_RATIO, RELEASE_DURATION = 0.7, 0.1  # of the nodes; s
SLOW, REVERSAL = 0.05, 0.3  # rad/s, s
OBSERVERS = 'momentum', 'kalman', 'sliding'
STATED = 0.8, 1.25  # of true by stated deviations
#: URDF, tip, joints that are held, seed, backlash [rad].
ARMS = {
    'Panda': ('panda', 'panda_hand_tcp', ('panda_finger_joint1', 'panda_finger_joint2'), 11, 0.0),
    'UR5': ('ur_description/urdf/ur5_robot', 'tool0', (), 12, 0.0),
    'UR5 with backlash': ('ur_description/urdf/ur5_robot', 'tool0', (), 12, 1e-3),
}
CROSSING = 0.02  # share of the limit: torque that closes three quarters of a gap, elastic teeth
GROUP = 'External torques, '
LSTM_RATE, LSTM_UNITS = 100.0, 64  # Hz
LSTM_CORES, LSTM_SECONDS = 2, 60.0  # of training
LSTM_LENGTH, LSTM_WARMUP, LSTM_BATCH = 300, 100, 32  # states, states, sequences


@dataclass(frozen=True, eq=False)
class Data:
    """What an arm has recorded, and what it is judged with.

    Attributes
    ----------
    name : str
    robot : Robot
        The identified one.
    tip : str
    settings : AnnotationSettings
        With the deviations of efforts and velocities that `identify` finds.
    trained, tuned, judged : lists of JointRecording
        Motions without contact, efforts as the robot has them.
    loaded : list of pairs of JointRecording, (N, n) array
        Motions with a payload, and its true torques [N m].
    """

    name: str
    robot: Robot
    tip: str
    settings: AnnotationSettings
    trained: list[JointRecording]
    tuned: list[JointRecording]
    judged: list[JointRecording]
    loaded: list[tuple[JointRecording, np.ndarray]]


def figures(quick: bool) -> Iterator[Figure]:
    """Measure the simulated arms."""
    for name in list(ARMS)[: 1 if quick else None]:
        yield from judged(simulated(name, 0.2 if quick else 1.0))


# --- data ----------------------------------------------------------------------------------------


def simulated(name: str, share: float) -> Data:
    """Return the recordings of a simulated arm, or a share of their durations."""
    path, tip, held, seed, gap = ARMS[name]
    description = read_urdf(urdf_path(path))
    joints = [
        replace(joint, type='fixed', mimic=None) if joint.name in held else joint
        for joint in description.joints
    ]
    nominal = Robot(replace(description, joints=tuple(joints)))
    arm = FrictionalArm(nominal, seed, SECONDS * share)

    def motions(count: int) -> Iterator[JointRecording]:
        for _ in range(count):
            arm.speed = arm.rng.uniform(0.3, 1.5)
            given = arm.recording(SECONDS * share)
            q, v, a = arm.followed
            noise = VELOCITY_NOISE * arm.rng.normal(size=v.shape)
            load = arm.torques(q, v, a)[0] - arm.armature * a
            # Encoders are on the motors, which are ahead of the joints in the direction of torque.
            ahead = 0.5 * gap * np.tanh(load / (CROSSING * arm.limit))
            faster = np.gradient(ahead, given.t, axis=0)
            yield replace(given, q=given.q + ahead, v=v + faster + noise)

    recorded = list(motions(TRAINED + TUNED + JUDGED))
    result, robot, settings = identified(nominal, recorded[:IDENTIFIED], 'known')
    body = RigidBody(PAYLOAD, (0.0, 0.0, 0.05), np.eye(3) * 1e-3)
    loaded = []
    for given in motions(2):
        q, v, a = arm.followed
        # The load changes the friction, too.
        bare = arm.torques(q, v, a)[1]
        weight = arm.truth.robot.payload_torques(q, v, a, {tip: body})
        load = arm.torques(q, v, a)[0] - arm.armature * a + weight
        tau = given.tau + weight + arm.friction.along(q, v, load) - bare
        loaded.append((replace(given, tau=tau), -weight))
    recorded = [as_torques(each, result) for each in recorded]
    first, second = TRAINED, TRAINED + TUNED
    return Data(
        name,
        robot,
        tip,
        settings,
        recorded[:first],
        recorded[first:second],
        recorded[second:],
        [(as_torques(each, result), true) for each, true in loaded],
    )


def named(path: Path, urdf: Path, tip: str) -> Data:
    """Return a recording that the user has named, in parts."""
    with np.load(path) as file:
        arrays = {key: file[key] for key in file.files}
    nominal = Robot.from_urdf(urdf)
    order = [arrays['joint_names'].tolist().index(joint) for joint in nominal.joint_names]
    q, v, tau = (arrays[key][:, order] for key in ('q', 'v', 'tau'))
    n = len(arrays['t'])
    whole = [
        JointRecording(arrays['t'][part], q[part], v[part], tau[part])
        for part in (slice(0, 7 * n // 10), slice(7 * n // 10, 4 * n // 5), slice(4 * n // 5, n))
    ]
    result, robot, settings = identified(nominal, whole[:1], 'auto')
    trained, tuned, judged_ = (as_torques(each, result) for each in whole)
    return Data(path.stem, robot, tip, settings, [trained], [tuned], [judged_], [])


def identified(
    nominal: Robot, recordings: list[JointRecording], scale: str
) -> tuple[Any, Robot, AnnotationSettings]:
    """Return what `identify` finds, the robot, and its settings."""
    options = IdentificationOptions(EffortModel(smoothing=SMOOTHING), scale=scale)
    result = identify_recordings(nominal, recordings, options)
    robot = Robot(result.description, gravity=nominal.gravity, drives=result.drives)
    runs = as_of_nodes(robot, result, recordings)
    found = unloaded_residual(robot, result, recordings, runs)
    return result, robot, settings_of(result, found)


def as_torques(given: JointRecording, result: Any) -> JointRecording:
    """Return a recording whose efforts are torques, as the nodes scale them."""
    known = np.isfinite(result.effort_scale)
    tau = np.where(known, given.tau * result.effort_scale + result.effort_offset, 0.0)
    return replace(given, tau=tau)


# --- methods -------------------------------------------------------------------------------------

#: Returns external torques (N, n) and their stated covariances (N, n, n) or (n, n).
Method = Callable[[JointRecording], tuple[np.ndarray, np.ndarray]]
#: A method, the thresholds of contacts by stated deviations (n,) if it has them, and a note.
Row = tuple[Method, np.ndarray | None, str]


def observed(
    data: Data, given: JointRecording, observer: str, residual: Any = None
) -> dict[str, np.ndarray]:
    """Return external torques by an observer, and their covariance if it has one."""
    return annotate_arrays(
        data.robot,
        np.round((given.t - given.t[0]) * 1e9).astype(np.int64),
        given.q,
        given.v,
        given.tau,
        outputs=['external_torque'],
        settings=replace(data.settings, observer=observer),
        residual=residual,
    )


def plain(data: Data, observer: str) -> Method:
    """Return an observer alone; it states its mean error over the motions it was tuned with."""

    def method(given: JointRecording) -> tuple[np.ndarray, np.ndarray]:
        return observed(data, given, observer)['external_torque'], covariance

    covariance = np.eye(data.robot.nv)
    covariance = np.diag(mean_square(data.trained, method))
    return method


def mean_square(recordings: list[JointRecording], method: Method) -> np.ndarray:
    """Return the mean squares (n,) of external torques without contact."""
    return np.nanmean(np.concatenate([method(each)[0] for each in recordings]) ** 2, axis=0)


def methods(data: Data) -> dict[str, Row]:
    """Return all methods by name."""
    found: dict[str, Row] = {observer: (plain(data, observer), None, '') for observer in OBSERVERS}
    try:
        found |= with_residual(data)
    except ImportError:
        print('without the residual model: this version has none', file=sys.stderr)
    try:
        found |= with_lstm(data)
    except ImportError:
        print('without the LSTM: PyTorch cannot be imported', file=sys.stderr)
    return found


def with_residual(data: Data) -> dict[str, Row]:
    """Return the observers, each with the residual model that is fitted for it."""
    from screw_dynamics_ros.core.estimation.residual_model import peak_level
    from screw_dynamics_ros.core.identification.residual_fit import fit_residual

    def row(observer: str) -> Row:
        start, n = time.perf_counter(), data.robot.nv
        model = fit_residual(
            data.robot, data.trained, replace(data.settings, observer=observer)
        ).model
        note = f'{time.perf_counter() - start:.0f} s of fit'
        allowed = ALARMS / 3600.0 / n
        levels = np.array([peak_level(*tail, allowed) for tail in model.tails.reshape(n, 3)])

        def method(given: JointRecording) -> tuple[np.ndarray, np.ndarray]:
            found = observed(data, given, observer, model)
            return found['external_torque'], found['external_torque_covariance']

        return method, levels, note

    return {f'{name}, residual model': row(name) for name in OBSERVERS}


def with_lstm(data: Data) -> dict[str, Row]:
    """Return `momentum` with an LSTM; raises ImportError without PyTorch."""
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(LSTM_CORES)
    n = data.robot.nv

    def inputs(given: JointRecording) -> tuple[np.ndarray, np.ndarray]:
        """Return times and q, v at the rate of the LSTM."""
        step = max(round(1.0 / LSTM_RATE / float(np.median(np.diff(given.t)))), 1)
        return given.t[::step], np.hstack([given.q, given.v])[::step]

    def target(given: JointRecording, t: np.ndarray) -> np.ndarray:
        found = np.nan_to_num(observed(data, given, 'momentum')['external_torque'])
        return found[np.searchsorted(given.t, t)]

    def sequences(recordings: list[JointRecording]) -> tuple[Any, Any]:
        xs, ys = [], []
        for each in recordings:
            t, x = inputs(each)
            y = target(each, t)
            for k in range(0, len(t) - LSTM_LENGTH, LSTM_LENGTH // 2):
                xs.append(x[k : k + LSTM_LENGTH])
                ys.append(y[k : k + LSTM_LENGTH])
        return np.array(xs), np.array(ys)

    x, y = sequences(data.trained)
    scales = [(z.mean(axis=(0, 1)), z.std(axis=(0, 1)) + 1e-9) for z in (x, y)]

    def scaled(z: np.ndarray, which: int) -> Any:
        mean, deviation = scales[which]
        return torch.tensor((z - mean) / deviation, dtype=torch.float32)

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.memory = torch.nn.LSTM(2 * n, LSTM_UNITS, batch_first=True)
            self.out = torch.nn.Linear(LSTM_UNITS, n)

        def forward(self, x: Any) -> Any:
            return self.out(self.memory(x)[0])

    network = Network()
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    x, y = scaled(x, 0), scaled(y, 1)
    tuned_x, tuned_y = sequences(data.tuned)
    tuned_x, tuned_y = scaled(tuned_x, 0), scaled(tuned_y, 1)
    best, kept, start, epochs = np.inf, network.state_dict(), time.process_time(), 0

    def loss(x: Any, y: Any) -> Any:
        return ((network(x) - y)[:, LSTM_WARMUP:] ** 2).mean()

    while time.process_time() - start < LSTM_CORES * LSTM_SECONDS:
        epochs += 1
        for part in torch.randperm(len(x)).split(LSTM_BATCH):
            optimizer.zero_grad()
            loss(x[part], y[part]).backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
        with torch.no_grad():
            error = float(loss(tuned_x, tuned_y))
        if error < best:
            best, kept = error, {k: each.clone() for k, each in network.state_dict().items()}
    network.load_state_dict(kept)
    size = sum(each.numel() for each in network.parameters())
    seconds = (time.process_time() - start) / LSTM_CORES

    def method(given: JointRecording) -> tuple[np.ndarray, np.ndarray]:
        t, x = inputs(given)
        with torch.no_grad():
            found = network(scaled(x[None], 0))[0].numpy() * scales[1][1] + scales[1][0]
        each = [np.interp(given.t, t, column) for column in found.T]
        torques = observed(data, given, 'momentum')['external_torque'] - np.transpose(each)
        return torques, covariance

    covariance = np.eye(n)
    covariance = np.diag(mean_square(data.tuned, method))
    note = f'{size} weights, {epochs} epochs in {seconds:.0f} s'
    return {'momentum, LSTM': (method, None, note)}


# --- judgments -----------------------------------------------------------------------------------


def judged(data: Data) -> Iterator[Figure]:
    """Yield the figures of all methods for an arm."""
    for name, (method, by_deviation, note) in methods(data).items():
        for what, value, unit, more in judgments(data, method, by_deviation):
            text = '; '.join(each for each in (note, more) if each)
            yield Figure(GROUP + data.name, name, what, float(value), unit=unit, note=text)


def judgments(
    data: Data, method: Method, by_deviation: np.ndarray | None
) -> Iterator[tuple[str, float, str, str]]:
    """Yield what a method is judged by: name, value, unit, note."""
    free = [method(each) for each in data.judged]
    if by_deviation is None:
        by_deviation = levels([standard(*method(each)) for each in data.tuned], data.tuned)
    e = np.concatenate([torques for torques, _ in free])
    by_joint = np.sqrt(np.nanmean(e**2, axis=0))
    worst = ', '.join(f'{j} {x:.3g}' for j, x in zip(data.robot.joint_names, by_joint))
    yield 'free motion, mean of joints', by_joint.mean(), 'N m', worst
    hours = sum(each.t[-1] - each.t[0] for each in data.judged) / 3600.0
    alarms = sum(
        rises(given.t, standard(*each), by_deviation) for given, each in zip(data.judged, free)
    )
    yield f'alarms, {ALARMS:g} asked for', alarms / hours, '1/h', ''
    times = [
        delay
        for k, (each, (torques, stated)) in enumerate(zip(data.judged, free))
        for delay in detected(data, each, torques, by_deviation * deviations(stated), k)
    ]
    seen = np.isfinite(times)
    yield 'pushes found', 100.0 * seen.mean(), '%', ''
    if seen.any():
        yield 'time until found', 1e3 * np.median(np.array(times)[seen]), 'ms', ''
    errors = []
    for given, true in data.loaded:
        J = np.array([data.robot.jacobian(q, data.tip)[5] for q in given.q[::10]])
        wrong = method(given)[0][::10] - true[::10]
        errors.append(np.sum(J * wrong, axis=1) / np.sum(J * J, axis=1))
    if errors:
        yield (
            'payload of 1 kg, vertical force',
            np.sqrt(np.nanmean(np.concatenate(errors) ** 2)),
            'N',
            '',
        )
    ratios = ratios_of(data, free)
    if len(ratios):
        right = (ratios >= STATED[0]) & (ratios <= STATED[1])
        text = f'{ratios.min():.2f} to {ratios.max():.2f}, {len(ratios)} cells'
        yield 'true by stated deviation 0.8 to 1.25', 100.0 * right.mean(), '%', text


def deviations(stated: np.ndarray) -> np.ndarray:
    """Return the deviations (N, n) or (n,) of stated covariances."""
    return np.sqrt(np.diagonal(stated, axis1=-2, axis2=-1))


def standard(torques: np.ndarray, stated: np.ndarray) -> np.ndarray:
    """Return torques (N, n) divided by their stated deviations, 0 where there are none."""
    return np.nan_to_num(torques / deviations(stated))


def levels(torques: list[np.ndarray], recordings: list[JointRecording]) -> np.ndarray:
    """Return the thresholds (n,) that peaks exceed `ALARMS` times an hour, of all joints."""
    seconds = sum(each.t[-1] - each.t[0] for each in recordings)
    found = []
    for e in np.abs(np.concatenate(torques)).T:
        tops = peaks(e)
        high = np.quantile(tops, 0.8)
        above = tops[tops >= high]
        allowed = ALARMS / 3600.0 / len(recordings[0].q.T)
        found.append(high + (above - high).mean() * np.log(len(above) / seconds / allowed))
    return np.array(found)


def peaks(e: np.ndarray) -> np.ndarray:
    """Return the largest values (k,) of a torque (N,) above its median, one for each excursion."""
    above = e > np.median(e)
    starts = np.flatnonzero(above & ~np.concatenate([[False], above[:-1]]))
    return np.maximum.reduceat(e, starts)


def rises(t: np.ndarray, torques: np.ndarray, thresholds: np.ndarray) -> int:
    """Return how often a flag is raised that waits before it is lowered only, as in the nodes."""
    flag = ThresholdFlag(thresholds, RELEASE_RATIO * thresholds, 0.0, RELEASE_DURATION)
    elapsed = np.round(np.diff(t, prepend=t[0]) * 1e9).astype(int).tolist()
    raised = np.array([flag.take(*each) for each in zip(torques, elapsed)])
    return int(np.sum(raised[1:] & ~raised[:-1]))


def detected(
    data: Data, given: JointRecording, torques: np.ndarray, thresholds: np.ndarray, seed: int
) -> list[float]:
    """Return the time until each push is above a threshold [s], infinite if none is.

    A push at the tip has a random direction; its torques pass the filter of the observer momentum.
    """
    rng, T = np.random.default_rng(seed), AnnotationSettings().observer_time_constant
    found = []
    for start in np.arange(given.t[0] + 1.0, given.t[-1] - PUSH_LASTS, PUSH_EVERY):
        rows = np.flatnonzero((given.t >= start) & (given.t < start + PUSH_LASTS))
        direction = rng.normal(size=3)
        J = data.robot.jacobian(given.q[rows[0]], data.tip)[3:]
        push = PUSH * J.T @ (direction / np.linalg.norm(direction))
        rise = 1.0 - np.exp(-(given.t[rows] - start) / T)
        total = np.nan_to_num(torques[rows]) + rise[:, None] * push
        limits = np.broadcast_to(thresholds, torques.shape)[rows]
        above = np.flatnonzero((np.abs(total) > limits).any(axis=1))
        found.append(float(given.t[rows[above[0]]] - start) if len(above) else np.inf)
    return found


def ratios_of(data: Data, free: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return true by stated deviations of joints by state, and of the axes of wrenches (k,)."""
    n = data.robot.nv
    squares: dict[Any, list[tuple[np.ndarray, np.ndarray]]] = {}
    for given, (torques, stated) in zip(data.judged, free):
        P = np.broadcast_to(stated, (len(torques), n, n))
        kinds = states_of(given)
        good = np.isfinite(torques).all(axis=1)
        for j in range(n):
            for kind in range(3):
                rows = good & (kinds[:, j] == kind)
                squares.setdefault((j, kind), []).append((torques[rows, j] ** 2, P[rows, j, j]))
        if n < 6:
            continue
        for k in np.flatnonzero(good)[::50]:
            J = data.robot.jacobian(given.q[k], data.tip)
            G = np.linalg.pinv(J.T)
            if np.linalg.norm(G, 2) > 10.0:  # near a singularity
                continue
            wrench, covariance = G @ torques[k], G @ P[k] @ G.T
            for axis in range(6):
                pair = np.array([wrench[axis] ** 2]), np.array([covariance[axis, axis]])
                squares.setdefault(('axis', axis), []).append(pair)
    found = []
    for parts in squares.values():
        true, stated = (np.concatenate(each) for each in zip(*parts))
        if len(true) >= 100:
            found.append(np.sqrt(np.mean(true / stated)))
    return np.array(found)


def states_of(given: JointRecording) -> np.ndarray:
    """Return for each joint whether it is slow (0), has just reversed (1), or neither (2)."""
    kinds = np.full(given.q.shape, 2)
    for j, v in enumerate(given.v.T):
        signs = np.sign(np.where(np.abs(v) > SLOW, v, 0.0))
        last, since = 0.0, np.inf
        for k, sign in enumerate(signs):
            if sign and last and sign != last:
                since = given.t[k]
            last = sign or last
            if 0.0 <= given.t[k] - since < REVERSAL:
                kinds[k, j] = 1
            elif not sign:
                kinds[k, j] = 0
    return kinds


def results(folder: Path) -> str:
    """Return the table of doc/how_to/torque_accuracy.md, from the results in a folder."""
    measured = json.loads((folder / 'external_torque.json').read_text(encoding='utf-8'))['figures']
    heads: dict[str, str] = {}
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for each in measured:
        heads[each['name']] = f'{each["name"]} [{each["unit"]}]'
        row = rows.setdefault((each['group'].removeprefix(GROUP), each['robot']), {})
        row[each['name']] = f'{each["ours"]:.3g}' if 'ours' in each else '–'
    lines = [f'| arm | torques by | {" | ".join(heads.values())} |']
    lines.append('|---' * (len(heads) + 2) + '|')
    for (arm, method), row in rows.items():
        lines.append(f'| {arm} | {method} | {" | ".join(row.get(h, "") for h in heads)} |')
    notes = {each['robot']: each['note'].split('; ')[0] for each in measured if each.get('note')}
    remarks = [f'{method}: {note}' for method, note in notes.items() if 'LSTM' in method]
    return '\n'.join(lines) + '\n' + ''.join(f'\n{line}.\n' for line in remarks)


TABLES: dict[str, Callable[[Path], str]] = {'external_torque': results}


def main() -> None:
    """Judge recordings that the user names."""
    parser = argparse.ArgumentParser(description='External torques of recordings without contact.')
    parser.add_argument('--recording', type=Path, action='append', required=True, help='.npz')
    parser.add_argument('--urdf', type=Path, required=True)
    parser.add_argument('--tip', default='tool0', help='link of pushes')
    options = parser.parse_args()
    found = []
    for path in options.recording:
        found += judged(named(path, options.urdf, options.tip))
    print(table(found))


if __name__ == '__main__':
    main()
