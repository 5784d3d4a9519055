# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The executables, one row each: what they are for, what starts them, what configures them.

Entry points, parameter files, known parameters and tables in doc/ come from here. Plain data that
imports nothing of the package: setup.py reads it before anything is installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal, NamedTuple


class NodeRow(NamedTuple):
    """A node.

    Attributes
    ----------
    purpose : str
        In one line.
    kind : str
        What `factory` is: 'outputs' makes an output group of (node, host), 'node' something with
        `parameters` of a node, 'process' a `Process` of nothing.
    factory : str
        As module:attribute.
    tables : tuple of str
        Its parameters, as module:attribute each; diagnostics are added, in `model` the shared ones.
    config : str
        Name of its file in config/; nodes in `model` compute the model of the running robot.
    launch : str
        Name of the launch file that starts it, without .launch.py; '' for that of `bringup`.
    hosted : bool
        Whether `bringup` can host it.
    """

    purpose: str
    kind: Literal['outputs', 'node', 'process']
    factory: str
    tables: tuple[str, ...]
    config: str
    launch: str = ''
    hosted: bool = False


class CommandRow(NamedTuple):
    """A command.

    Attributes
    ----------
    purpose : str
        In one line.
    module : str
        Whose `main` returns the exit status.
    """

    purpose: str
    module: str


NODES = {
    'kinematics': NodeRow(
        'frames, Jacobians, twists, singularities and markers of a robot',
        'outputs',
        'screw_dynamics_ros.nodes.outputs.kinematics.kinematics_outputs:Kinematics',
        ('screw_dynamics_ros.nodes.outputs.kinematics.kinematics_outputs:TABLE',),
        'model',
        hosted=True,
    ),
    'dynamics': NodeRow(
        'joint torques, mass matrix, constraint wrenches and more of a robot',
        'outputs',
        'screw_dynamics_ros.nodes.outputs.dynamics.dynamics_outputs:Dynamics',
        (
            'screw_dynamics_ros.nodes.outputs.dynamics.dynamics_outputs:TABLE',
            'screw_dynamics_ros.nodes.outputs.dynamics.reference_parameters:TABLE',
            'screw_dynamics_ros.nodes.outputs.dynamics.command_parameters:TABLE',
        ),
        'model',
        hosted=True,
    ),
    'wrench_estimator': NodeRow(
        'external torques and contact wrenches from joint efforts',
        'outputs',
        'screw_dynamics_ros.nodes.outputs.external_wrenches.wrench_outputs:WrenchEstimator',
        (
            'screw_dynamics_ros.nodes.outputs.external_wrenches.wrench_outputs:TABLE',
            'screw_dynamics_ros.nodes.outputs.external_wrenches.contact_localization:TABLE',
        ),
        'model',
        hosted=True,
    ),
    'controller': NodeRow(
        'joint torques by a control law',
        'outputs',
        'screw_dynamics_ros.nodes.outputs.control.controller:Controller',
        (
            'screw_dynamics_ros.nodes.outputs.control.parameters:TABLE',
            'screw_dynamics_ros.nodes.outputs.dynamics.reference_parameters:TABLE',
            'screw_dynamics_ros.nodes.outputs.dynamics.command_parameters:TABLE',
        ),
        'model',
        hosted=True,
    ),
    'wrist_sensor': NodeRow(
        'a force-torque sensor without the weight and inertia of the tool',
        'outputs',
        'screw_dynamics_ros.nodes.force_torque.wrist_sensor_outputs:WristSensor',
        ('screw_dynamics_ros.nodes.force_torque.parameters:TABLE',),
        'model',
        hosted=True,
    ),
    'trajectory_proxy': NodeRow(
        'trajectories with efforts, within the limits, for a controller',
        'process',
        'screw_dynamics_ros.nodes.trajectory.trajectory_proxy:make_process',
        ('screw_dynamics_ros.nodes.trajectory.parameters:TABLE',),
        'model',
        'trajectory_proxy',
    ),
    'bringup': NodeRow(
        'any of the hosted nodes in one process, on one subscription and one kernel',
        'process',
        'screw_dynamics_ros.nodes.bringup:make_process',
        ('screw_dynamics_ros.nodes.parameters.hosted_nodes:TABLE',),
        'model',
        'bringup',
    ),
    'simulator': NodeRow(
        'a simulated robot driver',
        'node',
        'screw_dynamics_ros.nodes.simulation.simulator:Simulator',
        (
            'screw_dynamics_ros.nodes.simulation.simulator:TABLE',
            'screw_dynamics_ros.nodes.simulation.fault_parameters:TABLE',
        ),
        'simulator',
        'simulation',
        hosted=True,
    ),
    'mechanism_simulator': NodeRow(
        'mechanisms with loops, in absolute coordinates',
        'node',
        'screw_dynamics_ros.nodes.mechanism.simulator:MechanismSimulator',
        ('screw_dynamics_ros.nodes.mechanism.parameters:TABLE',),
        'mechanism_simulator',
        'mechanism',
    ),
    'odometry': NodeRow(
        'pose of a platform on wheels, and commands that it can follow',
        'node',
        'screw_dynamics_ros.nodes.mobile_base.odometry_node:OdometryNode',
        ('screw_dynamics_ros.nodes.mobile_base.parameters:TABLE',),
        'odometry',
        'odometry',
    ),
    'parallel_robot': NodeRow(
        'pose, twist and leg forces of a platform on legs',
        'node',
        'screw_dynamics_ros.nodes.parallel.platform_node:PlatformNode',
        ('screw_dynamics_ros.nodes.parallel.parameters:TABLE',),
        'parallel_robot',
        'parallel_robot',
    ),
}

COMMANDS = {
    'demo': CommandRow(
        'a simulated arm, its model state over DDS, and a client that checks it',
        'screw_dynamics_ros.cli.demo.command',
    ),
    'doctor': CommandRow(
        'examine a robot before trusting its model: description, joint states, efforts',
        'screw_dynamics_ros.cli.doctor.command',
    ),
    'parity': CommandRow(
        'compare a robot in this package, Pinocchio, MuJoCo and KDL',
        'screw_dynamics_ros.cli.parity',
    ),
    'calibrate': CommandRow(
        'correct the URDF of a robot by measured poses, points or distances',
        'screw_dynamics_ros.cli.calibrate.command',
    ),
    'identify': CommandRow(
        'identify the dynamics of a robot from recorded joint states',
        'screw_dynamics_ros.cli.identify.command',
    ),
    'excite': CommandRow(
        'design a motion from which the dynamics of a robot can be identified',
        'screw_dynamics_ros.cli.excite',
    ),
    'annotate': CommandRow(
        'add the outputs of the nodes to a recording',
        'screw_dynamics_ros.cli.annotate.command',
    ),
    'replay': CommandRow(
        'run the nodes over a recording and record what they publish',
        'screw_dynamics_ros.cli.replay.command',
    ),
    'export': CommandRow(
        'write the URDF of a robot that another format describes',
        'screw_dynamics_ros.cli.export',
    ),
    'compile': CommandRow(
        'write functions of a robot as C, for controllers without Python',
        'screw_dynamics_ros.cli.compile',
    ),
    'bench': CommandRow(
        'measure the speed of the functions of a robot on this machine',
        'screw_dynamics_ros.cli.bench',
    ),
    'rviz': CommandRow(
        'start rviz2 for the robot whose description is on the topic robot_description',
        'screw_dynamics_ros.cli.layouts.rviz',
    ),
    'plotjuggler': CommandRow(
        'start PlotJuggler with curves of the torques and wrenches of this robot',
        'screw_dynamics_ros.cli.layouts.plotjuggler',
    ),
    'foxglove': CommandRow(
        'start foxglove_bridge, and make a layout of this robot for Foxglove',
        'screw_dynamics_ros.cli.layouts.foxglove',
    ),
    'view': CommandRow(
        'show a robot in a web browser: links, joint torques, wrenches, inverse kinematics',
        'screw_dynamics_ros.cli.view.command',
    ),
}

EXECUTABLES: dict[str, NodeRow | CommandRow] = {**NODES, **COMMANDS}


def load(place: str) -> Any:
    """Return what stands at module:attribute."""
    module, _, attribute = place.partition(':')
    return getattr(import_module(module), attribute)
