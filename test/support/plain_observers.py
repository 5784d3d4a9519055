# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""External torques, filters and flags of a robot, computed again from all states since a start."""

from dataclasses import dataclass, field

import numpy as np

SETTLED_AT_ONCE = ('static', 'kalman')
LENGTH, DAMPING = 0.2, 0.001  # defaults of the node [m]
THRESHOLD = 0.3  # so that the number of observable directions changes [m]
RISE, FALL = 0.01, 0.02  # s


@dataclass
class Step:
    """A state and the active parameters when it came; whether filters begin with it."""

    stamp: int
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    constant: float
    cutoff: float
    wrench_cutoff: float
    is_fresh: bool


@dataclass
class PlainObservers:
    """What the node has to publish.

    `steps` are the states since the last start, `interrupted` whether the times of flags restart
    with the next one that is used.
    """

    robot: object
    link: str
    observer: str = 'static'
    noise: tuple = (0.002, 0.2, 20.0)  # velocities, efforts, change
    thresholds: tuple = (3.0, 1.5)
    steps: list = field(default_factory=list)
    history: list = field(default_factory=list)
    is_raised: bool = False

    def torques(self):
        """Return the external torque of each step, None where it had not settled."""
        found = getattr(self, f'_{self.observer}')() if self.steps else []
        first = self.steps[0].stamp if self.steps else 0
        return [
            torque
            if self.observer in SETTLED_AT_ONCE
            or (self.observer == 'sliding' and step.stamp > first)
            or (self.observer != 'sliding' and step.stamp - first >= round(5e9 * step.constant))
            else None
            for torque, step in zip(found, self.steps)
        ]

    def known(self, step):
        """Return p and n = tau + C^T v - g - f."""
        robot, q, v = self.robot, step.q, step.v
        n = step.tau + robot.coriolis_matrix(q, v).T @ v - robot.gravity_torques(q)
        return robot.mass_matrix(q) @ v, n - robot.friction_torques(v)

    def _static(self):
        robot = self.robot
        return [
            robot.coriolis_torques(s.q, s.v)
            + robot.gravity_torques(s.q)
            + robot.friction_torques(s.v)
            - s.tau
            for s in self.steps
        ]

    def _filtered(self):
        a = y = np.zeros(2)
        rest, found = self._static(), []
        for k, step in enumerate(self.steps):
            if k:
                h = (step.stamp - self.steps[k - 1].stamp) * 1e-9
                e = np.exp(-h / step.constant)
                a = e * a + (1 - e) * (step.v - self.steps[k - 1].v) / h
                y = e * y + (1 - e) * 0.5 * (rest[k] + rest[k - 1])
            found.append(self.robot.mass_matrix(step.q) @ a + y)
        return found

    def _momentum(self):
        r, found, before = np.zeros(2), [], None
        for k, step in enumerate(self.steps):
            p, n = self.known(step)
            if k:
                h = (step.stamp - self.steps[k - 1].stamp) * 1e-9
                share = 1.0 - np.exp(-h / step.constant)
                r = r + share * ((p - before[0]) / h - 0.5 * (n + before[1]) - r)
            before = p, n
            found.append(r)
        return found

    def _sliding(self, L=1000.0):
        """The super-twisting algorithm at the ends of steps, its equation solved by bisection."""
        found, before, p_hat, sigma = [], None, None, np.zeros(2)
        for k, step in enumerate(self.steps):
            p, n = self.known(step)
            if k:
                h = (step.stamp - self.steps[k - 1].stamp) * 1e-9
                mean = 0.5 * (n + before[1])
                for i in range(2):
                    b = p_hat[i] + h * (mean[i] + sigma[i]) - p[i]
                    sign = np.sign(b) if k > 1 and abs(b) > 1.1 * L * h**2 else 0.0
                    e = (
                        sign
                        * bisected(
                            lambda e, b=b, h=h: (
                                e + h * np.sqrt(2.25 * L * e) + 1.1 * L * h**2 - abs(b)
                            ),
                            abs(b),
                        )
                        if sign
                        else 0.0
                    )
                    sigma[i] -= 1.1 * L * h * sign if sign else b / h
                    p_hat[i] = p[i] + e
            else:
                p_hat = p.copy()
            before = p, n
            found.append(sigma.copy())
        return found

    def _kalman(self):
        """The filter of the textbook on (p, d), with inverses."""
        velocity, effort, change = self.noise
        found, eye, before = [], np.eye(2), np.zeros(2)
        x, P = np.zeros(4), np.zeros((4, 4))
        H = np.hstack([eye, 0.0 * eye])
        for k, step in enumerate(self.steps):
            p, n = self.known(step)
            M = self.robot.mass_matrix(step.q)
            R = velocity**2 * M @ M.T
            if k:
                h = (step.stamp - self.steps[k - 1].stamp) * 1e-9
                F = np.block([[eye, h * eye], [0.0 * eye, eye]])
                walk = change**2 * np.block(
                    [[h**3 / 3 * eye, h**2 / 2 * eye], [h**2 / 2 * eye, h * eye]]
                )
                x = F @ x + np.concatenate([h * 0.5 * (n + before), np.zeros(2)])
                P = F @ P @ F.T + walk
                P[:2, :2] += (h * effort) ** 2 * eye
            else:
                x = np.concatenate([p, np.zeros(2)])
                P = np.block([[R, 0.0 * eye], [0.0 * eye, change**2 * eye]])
            K = P @ H.T @ np.linalg.inv(H @ P @ H.T + R)
            x, P = x + K @ (p - H @ x), P - K @ H @ P
            before = n
            found.append(x[2:])
        return found

    def filtered(self):
        """Return the torques behind the low-pass filter."""
        return low_pass(
            self.torques(),
            self.steps,
            [step.cutoff for step in self.steps],
            [step.is_fresh or not step.cutoff for step in self.steps],
        )

    def reduced(self):
        """Return the reduced wrench of each step, force first, None without one."""
        D = np.array([LENGTH] * 3 + [1.0] * 3)
        estimates, ranks = [], []
        for torque, step in zip(self.filtered(), self.steps):
            J = self.robot.jacobian(step.q, self.link, 'body')
            U, s, Vt = np.linalg.svd(D[:, None] * J, full_matrices=False)
            rank = int((s > THRESHOLD).sum())
            gains = s[:rank] / (s[:rank] ** 2 + DAMPING**2)
            ranks.append(rank if torque is not None else 0)
            w = None if not ranks[-1] else D * (U[:, :rank] @ (gains * (Vt[:rank] @ torque)))
            estimates.append(None if w is None else np.concatenate([w[3:], w[:3]]))
        starts = [
            k == 0 or ranks[k] != ranks[k - 1] or not self.steps[k - 1].wrench_cutoff
            for k in range(len(ranks))
        ]
        return low_pass(estimates, self.steps, [s.wrench_cutoff for s in self.steps], starts)

    def flag(self, torque, stamp):
        """Return the flag after the torque of a state that is used."""
        self.history.append((stamp, np.abs(torque)))
        upper = np.array(self.thresholds)
        above = [self._lasts(lambda x, i=i: x[i] > upper[i], RISE) for i in range(len(upper))]
        if any(above):
            self.is_raised = True
        elif self._lasts(lambda x: bool((x < 0.7 * upper).all()), FALL):
            self.is_raised = False
        return self.is_raised

    def _lasts(self, holds, duration):
        """Whether something holds in all of the last states of a stretch so long."""
        first = None
        for stamp, x in reversed(self.history):
            if not holds(x):
                break
            first = stamp
        return first is not None and self.history[-1][0] - first >= round(1e9 * duration)


def bisected(f, end):
    """Return where a function that rises from a negative value at 0 vanishes, before `end`."""
    low, high = 0.0, end
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if f(middle) < 0.0 else (low, middle)
    return low


def low_pass(signal, steps, cutoffs, starts):
    """Return a filter of first order for inputs linear from step to step; None stays None."""
    found, y = [], None
    for k, u in enumerate(signal):
        a = 2.0 * np.pi * cutoffs[k]
        if u is None or y is None or starts[k] or not a:
            y = u
        else:
            h = (steps[k].stamp - steps[k - 1].stamp) * 1e-9
            slope = (u - signal[k - 1]) / h
            # the particular solution u - slope / a, and what decays
            y = u - slope / a + np.exp(-a * h) * (y - signal[k - 1] + slope / a)
        found.append(y)
    return found
