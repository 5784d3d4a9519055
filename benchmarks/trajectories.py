# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Efforts of a trajectory with its report of limits, against Pinocchio's efforts; its retiming."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pinocchio as pin
from figures import Figure, compared
from robots_compared import NAMES, PANDA
from timing import loop, measure

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.motion.trajectory import retimed, sampled_motion, with_efforts
from support.robots import urdf_path

SAMPLES, REQUIRED = 10_000, 2.0  # ms
PATH, RETIMED = 1000, 10.0  # samples, ms


def figures(quick: bool) -> Iterator[Figure]:
    """Measure on all cores, a Panda with its fingers held."""
    path = urdf_path(PANDA)
    description = read_urdf(path)
    robot = Robot(
        replace(
            description,
            joints=tuple(
                replace(joint, type='fixed', mimic=None) if 'finger' in joint.name else joint
                for joint in description.joints
            ),
        )
    )
    whole = pin.buildModelFromUrdf(str(path))
    model = pin.buildReducedModel(whole, [8, 9], pin.neutral(whole))
    data = model.createData()
    assert list(model.names)[1:] == list(robot.joint_names)
    time = np.linspace(0.0, 10.0, SAMPLES)
    angle = time[:, None] * np.linspace(0.5, 1.5, robot.nv)
    q, v, a = np.sin(angle), np.cos(angle), -np.sin(angle)
    motion = sampled_motion(robot, time, q, v, a)
    threads = len(os.sched_getaffinity(0))
    times = measure(
        {
            'ours': loop(
                'with_efforts(robot, motion)', with_efforts=with_efforts, robot=robot, motion=motion
            ),
            'loop in Python': loop(
                '[pin.rnea(model, data, q[i], v[i], a[i]) for i in rows]',
                pin=pin,
                model=model,
                data=data,
                q=q,
                v=v,
                a=a,
                rows=range(SAMPLES),
            ),
            'Pinocchio ...InParallel': loop(
                'pin.rneaInParallel(threads, pool, qt, vt, at, out)',
                pin=pin,
                threads=threads,
                pool=pin.ModelPool(model, threads),
                qt=np.asfortranarray(q.T),
                vt=np.asfortranarray(v.T),
                at=np.asfortranarray(a.T),
                out=np.asfortranarray(np.zeros_like(q.T)),
            ),
        },
        repeats=7 if quick else 25,
    )
    for figure in compared(
        'Trajectories',
        f'{NAMES[PANDA]}, {robot.nv} dof',
        f'efforts and limits, {SAMPLES} samples, {threads} cores',
        times,
        scale=1e3,
        unit='ms',
        note='Pinocchio: efforts only',
    ):
        yield replace(figure, required=REQUIRED, meaning='ours at most')
    yield retiming(robot, quick)


def retiming(robot: Robot, quick: bool) -> Figure:
    """Measure how long it takes to slow a path down to its efforts, with every limit in play."""
    time = np.linspace(0.0, 1.0, PATH)
    s = time**3 * (10.0 - 15.0 * time + 6.0 * time**2)
    lower, upper = robot.limits.lower, robot.limits.upper
    q = lower + (0.1 + 0.8 * s[:, None]) * (upper - lower)
    path = sampled_motion(robot, time, q)
    assert retimed(robot, path, most=np.inf).feasible
    name = f'time-optimal motion, {PATH} samples'
    times = measure(
        {
            'ours': loop(
                'retimed(robot, path, most=inf)',
                retimed=retimed,
                robot=robot,
                path=path,
                inf=np.inf,
            )
        },
        repeats=7 if quick else 25,
    )
    return Figure(
        'Trajectories',
        f'{NAMES[PANDA]}, {robot.nv} dof',
        name,
        1e3 * times['ours'].median,
        1e3 * times['ours'].p99,
        unit='ms',
        required=RETIMED,
        meaning='ours at most',
    )
