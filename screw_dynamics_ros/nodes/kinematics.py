"""Node `kinematics`: frames, Jacobians and twists of a robot."""

from __future__ import annotations

from typing import Any

from geometry_msgs.msg import TwistStamped
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.fused import Formula
from screw_dynamics_ros.nodes import frames, reports
from screw_dynamics_ros.nodes.frames import Frames
from screw_dynamics_ros.nodes.host import ModelHost
from screw_dynamics_ros.nodes.kinematics_services import KinematicsServices
from screw_dynamics_ros.nodes.main import run
from screw_dynamics_ros.nodes.model import Model, velocity_labels
from screw_dynamics_ros.nodes.part import Channel, Plan
from screw_dynamics_ros.nodes.transforms import TransformPublisher
from screw_dynamics_ros.ros import messages
from screw_dynamics_ros.ros.conversions import TWIST_ROWS, swap_linear_angular
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.parameters import Parameters, Specification
from screw_dynamics_ros.ros.publishers import Publishers

TABLE = (
    frames.specification('the Jacobian and the twist'),
    Specification(
        'publish_tf', True,
        'Publish /tf and /tf_static. They are left to a robot_state_publisher in the same '
        'namespace while there is one.'),
)


class Kinematics:
    """`/tf`, `/tf_static`, `~/jacobian/<frame>` and `~/twist/<frame>`.

    Jacobian and twist are in hybrid representation: linear velocity of the frame origin and angular
    velocity, both resolved in the root frame.
    """

    def __init__(self, node: Node, host: ModelHost) -> None:
        self._host = host
        self._publishers = Publishers(node)
        self._frames: Frames | None = None
        self._channels: list[Channel] = []
        self._parameters = Parameters(node, TABLE, self._check, self._apply)
        self._transforms = TransformPublisher(
            node, host.parameters['frame_prefix'], self._parameters['publish_tf'])
        KinematicsServices(host).register(node)

    def plan(self, robot: Robot) -> Plan:
        """Choose the frames."""
        chosen = Frames.choose(self._parameters['frames'], robot)
        transforms = self._transforms.outputs(robot)
        return Plan(
            [*transforms, *(in_ros_order(what, link) for link in chosen.tokens
                            for what in ('jacobian', 'velocity'))],
            details=(chosen, transforms))

    def bind(self, model: Model, plan: Plan) -> list[Channel]:
        """Take over a new model."""
        self._frames, transforms = plan.details
        self._channels = self._transforms.bind(model, transforms)
        root = self._host.parameters['frame_prefix'] + model.robot.description.root
        columns = velocity_labels(model.robot)
        for link, token in self._frames.tokens.items() if model.results else ():
            jacobian, twist = messages.matrix(TWIST_ROWS, columns), messages.twist(root)
            self._channels += [
                Channel(self._publishers.get(Float64MultiArray, f'~/jacobian/{token}'), jacobian,
                        {in_ros_order('jacobian', link): jacobian.array(0, 6 * len(columns))}),
                Channel(self._publishers.get(TwistStamped, f'~/twist/{token}'), twist,
                        {in_ros_order('velocity', link): twist.array(0, 6)}, velocity=True)]
        self._publishers.retire()
        return self._channels

    def prepare(self) -> None:
        """Nothing is shared between the channels."""

    def status(self) -> Status:
        """Report the outputs."""
        status = Status('outputs')
        if self._frames is not None:
            self._frames.report(status)
            self._transforms.report(status)
            reports.report_channels(status, self._channels, self._host)
        return status

    def _check(self, values: dict[str, Any]) -> None:
        frames.check(values, self._host.model.robot if self._host.model else None)

    def _apply(self, values: dict[str, Any]) -> None:
        if 'publish_tf' in values:
            self._transforms.want(values['publish_tf'])
        self._host.reload()


def in_ros_order(what: str, link: str) -> Formula:
    """Return the hybrid 'jacobian' or 'velocity' of a link, linear part first."""
    return Formula('linear first', ((what, link, 'hybrid'),), swap_linear_angular)


def main() -> None:
    """Run the node."""
    run('kinematics', [Kinematics])


if __name__ == '__main__':
    main()
