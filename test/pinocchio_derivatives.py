"""Pinocchio's derivatives in our coordinates. As a script: every robot of example-robot-data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
from models import random_configuration
from pinocchio_oracle import Pinocchio

from screw_dynamics_ros.core import InertiaError, Robot


def compare_derivatives(path: Path, robot: Robot, tolerance: float, seed: int = 0) -> float:
    """Assert agreement at a random state; return the largest error relative to the norm.

    With mimic joints Pinocchio differentiates with respect to all joints, v_pin = G v: the chain
    rule leads to ours, G being constant (no planar joints).
    """
    oracle = Pinocchio(path.read_text(encoding='utf-8'), robot)
    model, data = oracle.model, oracle.data
    rng = np.random.default_rng(seed)
    q = random_configuration(robot, rng)
    v, a = rng.uniform(-1.0, 1.0, (2, robot.nv))
    G = oracle.G(q)
    theirs = pin.computeRNEADerivatives(model, data, oracle.q(q), G @ v, G @ a)
    dq, dv, M = (G.T @ np.array(D) @ G for D in theirs)
    M = np.triu(M) + np.triu(M, 1).T if model.nv == robot.nv else robot.mass_matrix(q)
    pairs = list(zip(robot.inverse_dynamics_derivatives(q, v, a), (dq, dv, M), strict=True))
    tau = robot.inverse_dynamics(q, v, a)
    try:
        ours = robot.forward_dynamics_derivatives(q, v, tau)
    except InertiaError:
        ours = ()
    if ours and model.nv == robot.nv:
        theirs = pin.computeABADerivatives(model, data, oracle.q(q), G @ v, G @ tau)
        pairs += list(zip(ours, (np.linalg.solve(G, np.array(D)) @ G for D in theirs[:2])))
        pin.computeMinverse(model, data, oracle.q(q))
        upper = np.triu(data.Minv)
        Minv = G.T @ (upper + np.triu(upper, 1).T) @ G
        pairs += [(ours[2], Minv), (robot.inverse_mass_matrix(q), Minv)]
    elif ours:
        pairs += list(zip(ours, (-np.linalg.solve(M, dq), -np.linalg.solve(M, dv))))
    errors = [np.linalg.norm(x - y) / max(np.linalg.norm(y), 1e-3) for x, y in pairs]
    assert max(errors) <= tolerance, errors
    return max(errors)


if __name__ == '__main__':
    from robots import example_robots, robot_id

    for path in example_robots():
        for floating in (False, True):
            robot = Robot.from_urdf(path, floating_base=floating, backend='reference')
            if robot.nv:
                error = compare_derivatives(path, robot, np.inf)
                print(f'{error:9.1e}  {robot.nv:3d} dof  {robot_id(path)}', flush=True)
