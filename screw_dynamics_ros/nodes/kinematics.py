"""Node `kinematics`: frames, Jacobians and twists of a robot."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import TwistStamped
from numpy.typing import NDArray
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.functions import Output
from screw_dynamics_ros.nodes import frames, reports
from screw_dynamics_ros.nodes.frames import Frames
from screw_dynamics_ros.nodes.host import ModelHost
from screw_dynamics_ros.nodes.main import run
from screw_dynamics_ros.nodes.model import Model
from screw_dynamics_ros.nodes.part import Channel
from screw_dynamics_ros.nodes.transforms import TransformPublisher
from screw_dynamics_ros.ros import messages
from screw_dynamics_ros.ros.conversions import TWIST_ROWS, swap_linear_angular
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.parameters import Parameters, Specification
from screw_dynamics_ros.ros.publishers import Publishers
from screw_dynamics_ros.ros.serialized import Template

TABLE = (
    frames.specification('the Jacobian and the twist'),
    Specification(
        'publish_tf', True,
        'Publish /tf and /tf_static. They are left to a robot_state_publisher in the same '
        'namespace while there is one.'),
)


@dataclass(frozen=True)
class KinematicsPlan:
    """The chosen frames and what has to be computed for them."""

    frames: Frames

    @property
    def outputs(self) -> list[Output]:
        """As for `Robot.fuse`."""
        return ['joint_transforms',
                *(('jacobian', link, 'hybrid') for link in self.frames.tokens),
                *(('velocity', link, 'hybrid') for link in self.frames.tokens)]


class Kinematics:
    """`/tf`, `/tf_static`, `~/jacobian/<frame>` and `~/twist/<frame>`.

    Jacobian and twist are in hybrid representation: linear velocity of the frame origin and angular
    velocity, both resolved in the root frame.
    """

    def __init__(self, node: Node, host: ModelHost) -> None:
        self._host = host
        self._publishers = Publishers(node)
        self._plan: KinematicsPlan | None = None
        self._channels: list[Channel] = []
        self._parameters = Parameters(node, TABLE, self._check, self._apply)
        self._transforms = TransformPublisher(
            node, host.parameters['frame_prefix'], self._parameters['publish_tf'])

    def plan(self, robot: Robot) -> KinematicsPlan:
        """Choose the frames."""
        return KinematicsPlan(Frames.choose(self._parameters['frames'], robot))

    def bind(self, model: Model, plan: KinematicsPlan) -> list[Channel]:
        """Take over a new model."""
        self._plan = plan
        self._channels = self._transforms.bind(model)
        root = self._host.parameters['frame_prefix'] + model.robot.description.root
        for link, token in plan.frames.tokens.items() if model.results else ():
            jacobian = messages.matrix(TWIST_ROWS, model.velocity_labels)
            self._channels += [
                Channel(self._publishers.get(Float64MultiArray, f'~/jacobian/{token}'),
                        partial(encode, model.results['jacobian', link, 'hybrid'], jacobian)),
                Channel(self._publishers.get(TwistStamped, f'~/twist/{token}'),
                        partial(encode, model.results['velocity', link, 'hybrid'],
                                messages.twist(root)), velocity=True)]
        self._publishers.retire()
        return self._channels

    def prepare(self) -> None:
        """Nothing is shared between the channels."""

    def status(self) -> Status:
        """Report the outputs."""
        status = Status('outputs')
        if self._plan is not None:
            self._plan.frames.report(status)
            self._transforms.report(status)
            reports.report_channels(status, self._channels, self._host)
        return status

    def _check(self, values: dict[str, Any]) -> None:
        frames.check(values, self._host.model.robot if self._host.model else None)

    def _apply(self, values: dict[str, Any]) -> None:
        if 'publish_tf' in values:
            self._transforms.want(values['publish_tf'])
        if 'frames' in values:
            self._host.reload()


def encode(values: NDArray[np.float64], template: Template, stamp: tuple[int, int]) -> bytes:
    """Return the message of a twist or Jacobian."""
    return template.fill(swap_linear_angular(values), stamp)


def main() -> None:
    """Run the node."""
    run('kinematics', [Kinematics])


if __name__ == '__main__':
    main()
