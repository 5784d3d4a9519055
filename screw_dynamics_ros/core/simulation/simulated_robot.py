"""The motion of a robot between its joint limits, in steps."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from screw_dynamics_ros.core.arguments import check_number, vector
from screw_dynamics_ros.core.errors import ArgumentError, InertiaError, UnknownNameError
from screw_dynamics_ros.core.integration import (
    Integrator,
    MomentumPreserving,
    RungeKutta,
    SemiImplicitEuler,
)
from screw_dynamics_ros.core.robot.robot import Robot
from screw_dynamics_ros.core.simulation.stepping import Stepping
from screw_dynamics_ros.core.tree.joint_limits import of_coordinates
from screw_dynamics_ros.core.types import Array

#: Integrators by their names; momentum is preserved only on floating bases.
INTEGRATORS: dict[str, type[Integrator]] = {
    'runge_kutta': RungeKutta,
    'semi_implicit': SemiImplicitEuler,
    'momentum_preserving': MomentumPreserving,
}


class SimulatedRobot:
    """The state of a robot that moves by M a + C v + g = tau + sum J^T w + E lambda.

    E lambda are the forces of the stops: joints of one freedom do not leave their limits. A stop
    pushes and never pulls, and is rigid and inelastic: a joint that runs into it stays there until
    something drives it away, and by way of the mass matrix the impulse changes the velocities of
    all joints; the equations are in `simulation.stops`. Continuous joints, free bodies and floating
    bases have no stops, and mimic joints those of the joint they follow. A joint that was put
    beyond a limit may come back and goes no further.

    Friction acts if the robot was made with `drives`.

    Parameters
    ----------
    robot : Robot
        Fixed or floating base, any joints.
    q : (nq,) array, optional
        Where it starts, at rest [rad, m]; `middle_of_range` if not given.
    integrator : str
        One of `INTEGRATORS`.

    Attributes
    ----------
    q, v : (nq,) and (nv,) arrays
        Configuration and velocity; may be set.
    stop_torques : (nv,) array
        E lambda, impacts included: what the stops gave in the last step, the mean over its time
        [N m, N].

    Raises
    ------
    ArgumentError
        If nothing of the robot moves, or the integrator does not fit its base.
    UnknownNameError
        If there is no such integrator.
    InertiaError
        If a joint moves no mass, so that its acceleration is not defined.
    """

    def __init__(
        self, robot: Robot, q: Array | None = None, integrator: str = 'runge_kutta'
    ) -> None:
        if not robot.nv:
            raise ArgumentError(
                f'robot {robot.description.name!r} cannot be simulated: it has no movable joint'
            )
        if integrator not in INTEGRATORS:
            raise UnknownNameError(
                f'no integrator named {integrator!r}; choose one of {", ".join(INTEGRATORS)}'
            )
        self.robot = robot
        self.q = middle_of_range(robot) if q is None else vector('q', robot.nq, q).copy()
        self.v = np.zeros(robot.nv)
        self.stop_torques = np.zeros(robot.nv)
        self.stepping = Stepping(robot, INTEGRATORS[integrator](robot))
        weightless = immovable(robot, robot.mass_matrix(self.q))
        if weightless:
            raise InertiaError(
                f'{weightless} moves no mass (or only a point or a line of it) and '
                'cannot be simulated; give its link an <inertial>'
            )

    def step(self, tau: Array, dt: float, wrenches: Mapping[str, Array] | None = None) -> None:
        """Move on by `dt` [s].

        One step of the integrator as a rule; it is divided where the motion is too fast for it
        (`simulation.stepping`) and at the times of impacts.

        Parameters
        ----------
        tau : (nv,) array
            Motor torques [N m, N], constant meanwhile.
        dt : float
        wrenches : mapping, optional
            Link name to the wrench (moment, force) of the environment on it, (6,) [N m, N], at the
            origin of its frame and resolved in it; their joint torques are constant meanwhile.

        Raises
        ------
        DivergenceError
            If the shortest steps do not follow the motion either; the state stays as it was.
        """
        check_number('dt', dt)
        total = vector('tau', self.robot.nv, tau)
        for link, wrench in (wrenches or {}).items():
            total = total + self.robot.jacobian(self.q, link, 'body').T @ vector(
                f'the wrench on {link!r}', 6, wrench
            )
        self.q, self.v, impulses = self.stepping.moved(self.q, self.v, total, dt)
        self.stop_torques = np.zeros(len(total)) if impulses is None else impulses / (dt or 1.0)


def immovable(robot: Robot, M: Array) -> str:
    """Return the first joint, or floating base, with a direction that no inertia resists, or ''."""
    places = {f'joint {name!r}': robot.joint_coordinates(name)[1] for name in robot.joint_names}
    if robot.nv > sum(v.stop - v.start for v in places.values()):
        places = {f'the floating base {robot.link_names[0]!r}': slice(0, 6), **places}
    for name, v in places.items():
        resisted = np.diag(M)[v]
        if not (resisted > 0.0).all():
            return name
        scaled = M[v, v] / np.sqrt(np.outer(resisted, resisted))
        if np.linalg.eigvalsh(scaled)[0] < 1e-12:
            return name
    return ''


def middle_of_range(robot: Robot) -> Array:
    """Return the configuration (nq,) in the middle of the joint limits, 0 where there are none.

    Free bodies stand at the origin, not turned.
    """
    lower, upper = (
        of_coordinates(robot, limit, np.inf) for limit in (robot.limits.lower, robot.limits.upper)
    )
    limited = np.isfinite(lower) & np.isfinite(upper)
    middle = robot.neutral()
    middle[limited] = (lower[limited] + upper[limited]) / 2
    return middle
