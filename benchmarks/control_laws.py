# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Control laws in a simulated loop at 1 kHz, beside the same laws by hand with Pinocchio.

    PYTHONPATH=.:test .venv/bin/python benchmarks/control_laws.py [--print]

Measurements are noisy and late; the simulated robot is 10 % heavier than the model and has dry and
viscous friction that no law knows. The laws run with their default gains, the joint impedance with
smaller ones for the wrist. Writes the table of
doc/reference/control_laws.md (with --print: to the terminal only).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin

from screw_dynamics_ros.core import Drive, Robot
from screw_dynamics_ros.core.description import RobotDescription, read_urdf
from screw_dynamics_ros.core.description.urdf_writer import write_urdf
from screw_dynamics_ros.core.law import LAWS
from screw_dynamics_ros.core.motion.laws.library import PROJECTION_REGULARIZATION
from screw_dynamics_ros.core.simulation import ContactPoint, Plane, SimulatedRobot
from support.robots import urdf_path

PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'reference' / 'control_laws.md'
BEGIN, END = '<!-- table: closed_loop -->', '<!-- end of table -->'

#: Description, link, joints that are fixed, and where the arm is held.
ARMS = {
    'UR5': ('ur_description/urdf/ur5_robot', 'tool0', (), [0.3, -1.2, 1.4, -1.7, -1.5, 0.2]),
    'Panda': (
        'urdf/panda',
        'panda_hand_tcp',
        ('panda_finger_joint1', 'panda_finger_joint2'),
        [0.0, 0.2, 0.0, -1.9, 0.0, 2.1, 0.8],
    ),
}
STEP, DELAY, SECONDS = 1e-3, 2, 3.0  # s; states; s
POSITION_NOISE, VELOCITY_NOISE = 1e-5, 1e-3  # rad, rad/s
HEAVIER, VISCOUS, DRY = 1.1, 0.3, 0.3  # -, N m s/rad, N m
AMPLITUDE, RATE = 0.2, 2.0  # rad, rad/s of the motion
DEPTH = 0.02  # m into the plane
#: Gains of the joint impedance: of the joints that move the arm, and of the three of the wrist.
STIFFNESS, DAMPING = (400.0, 30.0), (30.0, 1.0)

Law = Callable[[np.ndarray, np.ndarray, dict[str, np.ndarray]], np.ndarray]


def main() -> None:
    """Run all of it and write what was found."""
    parser = argparse.ArgumentParser(description='Control laws in a simulated loop.')
    parser.add_argument('--print', action='store_true', help='do not write the page')
    options = parser.parse_args()
    table = '\n'.join(rows())
    if options.print:
        print(table)
        return
    head, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f'{head}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}')


def rows() -> list[str]:
    """Return the lines of the table."""
    lines = [
        '| robot | law | figure | recorded | by hand | time of the law | by hand |',
        '|---|---|---|---|---|---|---|',
    ]
    for name, (path, link, fixed, start) in ARMS.items():
        arm = Arm(path, link, fixed, np.array(start))
        for law, what, run, unit in (
            ('joint_impedance', 'sag of the link', arm.sag, 'mm'),
            ('computed_torque', 'tracking error, RMS', arm.tracking, 'mrad'),
            ('cartesian_impedance', 'contact force', arm.contact, 'N'),
        ):
            ours, by_hand = Timed(arm.recorded(law)), Timed(getattr(arm, law))
            figures = [run(each) for each in (ours, by_hand)]
            lines.append(
                f'| {name} | `{law}` | {what} | {figures[0]:.3g} {unit} | {figures[1]:.3g} {unit} '
                f'| {ours.median:.3g} µs | {by_hand.median:.3g} µs |'
            )
            print(lines[-1], file=sys.stderr)
    return lines


class Timed:
    """A law, with the times that it takes."""

    def __init__(self, law: Law) -> None:
        self._law = law
        self._times: list[float] = []

    def __call__(
        self, q: np.ndarray, v: np.ndarray, reference: dict[str, np.ndarray]
    ) -> np.ndarray:
        start = time.perf_counter()
        tau = self._law(q, v, reference)
        self._times.append(time.perf_counter() - start)
        return tau

    @property
    def median(self) -> float:
        """Median time [us]."""
        return 1e6 * float(np.median(self._times))


class Arm:
    """The model of an arm, and the arm that is simulated."""

    def __init__(self, path: str, link: str, fixed: tuple[str, ...], start: np.ndarray) -> None:
        description = without(read_urdf(urdf_path(path)), fixed)
        self.start, self.link = start, link
        self.robot = Robot(description)
        drives = dict.fromkeys(self.robot.joint_names, Drive(damping=VISCOUS, coulomb=DRY))
        self._real = Robot(heavier(description), drives=drives)
        self._model = pin.buildModelFromXML(write_urdf(description))
        self._data = self._model.createData()
        self._frame = self._model.getFrameId(link, pin.BODY)
        counts = len(start) - 3, 3
        self._K, self._D = (np.repeat(each, counts) for each in (STIFFNESS, DAMPING))

    # --- laws -------------------------------------------------------------------------------------

    def recorded(self, name: str) -> Law:
        """Return a law of the library."""
        law = LAWS[name].on(self.robot, **({'link': self.link} if 'cartesian' in name else {}))
        gains = {'stiffness': self._K, 'damping': self._D} if name == 'joint_impedance' else {}
        values = law.values_of(gains)
        kernel = self.robot.fuse(law.torques, parameters=law.sizes)
        (tau,) = (np.zeros(shape) for shape in kernel.shapes)
        packed = np.zeros(law.reference.size)

        def run(q: np.ndarray, v: np.ndarray, reference: dict[str, np.ndarray]) -> np.ndarray:
            for field, place in law.reference.places.items():
                part = reference[field].ravel()
                packed[place : place + len(part)] = part
            kernel.run(q, v, self.robot.gravity, packed, values, tau)
            return tau

        return run

    def joint_impedance(self, q: np.ndarray, v: np.ndarray, r: dict[str, np.ndarray]) -> np.ndarray:
        """Return K (q_d - q) + D (v_d - v) + g."""
        g = pin.computeGeneralizedGravity(self._model, self._data, q)
        return self._K * (r['q'] - q) + self._D * (r['v'] - v) + g

    def computed_torque(self, q: np.ndarray, v: np.ndarray, r: dict[str, np.ndarray]) -> np.ndarray:
        """Return the inverse dynamics of the corrected acceleration."""
        w = 20.0
        a = r['a'] + 2.0 * w * (r['v'] - v) + w * w * (r['q'] - q)
        return pin.rnea(self._model, self._data, q, v, a)

    def cartesian_impedance(
        self, q: np.ndarray, v: np.ndarray, r: dict[str, np.ndarray]
    ) -> np.ndarray:
        """Return J^T F and the posture in the null space, linear rows first."""
        model, data = self._model, self._data
        J = pin.computeFrameJacobian(model, data, q, self._frame, pin.LOCAL_WORLD_ALIGNED)
        h = pin.nonLinearEffects(model, data, q, v)
        M = pin.crba(model, data, q)
        M = np.triu(M) + np.triu(M, 1).T
        pose = data.oMf[self._frame]
        target, V = r['pose'], J @ v
        turn = 0.5 * np.cross(pose.rotation.T, target[:3, :3].T).sum(axis=0)
        force = 500.0 * (target[:3, 3] - pose.translation) - 50.0 * V[:3]
        F = np.concatenate([force, 30.0 * turn - 3.0 * V[3:]])
        posture = 10.0 * (r['q'] - q) - 2.0 * v
        spread = np.linalg.solve(M, J.T)
        A = J @ spread
        A += PROJECTION_REGULARIZATION * np.trace(A) * np.eye(6)
        return J.T @ F + posture - J.T @ np.linalg.solve(A, spread.T @ posture) + h

    # --- figures ----------------------------------------------------------------------------------

    def sag(self, law: Law) -> float:
        """Return how far the link is from where it is held [mm]."""
        reference = {'q': self.start, 'v': np.zeros(len(self.start))}
        simulated = self._simulated()
        self._run(simulated, law, lambda t: reference)
        wanted, found = (self.robot.link_pose(q, self.link) for q in (self.start, simulated.q))
        return 1e3 * float(np.linalg.norm(found[:3, 3] - wanted[:3, 3]))

    def tracking(self, law: Law) -> float:
        """Return the error of the joints in a periodic motion [mrad]."""
        errors: list[np.ndarray] = []
        simulated = self._simulated()

        def reference(t: float) -> dict[str, np.ndarray]:
            ones = AMPLITUDE * np.ones(len(self.start))
            errors.append(simulated.q - self.start - ones * (1.0 - np.cos(RATE * t)))
            return {
                'q': self.start + ones * (1.0 - np.cos(RATE * t)),
                'v': ones * RATE * np.sin(RATE * t),
                'a': ones * RATE**2 * np.cos(RATE * t),
            }

        self._run(simulated, law, reference)
        return 1e3 * float(np.sqrt(np.mean(np.square(errors))))

    def contact(self, law: Law) -> float:
        """Return the force on a plane, the target 2 cm below it [N]; the spring alone gives 10."""
        pose = self.robot.link_pose(self.start, self.link)
        plane = Plane(pose[:3, 3], [0.0, 0.0, 1.0], stiffness=2e4, damping=0.5)
        simulated = self._simulated(planes=[plane], contact_points=[ContactPoint(self.link)])
        target = pose.copy()
        target[2, 3] -= DEPTH
        reference = {'q': self.start, 'pose': target, 'twist': np.zeros(6)}
        self._run(simulated, law, lambda t: reference)
        return float(np.linalg.norm(simulated.contact_wrenches[self.link][3:]))

    def _simulated(self, **world: list[object]) -> SimulatedRobot:
        return SimulatedRobot(self._real, self.start, **world)  # type: ignore[arg-type]

    def _run(
        self,
        simulated: SimulatedRobot,
        law: Law,
        reference: Callable[[float], dict[str, np.ndarray]],
    ) -> None:
        """Simulate with late and noisy measurements."""
        rng = np.random.default_rng(5)
        under_way = deque([(simulated.q.copy(), simulated.v.copy())] * DELAY)
        for k in range(round(SECONDS / STEP)):
            noise = rng.normal(size=(2, len(self.start)))
            under_way.append(
                (simulated.q + POSITION_NOISE * noise[0], simulated.v + VELOCITY_NOISE * noise[1])
            )
            q, v = under_way.popleft()
            simulated.step(law(q, v, reference(k * STEP)), STEP)


def without(description: RobotDescription, fixed: tuple[str, ...]) -> RobotDescription:
    """Return a robot some of whose joints are fixed."""
    joints = [
        replace(joint, type='fixed', mimic=None) if joint.name in fixed else joint
        for joint in description.joints
    ]
    return replace(description, joints=tuple(joints))


def heavier(description: RobotDescription) -> RobotDescription:
    """Return a robot with larger masses and inertias."""
    links = []
    for link in description.links:
        inertia = link.inertia
        if inertia is not None:
            mass, matrix = HEAVIER * inertia.mass, HEAVIER * inertia.matrix
            inertia = replace(inertia, mass=mass, matrix=matrix)
        links.append(replace(link, inertia=inertia))
    return replace(description, links=tuple(links))


if __name__ == '__main__':
    main()
