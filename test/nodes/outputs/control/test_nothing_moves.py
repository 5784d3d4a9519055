# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Nothing moves without a command: random sequences with a simulated arm.

Laws of the library are enabled, replaced and disabled; references, poses, wrenches and losses come
in any order. While nothing is commanded the arm stays within 1 mrad of where it came to rest.
"""

import os

import numpy as np
import pytest
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from screw_dynamics_ros.ros.messages.trajectories import set_duration
from support.controlled import TOOL
from support.messages import pose_message, wrench_message
from support.moving_arm import LAW_NAMES, LAWS_OF_JOINTS, LAWS_WITH_LINK, PERIOD, MovingArm

SEQUENCES = int(os.environ.get('MOTION_SEQUENCES', '5'))
EVENT_COUNT = 12  # of a sequence
MAX_DISPLACEMENT = 1e-3  # rad
MAX_DISTANCE = 3e-3  # rad, of the joints from where the reference ended, at rest
REST_VELOCITY = 1e-6  # rad/s
REST_TIME, MAX_REST_TIME = 0.2, 60.0  # s
TIMEOUT = 0.5  # s, of references

START = np.array([0.3, -1.2, 1.1, -0.4, 0.8, 0.2])

#: Each law, those of joints more often: they follow references.
WEIGHTED_LAWS = LAW_NAMES + LAWS_OF_JOINTS

#: What happens, and how often relative to one another.
EVENTS = {
    'time': 1,
    'switch': 2,
    'hand': 1,
    'change': 3,
    'reference': 5,
    'pose': 3,
    'wrench': 2,
    'push': 1,
    'loss': 2,
    'silent_sensor': 1,
    'clocks': 2,
}


class Motion:
    """One sequence, and its model: where the arm rests, None while a command may move it."""

    def __init__(self, made, seed):
        self.made, self.rng, self.events = made, np.random.default_rng(seed), []
        made.sensed = 0.0
        self.on_loss = self.one_of(['hold', 'gravity', 'ramp_to_zero', 'stop'])
        made.set(enabled=False, on_loss=self.on_loss)
        made.change_law(self.one_of(WEIGHTED_LAWS))
        made.place(START)
        self.now = self.moves_until = self.still_for = 0.0
        self.rest, self.goal, self.is_pressed = None, None, False
        self.come_to_rest()
        self.made.set(enabled=bool(self.rng.random() < 0.8))

    def one_of(self, values):
        return values[self.rng.integers(len(values))]

    def run(self):
        weights = np.array([*EVENTS.values()]) / sum(EVENTS.values())
        for _ in range(EVENT_COUNT):
            event = str(self.rng.choice([*EVENTS], p=weights))
            if not self.is_enabled and self.rng.random() < 0.5:
                event = 'switch'
            self.events.append(f'{event} {self.made.law}')
            getattr(self, event)()
        self.made.sensed = 0.0
        self.come_to_rest()
        self.go_on(1.0)

    # --- time -----------------------------------------------------------------------------------

    def go_on(self, seconds, is_silent=False):
        for _ in range(round(seconds / PERIOD)):
            self.made.tick(is_silent)
            self.now += PERIOD
            self.look()

    def look(self):
        simulated = self.made.simulated
        if self.rest is not None:
            displacement = np.abs(simulated.q - self.rest).max()
            assert displacement <= MAX_DISPLACEMENT, (self.made.law, displacement)
            return
        is_still = np.abs(simulated.v).max() < REST_VELOCITY and self.now > self.moves_until
        self.still_for = self.still_for + PERIOD if is_still else 0.0
        if self.still_for > REST_TIME:
            self.rest, self.still_for = simulated.q.copy(), 0.0
            if self.goal is not None:
                distance = np.abs(simulated.q - self.goal)[np.isfinite(self.goal)].max()
                assert distance <= MAX_DISTANCE, (self.made.law, distance)
            self.goal = None

    def move(self, seconds=0.0):
        """Let a command move the arm for some time."""
        self.rest, self.still_for = None, 0.0
        self.moves_until = self.now + seconds

    def come_to_rest(self):
        end = self.now + MAX_REST_TIME
        while self.rest is None and not self.is_pressed:
            assert self.now < end, f'{self.made.law} does not come to rest'
            self.go_on(PERIOD)

    @property
    def is_enabled(self):
        return self.made.part.commands.torque.is_enabled

    # --- what happens ---------------------------------------------------------------------------

    def time(self):
        self.go_on(self.one_of([0.1, 1.0]))

    def switch(self):
        """Enable or disable: the brakes stop the arm."""
        if self.is_enabled:
            self.is_pressed, self.goal = False, None
            self.made.set(enabled=False)
            self.move()
        else:
            self.made.set(enabled=True)
        self.go_on(self.one_of([0.0, 0.02, 0.4]))

    def hand(self):
        """A person leads the arm, if nothing holds it."""
        simulated, count, offset = self.made.simulated, 50, self.offset()
        if not self.is_pressed:
            self.come_to_rest()
        if not (self.made.is_braked or self.made.law == 'gravity_compensation'):
            return
        start = simulated.q.copy()
        for k in range(count):
            self.move()
            simulated.q = start + (START + offset - start) * (k + 1) / count
            simulated.v = np.zeros(6)
            self.go_on(PERIOD)
        self.move()
        simulated.v = np.zeros(6)
        self.come_to_rest()

    def offset(self):
        return self.rng.choice([-0.3, -0.05, 0.0, 0.2], size=6)

    def change(self):
        """Replace the law."""
        self.come_to_rest()
        law = self.one_of(WEIGHTED_LAWS)
        if self.is_pressed and law != self.made.law:
            self.move()
            self.is_pressed = False
        self.made.change_law(law)
        self.go_on(0.2)

    def reference(self):
        """Send a point, or a trajectory, of some joints."""
        made, offset, duration = self.made, self.offset(), self.one_of([0.0, 0.3, 0.8])
        places = np.flatnonzero(self.rng.random(6) < 0.7)
        q = made.simulated.q
        message = JointTrajectory(joint_names=[made.joints[k] for k in places])
        points = [(q[places], 0.01)] * bool(duration)
        points.append(((START + offset)[places], duration))
        for positions, time in points:
            point = JointTrajectoryPoint(positions=positions.tolist())
            set_duration(point.time_from_start, time)
            message.points.append(point)
        made.part.reference.receive(message)
        if self.is_enabled:
            self.move(duration + TIMEOUT + 0.05)
            self.goal = None
            if made.law in LAWS_OF_JOINTS and len(places):
                self.goal = np.full(6, np.nan)
                self.goal[places] = points[-1][0]
        self.go_on(self.one_of([0.0, 0.2, 2.0]))

    def pose(self):
        """Send a pose of the link."""
        made = self.made
        target = made.robot.link_pose(START, TOOL)
        target[:3, 3] += self.rng.choice([-0.03, 0.0, 0.04], size=3)
        made.part._targets.receive_pose(pose_message(target))
        if self.is_enabled and made.law in LAWS_WITH_LINK:
            self.move()
        self.go_on(self.one_of([0.0, 0.2, 2.0]))

    def wrench(self):
        """Send a wrench of the link."""
        force = self.one_of([0.0, 5.0])
        self.made.part._targets.receive_wrench(wrench_message(force=[0.0, 0.0, force]))
        if self.is_enabled and self.made.law == 'pressing':
            self.is_pressed = bool(force)
            self.move()
        self.go_on(self.one_of([0.0, 0.2]))

    def push(self):
        """Push the wrist sensor."""
        if self.made.law != 'admittance':
            return
        self.move()
        self.made.sensed = self.one_of([-8.0, 8.0])
        self.go_on(0.3)
        self.made.sensed = 0.0
        self.move()
        self.come_to_rest()

    def loss(self):
        """No joint states come."""
        seconds = self.one_of([0.05, 0.2, 1.0])
        self.come_to_rest()
        if self.is_pressed:
            self.move()
            is_short = seconds < 0.08 or (self.on_loss in ('hold', 'gravity') and seconds < 0.5)
            self.is_pressed = self.is_pressed and is_short
        self.go_on(seconds, is_silent=True)
        self.go_on(0.2)

    def silent_sensor(self):
        self.come_to_rest()
        self.made.sensed = None
        self.go_on(self.one_of([0.05, 0.3, 1.0]))
        self.made.sensed = 0.0
        self.go_on(0.2)

    def clocks(self):
        """The clock of the machine is set."""
        self.come_to_rest()
        self.made.step_clocks(self.one_of([-100.0, -0.7, 0.3, 0.6, 50.0]))
        self.go_on(0.4)


@pytest.fixture
def made(monkeypatch, keep, tmp_path):
    return keep(MovingArm(monkeypatch, 'joint_impedance', tmp_path))


def test_nothing_moves_without_a_command(made):
    for seed in range(SEQUENCES):
        motion = Motion(made, seed)
        try:
            motion.run()
        except AssertionError as error:
            raise AssertionError(f'sequence {seed}: {", ".join(motion.events)}') from error
