# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of torques for a controller."""

from __future__ import annotations

from screw_dynamics_ros.core.motion.control import ACTIONS
from screw_dynamics_ros.nodes.parameters.per_joint import PerJoint
from screw_dynamics_ros.ros.parameters import Specification

CONTINUE = 'continue'  # default for a new or refused description: no action

LIMITS = frozenset(
    {
        'effort_limit_factor',
        'effort_rate_factor',
        'limited_joints',
        'effort_limits',
        'effort_rates',
        'impedance_joints',
        'impedance_stiffness',
        'impedance_damping',
        'servo_joints',
        'servo_stiffness',
        'position_offset_limits',
        'blend_time',
        'ramp_time',
        'age_limit',
        'on_loss',
        'on_new_description',
        'on_refused_description',
        'on_end',
    }
)
MODEL = frozenset(
    {
        'robot_description',
        'gravity',
        'gravity_frame',
        'payload_link',
        'payload_mass',
        'payload_center_of_mass',
        'payload_inertia',
        'joints',
        'compensated_terms',
        'constraints',
        'controller_state_topic',
    }
)
#: Parameters that cannot change while torques are enabled.
LOCKED = {'none': frozenset[str](), 'limits': LIMITS, 'all': LIMITS | MODEL}

#: Limits of individual joints.
LIMITED = PerJoint('limited_joints', ('effort_limits', 'effort_rates'))
#: Gains of drives.
IMPEDANCE = PerJoint('impedance_joints', ('impedance_stiffness', 'impedance_damping'))
#: Servos that take positions only.
SERVOS = PerJoint('servo_joints', ('servo_stiffness', 'position_offset_limits'), may_be_empty=False)
PER_JOINT = LIMITED, IMPEDANCE, SERVOS

TABLE = (
    Specification(
        'enabled',
        False,
        'Whether torques and other commands are published: on ~/feedforward, ~/commands, '
        '~/joint_command, ~/impedance_command, ~/position_command and ~/joint_position_command. '
        'The service ~/enable also sets it.',
    ),
    Specification(
        'command_parameters_locked',
        'limits',
        'Parameters that cannot change while enabled: limits (limits and reactions to faults), all '
        '(also those of the model), or none; see doc/how_to/security.md.',
        choices=tuple(LOCKED),
        read_only=True,
    ),
    Specification(
        'effort_limit_factor',
        1.0,
        'Limit of these torques, as a fraction of the effort limits of the description.',
        minimum=1e-3,
        maximum=1.0,
    ),
    Specification(
        'effort_rate_factor',
        10.0,
        'Largest rate of change of these torques, as a multiple of the limit of each joint [1/s].',
        minimum=1e-3,
        maximum=1e6,
    ),
    Specification(
        'limited_joints',
        [''],
        'Joints to which effort_limits and effort_rates apply.',
        rule='joints of the robot',
    ),
    Specification(
        'effort_limits',
        [],
        'Largest torque [N m, N] for each of limited_joints, instead of the limit in the '
        'description. Empty: the limits in the description.',
        minimum=0.0,
        rule='empty, or one for each of limited_joints',
    ),
    Specification(
        'effort_rates',
        [],
        'Largest rate of change of the torque [N m/s, N/s] for each of limited_joints. Empty: from '
        'effort_rate_factor.',
        minimum=1e-9,
        rule='empty, or one for each of limited_joints',
    ),
    Specification(
        'impedance_joints',
        [''],
        'Joints to which impedance_stiffness and impedance_damping apply; ~/impedance_command has '
        '0 for others.',
        rule='joints of the robot',
    ),
    Specification(
        'impedance_stiffness',
        [],
        'Stiffness of the drive [N m/rad, N/m] for each of impedance_joints while a reference is '
        'followed. Empty: 0.',
        minimum=0.0,
        maximum=1e6,
        rule='empty, or one for each of impedance_joints',
    ),
    Specification(
        'impedance_damping',
        [],
        'Damping of the drive [N m s/rad, N s/m] for each of impedance_joints, also without a '
        'reference. Empty: 0.',
        minimum=0.0,
        maximum=1e6,
        rule='empty, or one for each of impedance_joints',
    ),
    Specification(
        'servo_joints',
        [''],
        'Joints with position servos, to which servo_stiffness and position_offset_limits apply; '
        '~/position_command has no offset for others.',
        rule='joints of the robot',
    ),
    Specification(
        'servo_stiffness',
        [],
        'Stiffness of the servo at rest [N m/rad, N/m] for each of servo_joints: torque per '
        'difference of commanded and measured position; see doc/how_to/feedforward.md.',
        minimum=1e-3,
        maximum=1e9,
        rule='one for each of servo_joints',
    ),
    Specification(
        'position_offset_limits',
        [],
        'Largest difference between ~/position_command and the reference [rad, m] for each of '
        'servo_joints.',
        minimum=0.0,
        maximum=1.0,
        rule='one for each of servo_joints',
    ),
    Specification(
        'blend_time',
        0.2,
        'Time over which changes of payload, gravity, reference, compensated terms and model take '
        'effect on these torques [s].',
        minimum=0.0,
        maximum=60.0,
    ),
    Specification(
        'ramp_time',
        0.5,
        'Time over which these torques are ramped up when enabled and ramped down when disabled '
        '[s].',
        minimum=0.0,
        maximum=60.0,
    ),
    Specification(
        'age_limit',
        0.1,
        'Age of the last valid joint state at which on_loss is executed [s].',
        minimum=1e-3,
        maximum=10.0,
    ),
    Specification(
        'on_loss',
        'gravity',
        'Action for these torques when joint states stop, are too old or invalid. hold: keep the '
        'last torques; gravity: blend to gravity compensation at the last position; '
        'ramp_to_zero; stop: stop publishing. Valid joint states end the action.',
        choices=ACTIONS,
    ),
    Specification(
        'on_new_description',
        CONTINUE,
        'Action for these torques when another robot description becomes active: continue '
        '(blend to the new robot), or an action of on_loss until they are enabled again.',
        choices=(CONTINUE, *ACTIONS),
    ),
    Specification(
        'on_refused_description',
        CONTINUE,
        'Action for these torques while a new robot description is refused: continue with the '
        'previous one, or an action of on_loss.',
        choices=(CONTINUE, *ACTIONS),
    ),
    Specification(
        'on_end',
        'ramp_to_zero',
        'Action for these torques before the process exits: one of the actions of on_loss.',
        choices=ACTIONS,
    ),
)
