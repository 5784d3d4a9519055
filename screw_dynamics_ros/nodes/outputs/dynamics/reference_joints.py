# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Check of references against the joints and limits of the running robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from screw_dynamics_ros.core import UnknownNameError
from screw_dynamics_ros.core.annotation.reference_torques import GIVEN
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.actuated import actuated
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.ros.messages.reference import Limits, check_limits
from screw_dynamics_ros.ros.names import shorten


@dataclass(frozen=True)
class ReferenceJoints:
    """The joints of a robot, and their limits.

    Attributes
    ----------
    names : tuple of str
        Joints with one coordinate.
    known : tuple of str
        All joints; those not among `names` are permitted and ignored.
    motors : tuple of str
        Joints that references may name; for a robot with loops, the joints with motors.
    limits : mapping
        Lower and upper position [rad, m] and largest speed [rad/s, m/s], by joint.
    """

    names: tuple[str, ...]
    known: tuple[str, ...]
    motors: tuple[str, ...]
    limits: Mapping[str, Limits]

    @classmethod
    def of(cls, model: RunningModel) -> ReferenceJoints:
        """Return the joints of a model."""
        robot = model.robot
        limits = (robot.limits.lower, robot.limits.upper, robot.limits.velocity)
        return cls(
            model.joints,
            tuple(joint.name for joint in robot.description.joints),
            actuated(robot).joint_names,
            dict(zip(robot.joint_names, zip(*(values.tolist() for values in limits)))),
        )

    def check(
        self,
        what: str,
        names: Sequence[str],
        rows: tuple[Array, Array | None, Array | None],
        measured: Array | None = None,
    ) -> None:
        """Refuse points beyond the limits; raises `ScrewDynamicsError` with the joint.

        Parameters as for `check_limits`. The limits include the `measured` positions (n,): a robot
        that is beyond a limit may move back, but not further.
        """
        limits = self.limits
        if measured is not None:
            limits = {
                name: (min(limits[name][0], q), max(limits[name][1], q), limits[name][2])
                for name, q in zip(self.names, measured.tolist())
            }
        check_limits(what, names, rows, limits)
        for name in names:
            if name not in self.motors:
                raise UnknownNameError(
                    f'joint {name!r} has no motor (loop_closures); references may name joints with '
                    f'motors: {shorten(self.motors, 30)}'
                )

    def check_reference(self, what: str, reference: Array, measured: Array | None = None) -> None:
        """Refuse a single point, (4, n), see `reference_torques.GIVEN`; see `check`."""
        places = np.flatnonzero(reference[GIVEN])
        named = [self.names[k] for k in places]
        q, v, a = reference[1:, None, places]
        self.check(what, named, (q, v, a), measured)
