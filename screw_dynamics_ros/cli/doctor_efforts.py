"""What the efforts of a robot at rest tell about its driver, and about the description."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.cli.section import Section
from screw_dynamics_ros.core.model.description import Finding

Array = NDArray[np.float64]

REST = 0.02  # rad/s, m/s
SMALL = 0.1  # of the largest torque of gravity: too little to conclude anything from
LEAST = 0.5  # N m, N: likewise
FRICTION = 0.3  # of the torque of gravity, that static friction and calibration may explain


def efforts_section(joints: Sequence[str], v: Array, measured: Array, model: Array) -> Section:
    """Compare the efforts of a robot at rest with the torques that hold it.

    Parameters
    ----------
    joints : sequence of str
        n joints.
    v, measured, model : (samples, n) arrays
        Velocities [rad/s, m/s], efforts as the driver reports them, torques of gravity and friction
        [N m, N].
    """
    section = Section('efforts at rest')
    still = np.abs(v).max(axis=1, initial=0.0) < REST
    if not still.any():
        section.lines.append('left out: the robot moves; hold it still to compare')
        return section
    measured, model = measured[still].mean(axis=0), model[still].mean(axis=0)
    section.table(('joint', 'reported', 'model [N m, N]'), [
        (name, f'{ours:.3f}', f'{theirs:.3f}')
        for name, ours, theirs in zip(joints, measured, model)])
    section.findings += effort_findings(joints, measured, model)
    return section


def effort_findings(joints: Sequence[str], measured: Array, model: Array) -> Iterator[Finding]:
    """Yield what is wrong with efforts (n,) where the model has torques (n,) that say something."""
    telling = np.abs(model) >= max(LEAST, SMALL * np.abs(model).max(initial=0.0))
    if not telling.any():
        yield Finding('info', 'efforts', 'gravity asks for too little torque here to judge them',
                      'stretch the arm out and run this again')
        return
    share = measured[telling] / model[telling]
    if (np.abs(share) < SMALL).all():
        yield Finding('warning', 'efforts', 'are near zero where gravity asks for up to '
                      f'{np.abs(model).max():.3g} N m or N',
                      'the driver has subtracted gravity, or reports no torques: external torques '
                      'cannot be estimated from them')
        return
    for joint, ratio in zip(compress(joints, telling), share):
        subject, message = f'joint {joint}', f'its effort is {ratio:.2f} times that of the model'
        if ratio < -FRICTION:
            yield Finding('warning', subject, message, 'another sign: set effort_scale')
        elif abs(ratio - 1.0) > FRICTION:
            yield Finding('warning', subject, message,
                          'a current or a gear ratio (effort_scale), an offset, a contact, or a '
                          'payload or link missing in the description')
