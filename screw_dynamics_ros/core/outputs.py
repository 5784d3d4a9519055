# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The outputs of a robot model, one row each: topics, parts of model states, recordings, C code.

Nodes, `~/model_state`, `annotate`, `compile --output`, the view and the pages of topics read it. A
new output of `dynamics` that is a function of the state is one row, with a formula of
`core.formulas`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from .arms.inverse.manipulability import MEASURES
from .errors import ArgumentError
from .formulas import CENTER_OF_MASS, CENTER_TWIST, ENERGY, base_tilt, base_wrench, inertial_torques
from .lie.screws import TWIST_ROWS, WRENCH_ROWS
from .robot.actuated_robot import Source
from .robot.robot import Robot

#: Placeholders of labels: joints with one coordinate, independent velocities, links.
JOINTS, VELOCITIES, LINKS = 'joints', 'velocities', 'links'

#: Frames: of the root link, and of the link of an output.
ROOT, LINK = 'root', 'link'

#: Units: 'a | b' of revolute | prismatic joints, 'a, b' of the two halves of rows.
TORQUE, WRENCH = 'N m | N', 'N, N m'

VALIDITY_LABELS = (
    *(f'share_{row}' for row in WRENCH_ROWS),
    *(f'singular_value_{k}' for k in range(1, 7)),
    'rank',
    'condition_number',
    'near_singular',
    *(f'model_deviation_{row}' for row in WRENCH_ROWS),
)
MOMENTUM_ROWS = ('px', 'py', 'pz', 'lx', 'ly', 'lz')
POSE_ROWS = ('x', 'y', 'z', 'qx', 'qy', 'qz', 'qw')

Labels = tuple[str | tuple[str, ...], ...]

#: Forms of messages: type, and labels if the form determines them.
FORMS: dict[str, tuple[str, Labels]] = {
    'joint_efforts': ('sensor_msgs/JointState', (JOINTS,)),
    'matrix': ('std_msgs/Float64MultiArray', ()),
    'twist': ('geometry_msgs/TwistStamped', (TWIST_ROWS,)),
    'wrench': ('geometry_msgs/WrenchStamped', (WRENCH_ROWS,)),
    'transforms': ('tf2_msgs/TFMessage', (LINKS, POSE_ROWS)),
    'flag': ('std_msgs/Bool', (('raised',),)),
}


@dataclass(frozen=True)
class OutputRow:
    """An output, and its topic `<node>/<name>`, for those of links `<node>/<name>/<link>`.

    Attributes
    ----------
    node : str
        Empty for parts of the model state that have no topic.
    name, unit, text : str
        `text` is what pages say of it; its links start from doc/reference/nodes.
    form : str
        One of `FORMS`.
    labels : tuple
        Labels of each dimension: `JOINTS`, `VELOCITIES`, `LINKS` or texts; those of the form by
        default.
    frame : str
        `ROOT` or `LINK`; empty for quantities of joints.
    formula : output, Formula or callable
        Output of a program of the robot, angular part first, or a function that returns it: of the
        robot, for outputs of links of the link and its representation.
    of_links, of_base, of_mass : bool
        Whether there is one for each link; whether the root link must move freely; whether the
        robot must have mass.
    velocity, effort : bool
        Whether it requires velocities, and measured efforts.
    recorded : bool
        Whether `annotate` computes it.
    """

    node: str
    name: str
    unit: str
    text: str
    form: str = 'joint_efforts'
    labels: Labels = ()
    frame: str = ''
    formula: Source | Callable[..., Source] | None = None
    of_links: bool = False
    of_base: bool = False
    of_mass: bool = False
    velocity: bool = True
    effort: bool = False
    recorded: bool = True

    def __post_init__(self) -> None:
        if not self.labels:
            object.__setattr__(self, 'labels', FORMS[self.form][1])

    @property
    def topic(self) -> str:
        """The name of its topic; without the link of those of links."""
        return {'transforms': '/tf'}.get(self.form, f'{self.node}/{self.name}')

    def part(self, link: str) -> str:
        """Return its name, and that of the link if there is one."""
        return f'{self.name}/{link}' if link else self.name

    def exists(self, robot: Robot) -> bool:
        """Return whether a robot has it."""
        return self.of_base <= robot.floating_base and self.of_mass <= (robot.total_mass > 0.0)

    @property
    def has_frame(self) -> bool:
        """Whether its message has a frame."""
        return self.form in ('twist', 'wrench')

    @property
    def is_screw(self) -> bool:
        """Whether linear and angular part are exchanged in messages."""
        return self.labels[0] in (TWIST_ROWS, WRENCH_ROWS, MOMENTUM_ROWS)

    def source(self, robot: Robot, link: str = '', representation: str = 'hybrid') -> Source:
        """Return its formula for a robot, (nv,) for all joints, and for a link of it.

        Raises `ArgumentError` for outputs without a formula, and those of links without a link.
        """
        if self.of_links and not link:
            raise ArgumentError(f'output {self.name!r} is of links: give one of the robot')
        if self.formula is None:
            raise ArgumentError(f'{self.name!r} is not computed by one formula')
        if not callable(self.formula):
            return self.formula
        return self.formula(link, representation) if self.of_links else self.formula(robot)

    def arguments(
        self, joints: Sequence[str], velocities: Sequence[str], frame: str = ''
    ) -> tuple[str | Sequence[str], ...]:
        """Return the arguments of a function that creates a message of its form."""
        return (frame,) if self.has_frame else self.names(joints, velocities)

    def names(
        self, joints: Sequence[str], velocities: Sequence[str]
    ) -> tuple[tuple[str, ...], ...]:
        """Return the labels of each dimension."""
        known = {JOINTS: tuple(joints), VELOCITIES: tuple(velocities)}

        def named(labels: str | tuple[str, ...]) -> tuple[str, ...]:
            if isinstance(labels, str):
                return known.get(labels, (labels,))
            return tuple(name for label in labels for name in named(label))

        return tuple(map(named, self.labels))


of_joint_state = partial(OutputRow, '', recorded=False)
of_kinematics = partial(OutputRow, 'kinematics')
of_dynamics = partial(OutputRow, 'dynamics')
of_efforts = partial(OutputRow, 'wrench_estimator', effort=True, recorded=False)
TORQUE_PAGE, BASE_PAGE = '../../how_to/external_torques.md', '../../how_to/floating_base.md'

#: All outputs by name, in the order of the parts of model states.
# fmt: off
OUTPUTS = {
    row.name: row
    for row in (
        of_joint_state('position', 'rad | m', 'positions of the joint state', velocity=False),
        of_joint_state('velocity', 'rad/s | m/s', 'velocities of the joint state'),
        of_joint_state('effort', TORQUE, 'efforts of the joint state', velocity=False,
            effort=True),
        of_kinematics('transforms', 'm, 1', 'transform of every link, at the rate of the joint '
            'states, [instead of robot_state_publisher](../../how_to/transforms.md): not '
            'published while another node publishes frames of this robot there; disabled by '
            '`publish_tf`. Fixed joints are on `/tf_static`', 'transforms',
            formula='joint_transforms', velocity=False),
        of_kinematics('jacobian', 'm/s, rad/s per rad/s | m/s',
            'Jacobian in `jacobian_representation`', 'matrix', (TWIST_ROWS, VELOCITIES), ROOT,
            lambda link, kind: ('jacobian', link, kind), of_links=True, velocity=False),
        of_kinematics('twist', 'm/s, rad/s', 'measured twist in `twist_representation`', 'twist',
            frame=ROOT, formula=lambda link, kind: ('velocity', link, kind), of_links=True),
        of_kinematics('singularity', 'm, 1, 1, m^rank', 'smallest singular value, condition '
            'number, rank, manipulability', 'matrix', (MEASURES,), of_links=True, velocity=False),
        of_dynamics('gravity', TORQUE, 'torques that balance the weight of the robot',
            formula='gravity_torques', velocity=False),
        of_dynamics('coriolis', TORQUE, 'Coriolis and centrifugal torques',
            formula='coriolis_torques'),
        of_dynamics('friction', TORQUE, 'joint friction from the description or the '
            '[drives](model.md#drives), at the measured velocity', formula='friction_torques'),
        of_dynamics('inertia', TORQUE, 'M(q) a, with the acceleration a of the reference; zero '
            'without a reference', formula=inertial_torques('a'), velocity=False),
        of_dynamics('payload', TORQUE, 'torques due to all [payloads](../../how_to/payload.md)',
            formula='payload_torques'),
        of_dynamics('mass_matrix', 'kg m^2 | kg', 'M(q), without payload', 'matrix',
            (VELOCITIES, VELOCITIES), formula='mass_matrix', velocity=False),
        of_dynamics('energy', 'J', 'kinetic and potential energy of the robot, without payload',
            'matrix', (('kinetic', 'potential'),), formula=ENERGY),
        of_dynamics('momentum', 'N s, N m s', 'linear and angular momentum about the center of '
            'mass, in root axes', 'matrix', (MOMENTUM_ROWS,), ROOT, 'centroidal_momentum',
            of_mass=True),
        of_dynamics('center_of_mass', 'm, m/s', 'position and velocity of the center of mass of '
            'the robot, without payload', 'matrix', (('x', 'y', 'z', 'vx', 'vy', 'vz'),), ROOT,
            CENTER_OF_MASS, of_mass=True),
        of_dynamics('center_of_mass_twist', 'm/s, rad/s', 'velocity of the center of mass of the '
            'robot, without payload, in root axes; the angular part is zero', 'twist', frame=ROOT,
            formula=CENTER_TWIST, of_mass=True),
        of_dynamics('base_tilt', 'rad', 'roll and pitch of the root link with respect to gravity, '
            'and the angle between its z axis and the vertical', 'matrix',
            (('roll', 'pitch', 'tilt'),), formula=base_tilt, velocity=False, recorded=False),
        of_dynamics('base_wrench', WRENCH, f'with a [floating base]({BASE_PAGE}): force and '
            'moment of the environment **on** the robot that keep it in equilibrium, at the '
            'origin of the root link, in its axes', 'wrench', frame=ROOT, formula=base_wrench,
            of_base=True),
        of_dynamics('feedforward', TORQUE, 'the [feedforward](torques.md#feedforward), which a '
            'controller adds; like the commands, published only while [enabled](torques.md)',
            recorded=False),
        of_dynamics('commands', TORQUE, 'the same in the order of the parameter `joints`, for '
            'forward_command_controller', 'matrix', (JOINTS,), recorded=False),
        of_dynamics('constraint_wrench', WRENCH, 'force and moment by which the environment '
            '[holds a link](wrenches.md#constraint-wrenches): **on** the robot, at the origin of '
            'the link, in link axes', 'wrench', frame=LINK, of_links=True, recorded=False),
        of_efforts('external_torque', TORQUE, 'model torques (g, C v, friction and payload, if '
            'the measured torque contains them) − measured torque − tare; by the '
            f'[observer]({TORQUE_PAGE}) of the parameter `observer`', recorded=True),
        of_efforts('external_torque_covariance', '(N m)^2 | N^2', 'covariance of the external '
            'torques ([how](../../how_to/torque_accuracy.md#covariances))', 'matrix',
            (JOINTS, JOINTS)),
        of_efforts('residual', TORQUE, 'the subtracted offset, of the tare and of the [residual '
            'map](../../how_to/residuals.md#residuals-by-pose)', velocity=False, effort=False),
        of_efforts('residual_confidence', '1, N m | N', 'confidence of the residual map at the '
            'current pose (0 to 1), then the standard deviation of each joint; only with a map',
            'matrix', (('confidence', JOINTS),), velocity=False, effort=False),
        of_efforts('wrench', WRENCH, 'force and moment of the environment **on** the robot, at '
            'the origin of the link, in link axes; only where all six components are observable',
            'wrench', frame=LINK, of_links=True, recorded=True),
        of_efforts('wrench_covariance', 'N^2, (N m)^2', 'its covariance', 'matrix',
            (WRENCH_ROWS, WRENCH_ROWS), LINK, of_links=True),
        of_efforts('reduced_wrench', WRENCH, 'the part of it that is '
            f'[observable]({TORQUE_PAGE}#the-observable-part-of-a-wrench), zero in all other '
            'directions; also in singular configurations and with fewer than six joints', 'wrench',
            frame=LINK, of_links=True),
        of_efforts('wrench_validity', '1, m, 1, 1, 1, N, N m', 'the observable share of each axis '
            '(0 to 1), singular values [m], rank, condition number, near_singular (0 or 1), '
            'standard deviations of force and moment by errors of the model (NaN if unknown)',
            'matrix', (VALIDITY_LABELS,), of_links=True, velocity=False, effort=False),
        of_efforts('contact', '1', 'whether an external torque exceeds the threshold of its '
            f'joint, with hysteresis ([rules]({TORQUE_PAGE}#contact-and-collision-flags)); '
            'latched', 'flag'),
        of_efforts('collision', '1', 'the same with `collision_thresholds`', 'flag'),
        of_efforts('contact_wrench', WRENCH, 'with a floating base, of each of `support_frames`: '
            f'[wrench of the ground]({BASE_PAGE}#contact-wrenches-of-feet)', 'wrench', frame=LINK,
            of_links=True, of_base=True),
        of_efforts('contact_wrench_covariance', 'N^2, (N m)^2', 'its covariance', 'matrix',
            (WRENCH_ROWS, WRENCH_ROWS), LINK, of_links=True, of_base=True),
        of_efforts('support', '1', '1 for each of `support_frames` in contact', 'matrix', (LINKS,),
            of_base=True),
    )
}
# fmt: on


def unit_of(part: str) -> str:
    """Return the unit of a part of model states: the name of an output, or that and a link."""
    return OUTPUTS[part.partition('/')[0]].unit
