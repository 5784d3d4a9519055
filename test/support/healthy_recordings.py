# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings of healthy robots with the sensors, drives and middleware that real ones have."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import yaml
from scipy.signal import lfilter

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.nodes.model.scalar_joints import coordinates, scalar_joints
from support.robots import joint, robot, urdf_path

STEP = 0.01  # s
MOVES, TIME = 9.0, 12.0  # s; the robot rests at the end


# --- robots ---------------------------------------------------------------------------------------


def body(name, mass, x=0.0, size=0.1):
    """Return a cube of a size [m] with its center on the x axis."""
    inertia = mass * size**2 / 6.0
    moments = f'ixx="{inertia}" iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"'
    return (
        f'<link name="{name}"><inertial><origin xyz="{x} 0 0"/><mass value="{mass}"/>'
        f'<inertia {moments}/></inertial></link>'
    )


def moved(name, parent, child, axis, x=0.0, limits='', kind='revolute'):
    """Return a joint at x [m] of its parent."""
    limit = f'<limit {limits}/>' if limits else ''
    return joint(name, parent, child, f'<origin xyz="{x} 0 0"/><axis xyz="{axis}"/>{limit}', kind)


def limits(half, velocity, effort):
    return f'lower="{-half}" upper="{half}" velocity="{velocity}" effort="{effort}"'


SCARA = robot(
    body('base', 20.0), body('inner', 8.0, 0.15), body('outer', 5.0, 0.12), body('quill', 1.5),
    body('tool', 0.3, size=0.05),
    moved('joint1', 'base', 'inner', '0 0 1', 0.0, limits(2.2, 7.0, 90.0)),
    moved('joint2', 'inner', 'outer', '0 0 1', 0.3, limits(2.6, 7.0, 45.0)),
    moved('joint3', 'outer', 'quill', '0 0 1', 0.25, limits(0.15, 1.0, 120.0), 'prismatic'),
    moved('joint4', 'quill', 'tool', '0 0 1', 0.0, limits(6.2, 20.0, 5.0)),
)  # fmt: skip
ROVER = robot(
    body('base', 15.0, 0.0, 0.4),
    *(body(f'{side}_wheel', 0.8) for side in ('left', 'right')), body('mast', 0.7, 0.05),
    *(
        moved(f'{side}_wheel_joint', 'base', f'{side}_wheel', '0 1 0', 0.0,
              'velocity="20" effort="5"', 'continuous')
        for side in ('left', 'right')
    ),
    moved('mast_joint', 'base', 'mast', '0 1 0', 0.1, limits(1.2, 2.0, 4.0)),
)  # fmt: skip
SMALL = robot(
    body('base', 0.4), body('upper', 0.12, 0.06, 0.03), body('lower', 0.1, 0.05, 0.03),
    body('hand', 0.08, 0.04, 0.03), body('jaw', 0.02, 0.03, 0.02),
    moved('shoulder', 'base', 'upper', '0 1 0', 0.0, limits(1.9, 5.0, 1.9)),
    moved('elbow', 'upper', 'lower', '0 1 0', 0.11, limits(1.7, 5.0, 1.9)),
    moved('wrist', 'lower', 'hand', '0 1 0', 0.13, limits(1.7, 5.0, 1.9)),
    moved('jaw_joint', 'hand', 'jaw', '0 0 1', 0.02, limits(0.8, 5.0, 1.9)),
)  # fmt: skip
#: A floating base, whose motion is not part of joint states, with two legs.
FLOATING = robot(
    '<link name="world"/>', body('trunk', 10.0, 0.0, 0.3),
    joint('base', 'world', 'trunk', kind='floating'),
    *(
        part
        for k in (1, 2)
        for part in (
            body(f'thigh{k}', 2.0, 0.1), body(f'shank{k}', 1.0, 0.1),
            moved(f'hip{k}', 'trunk', f'thigh{k}', '0 1 0', 0.2, limits(1.5, 10.0, 40.0)),
            moved(f'knee{k}', f'thigh{k}', f'shank{k}', '0 1 0', 0.25, limits(2.0, 10.0, 40.0)),
        )
    ),
)  # fmt: skip
TEXTS = {'scara': SCARA, 'rover': ROVER, 'small arm': SMALL, 'floating base': FLOATING}
ROBOTS = ('panda', 'ur5_robot', 'gripper_tree', *TEXTS)


@cache
def described(name):
    """Return the URDF of a robot as text, and the robot."""
    text = TEXTS[name] if name in TEXTS else urdf_path(name).read_text()
    return text, Robot.from_urdf(text, backend='python')


# --- recordings -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Recorded:
    """Joint states (N, n) of all scalar joints but mimic joints, and parameters of the nodes."""

    names: list[str]
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    friction: np.ndarray  # largest dry friction [N m, N]
    parameters: dict = field(default_factory=dict)

    def but(self, **fields):
        return replace(self, **fields)

    def rows(self, rows):
        return self.but(t=self.t[rows], q=self.q[rows], v=self.v[rows], tau=self.tau[rows])

    def save(self, folder):
        """Write the recording; return the arguments of the commands for it."""
        path = folder / 'run.npz'
        np.savez(path, joint_names=self.names, t=self.t, q=self.q, v=self.v, tau=self.tau)
        if not self.parameters:
            return [str(path)]
        drives = folder / 'parameters.yaml'
        drives.write_text(yaml.safe_dump({'/**': {'ros__parameters': self.parameters}}))
        return [str(path), '--drives', str(drives)]


def recorded(name, seed=0, speed=1.0, payload=None, moves=MOVES):
    """Return what ideal sensors report of a robot that moves within its limits, then rests.

    Wheels turn on. A `payload` {link: RigidBody} is carried.
    """
    robot = described(name)[1]
    scalar = scalar_joints(robot)
    t = np.arange(0.0, TIME, STEP)
    clipped = np.minimum(t, moves)[:, None]
    is_moving = (t < moves)[:, None]
    rng = np.random.default_rng(seed)
    rates = speed * rng.uniform(1.5, 4.0, len(scalar))
    phase = rng.uniform(0.0, 6.0, len(scalar))
    bounds = [each.limits for each in robot.description.joints if each.name in scalar]
    q, v = np.zeros((2, len(t), len(scalar)))
    for k, bound in enumerate(bounds):
        if np.isfinite(bound.upper - bound.lower):
            middle, half = (bound.lower + bound.upper) / 2, 0.35 * (bound.upper - bound.lower)
            half = min(half, 0.7 * bound.velocity / rates[k])
            angle = rates[k] * clipped[:, 0] + phase[k]
            q[:, k], v[:, k] = middle + half * np.sin(angle), half * rates[k] * np.cos(angle)
        else:
            q[:, k], v[:, k] = 2.0 * rates[k] * clipped[:, 0], 2.0 * rates[k]
    v = v * is_moving
    states = np.tile(robot.neutral(), (len(t), 1))
    places, velocities = coordinates(robot, scalar)
    states[:, places] = q
    rest = np.zeros((len(t), robot.nv))
    tau = robot.gravity_torques(states)
    parameters = {}
    if payload:
        tau = tau + robot.payload_torques(states, rest, rest, payload)
        ((link, body),) = payload.items()
        parameters = {
            'payload_link': link, 'payload_mass': body.mass,
            'payload_center_of_mass': body.com.tolist(),
        }  # fmt: skip
    effort = np.array([each.effort if np.isfinite(each.effort) else 10.0 for each in bounds])
    return Recorded(list(scalar), t, q, v, tau[:, velocities], 0.03 * effort, parameters)


# --- sensors, drives, middleware ------------------------------------------------------------------


def low_pass(x, time_constant):
    """Return columns behind a filter of first order with a time constant [s]."""
    a = np.exp(-STEP / time_constant)
    return lfilter([1.0 - a], [1.0, -a], x, axis=0, zi=a * x[:1])[0]


def late(x, delay):
    """Return columns late by a time [s]."""
    return x[np.maximum(np.arange(len(x)) - round(delay / STEP), 0)]


def ideal(run, rng):
    return run


def noisy(run, rng):
    """Encoders with 5e-5 rad, velocities with 0.02 rad/s, efforts with 2 %."""
    return run.but(
        q=run.q + 5e-5 * rng.normal(size=run.q.shape),
        v=run.v + 0.02 * rng.normal(size=run.q.shape),
        tau=run.tau * (1.0 + 0.02 * rng.normal(size=run.q.shape)),
    )


def filtered(run, rng):
    """Velocities through a low-pass filter of 5 Hz, late by 20 ms; efforts late by 40 ms."""
    v = low_pass(late(run.v, 0.02), 0.032)
    return run.but(v=v, tau=late(run.tau, 0.04))


def encoder(bits):
    """Return encoders with this many bits per turn; velocities are differences, filtered."""

    def measured(run, rng):
        step = 2.0 * np.pi / 2**bits
        q = step * np.round(run.q / step)
        v = np.diff(q, axis=0, prepend=q[:1]) / STEP
        return run.but(q=q, v=low_pass(v, 0.04))

    measured.__name__ = f'{bits}_bits'
    return measured


def servo(run, rng):
    """4096 steps per turn, velocities in steps of 0.229 rpm, efforts of 0.05 N m."""
    return run.but(
        q=np.round(run.q / 1.534e-3) * 1.534e-3,
        v=np.round(run.v / 0.02398) * 0.02398,
        tau=np.round(run.tau / 0.05) * 0.05,
    )


def backlash(run, rng):
    """Positions after a gear with a play of 4 mrad, velocities and dry friction before it."""
    after = run.q.copy()
    for k in range(1, len(after)):
        after[k] = np.clip(after[k - 1], run.q[k] - 2e-3, run.q[k] + 2e-3)
    return friction(run.but(q=after), rng)


def friction(run, rng):
    """Dry friction of 3 % of the effort limits; at rest any torque below it."""
    stuck = rng.uniform(-1.0, 1.0, run.q.shape[1])
    return run.but(tau=run.tau + run.friction * np.where(run.v == 0.0, stuck, np.sign(run.v)))


def strong_friction(run, rng):
    """More than gravity: everywhere the weight is a small part of the friction."""
    largest = np.maximum(1.5 * np.abs(run.tau).max(axis=0), run.friction)
    return friction(run.but(friction=np.minimum(largest, run.friction / 0.03 * 0.045)), rng)


def currents(run, rng):
    """Efforts in A, with scale and offset as parameters."""
    scale = rng.uniform(5.0, 15.0, run.q.shape[1])
    offset = rng.uniform(-0.3, 0.3, run.q.shape[1])
    parameters = {
        'effort_joints': run.names, 'effort_scale': scale.tolist(),
        'effort_offset': offset.tolist(),
    }  # fmt: skip
    return noisy(
        run.but(tau=(run.tau - offset) / scale, parameters=run.parameters | parameters), rng
    )


def dropped(run, rng):
    """Every tenth state is lost, and 0.3 s."""
    rows = (rng.random(len(run.t)) > 0.1) & ~((run.t > 3.0) & (run.t < 3.3))
    return noisy(run, rng).rows(rows)


def jittered(run, rng):
    """Stamps that vary by 4 ms, as those of reception."""
    return noisy(run.but(t=run.t + 0.004 * rng.random(len(run.t))), rng)


def repeated(run, rng):
    """Some states are sent twice with the same stamp."""
    return noisy(run, rng).rows(
        np.repeat(np.arange(len(run.t)), 1 + (rng.random(len(run.t)) < 5e-3))
    )


def held(run, rng):
    """A driver of 25 Hz behind a publisher of 100 Hz, which repeats the numbers."""
    return noisy(run, rng).rows(np.arange(len(run.t)) // 4 * 4).but(t=run.t)


def without_efforts(run, rng):
    """Zeros for the joints that gravity loads least."""
    loads = np.abs(run.tau).max(axis=0)
    return run.but(tau=run.tau * (loads > max(0.5, 0.05 * loads.max())))


def wrapped(run, rng):
    """Positions of wheels between -pi and pi."""
    turns = (run.q + np.pi) % (2.0 * np.pi) - np.pi
    return run.but(q=np.where(np.abs(run.q).max(axis=0) > 2.0 * np.pi, turns, run.q))


SENSORS = (
    ideal, noisy, filtered, encoder(10), encoder(12), encoder(14), encoder(16), servo, backlash,
    friction, strong_friction, currents, dropped, jittered, repeated, held, without_efforts,
    wrapped,
)  # fmt: skip
MOTIONS = {'moving': {}, 'at rest': {'moves': 0.0}, 'slow': {'speed': 0.02}, 'fast': {'speed': 3.0}}
