"""Node `wrench_estimator`: what pushes the robot, from its joint efforts."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.estimation import (
    contact_wrench,
    external_torques,
    observability_pivots,
    smallest_singular_value,
)
from screw_dynamics_ros.core.functions import Output
from screw_dynamics_ros.core.fused import Formula
from screw_dynamics_ros.nodes import frames, markers, reports, wrench_markers
from screw_dynamics_ros.nodes.frames import Frames
from screw_dynamics_ros.nodes.host import ModelHost
from screw_dynamics_ros.nodes.main import run
from screw_dynamics_ros.nodes.markers import MarkerTopic
from screw_dynamics_ros.nodes.model import Model, joints_that_move, of_joints, scalar_joints
from screw_dynamics_ros.nodes.part import Channel, Plan
from screw_dynamics_ros.ros import messages
from screw_dynamics_ros.ros.conversions import swap_linear_angular
from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.joint_states import JointStateMapper
from screw_dynamics_ros.ros.parameters import Parameters, Specification
from screw_dynamics_ros.ros.publishers import Publishers

Array = NDArray[np.float64]

TABLE = (
    frames.specification('the wrench of a contact there'),
    Specification(
        'damping', 0.001,
        'Damping of the least squares [m]: a direction with singular value s is estimated short by '
        's^2 / (s^2 + damping^2).', minimum=0.0),
    Specification(
        'characteristic_length', 0.2,
        'Lever arm at which a moment counts as much as a force [m]; scales the rotational rows of '
        'the Jacobian before its singular values are taken.', minimum=1e-6),
    Specification(
        'singularity_threshold', 0.02,
        'Smallest singular value of the scaled Jacobian [m] at which a wrench is published.',
        minimum=0.0),
    Specification(
        'tare_samples', 100,
        'Number of latest joint states whose mean external torque ~/tare takes as zero.', minimum=1,
        maximum=100_000),
    *markers.TABLE,
    *wrench_markers.TABLE,
)


#: Parameters that topics and markers are made of.
DRAWN = {'frames', *(each.name for each in (*markers.TABLE, *wrench_markers.TABLE))}


@dataclass(frozen=True)
class Contact:
    """The outputs for a contact at one link.

    Attributes
    ----------
    jacobian : output or Formula
        Body Jacobian, columns of joints with one coordinate.
    wrench, pivots : Formula
        Force and moment in the frame; numbers that are all positive if they can be told.
    joints : int
        How many of these joints move the link.
    """

    jacobian: Output | Formula
    wrench: Formula
    pivots: Formula
    joints: int


class WrenchEstimator:
    """`~/external_torque`, `~/wrench/<frame>`, `~/markers`, `~/tare` and `~/reset`.

    Torques and wrenches are those of the environment on the robot. A wrench is at the origin of its
    frame and resolved in it, and assumes that all external torque comes from a contact there.
    """

    _model: Model  # as long as there are frames

    def __init__(self, node: Node, host: ModelHost) -> None:
        self._host = host
        self._publishers = Publishers(node)
        self._channels: list[Channel] = []
        self._markers = MarkerTopic(self._publishers)
        self._frames: Frames | None = None
        self._contacts: dict[str, Contact] = {}
        self._states: deque[Array] = deque()  # the latest ones, (3, n) each, for taring
        self._offset, self._is_tared = np.zeros(0), False
        self._options = np.zeros(3)  # damping, characteristic length, threshold
        self._parameters = Parameters(node, TABLE, self._check, self._apply)
        self._apply({})
        node.create_service(Trigger, '~/tare', self._on_tare)
        node.create_service(Trigger, '~/reset', self._on_reset)
        host.observe(self._observe)

    def plan(self, robot: Robot) -> Plan:
        """Choose the frames."""
        chosen = Frames.choose(self._parameters['frames'], robot)
        offset = np.zeros(len(scalar_joints(robot)))
        contacts = {link: contact(robot, link) for link in chosen.tokens}
        return Plan(
            [external_torque(robot), *(c.jacobian for c in contacts.values())],
            [output for c in contacts.values() for output in (c.wrench, c.pivots)],
            {'offset': offset, 'contact': self._options,
             'friction_share': self._host.friction_share}, (chosen, contacts, offset))

    def bind(self, model: Model, plan: Plan) -> list[Channel]:
        """Take over a new model; another robot starts without tare."""
        is_new = self._frames is None or model.mapper is not self._model.mapper
        before, self._model = self._offset, model
        self._frames, self._contacts, self._offset = plan.details
        if is_new:
            self._is_tared = False
            self._states.clear()
        else:
            self._offset[:] = before
        self._channels = []
        if model.results:
            prefix, get = self._host.parameters['frame_prefix'], self._publishers.get
            template = messages.joint_efforts(model.joints)
            self._channels = [Channel(
                get(JointState, '~/external_torque'), template,
                {external_torque(model.robot): template.array(0)}, velocity=True, effort=True)]
            for link, contact in self._contacts.items():
                template = messages.wrench(prefix + link)
                self._channels.append(Channel(
                    get(WrenchStamped, f'~/wrench/{self._frames.tokens[link]}'), template,
                    {contact.wrench: template.array(0)}, velocity=True, effort=True,
                    is_valid=partial(is_observable, contact, model.results[contact.pivots])))
            self._channels += self._markers.bind([
                wrench_markers.wrench(
                    prefix + link, self._parameters,
                    partial(model.results.__getitem__, contact.wrench),
                    partial(self._is_known, contact))
                for link, contact in self._contacts.items()], self._parameters['marker_rate'])
        self._publishers.retire()
        return self._channels

    def status(self) -> Status:
        """Report the outputs, the tare, and frames too near to a singularity."""
        status = Status('outputs')
        if self._frames is None:
            return status
        self._frames.report(status)
        for link, contact in self._contacts.items() if self._is_heard() else ():
            value = smallest_singular_value(
                self._model.results[contact.jacobian], self._parameters['characteristic_length'])
            status.values[f'{link} smallest singular value [m]'] = f'{value:.6f}'
            if not is_observable(contact, self._model.results[contact.pivots]):
                status.report(Level.WARN, f'no wrench at {link}: ' + self._explain(contact, value))
        status.values['tared'] = 'yes' if self._is_tared else 'no'
        reports.report_channels(status, self._channels, self._host)
        return status

    def _is_known(self, contact: Contact) -> bool:
        """Whether the present wrench of a contact may be shown."""
        mapper = self._model.mapper
        return (mapper.has_velocity and mapper.has_effort
                and is_observable(contact, self._model.results[contact.pivots]))

    def _is_heard(self) -> bool:
        """Whether there are present results."""
        return self._model.mapper.accepted > 0 and any(c.listened for c in self._channels)

    def _explain(self, contact: Contact, value: float) -> str:
        if contact.joints < 6:
            return (f'it is moved by {contact.joints} joints, and the six components of a wrench '
                    'need six')
        return (f'near a singularity, smallest singular value {value:.4f} m is not above '
                f'singularity_threshold {self._parameters["singularity_threshold"]:.4f} m')

    # --- tare -----------------------------------------------------------------------------------

    def _observe(self, mapper: JointStateMapper) -> None:
        """Keep a state that has velocities and efforts."""
        if mapper.restarted:
            self._states.clear()
        if mapper.has_velocity and mapper.has_effort:
            self._states.append(mapper.state.copy())

    def _on_tare(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        states = self._states
        if self._frames is None or not states:
            response.success, response.message = False, (
                'no joint states with velocity and effort so far; see /diagnostics')
            return response
        output, untared = external_torque(self._model.robot), np.zeros_like(self._offset)
        self._offset[:] = np.mean([
            self._model.results_at(q, v, measured=tau, offset=untared)[output]
            for q, v, tau in states], axis=0)
        self._is_tared = True
        names = zip(self._model.joints, self._offset)
        response.success, response.message = True, (
            f'offset of {len(states)} states: '
            + ', '.join(f'{name} {torque:.4g}' for name, torque in names))
        return response

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self._frames is not None:
            self._offset[:] = 0.0
        self._is_tared = False
        self._states.clear()
        response.success, response.message = True, 'no offset'
        return response

    # --- parameters -----------------------------------------------------------------------------

    def _check(self, values: dict[str, Any]) -> None:
        frames.check(values, self._host.model.robot if self._host.model else None)

    def _apply(self, values: dict[str, Any]) -> None:
        self._options[:] = [self._parameters[name] for name in (
            'damping', 'characteristic_length', 'singularity_threshold')]
        if values.keys() & DRAWN:
            self._host.reload()
        self._states = deque(self._states, self._parameters['tare_samples'])


def external_torque(robot: Robot) -> Formula:
    """Return the external torques of the joints with one coordinate."""
    gravity, coriolis, friction = (
        of_joints(robot, f'{name}_torques') for name in ('gravity', 'coriolis', 'friction'))
    counted = Formula('friction in effort', (friction, 'friction_share'),
                      lambda torques, share: share[0] * torques)
    return Formula('external torques', (gravity, coriolis, counted, 'measured', 'offset'),
                   external_torques)


def contact(robot: Robot, link: str) -> Contact:
    """Return what has to be computed for a contact at a link."""
    jacobian = of_joints(robot, ('jacobian', link, 'body'))
    return Contact(
        jacobian,
        Formula('contact wrench', (jacobian, external_torque(robot), 'contact'),
                lambda J, torques, options: swap_linear_angular(
                    contact_wrench(J, torques, options[0], options[1]))),
        Formula('observability pivots', (jacobian, 'contact'),
                lambda J, options: observability_pivots(J, options[2], options[1])),
        len(joints_that_move(robot, link)))


def is_observable(contact: Contact, pivots: Array) -> bool:
    """Whether the six components of the wrench can be told in the state of the pivots."""
    return contact.joints >= 6 and all(pivot > 0.0 for pivot in pivots.tolist())


def main() -> None:
    """Run the node."""
    run('wrench_estimator', [WrenchEstimator])


if __name__ == '__main__':
    main()
