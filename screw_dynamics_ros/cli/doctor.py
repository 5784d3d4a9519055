"""Examine a robot before trusting its model: description, joint states, efforts.

Without arguments the robot that runs here is examined, by its topics robot_description and
joint_states; with a file that description alone, which needs no ROS.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from screw_dynamics_ros.cli.arguments import own_arguments
from screw_dynamics_ros.cli.doctor_description import description_sections
from screw_dynamics_ros.cli.section import Section
from screw_dynamics_ros.core import Robot, ScrewDynamicsError

HEALTHY, ILL, BROKEN = 0, 1, 3
EXIT_STATUS = (f'exit status: {HEALTHY} no errors (with --strict: nor warnings), {ILL} some, '
               f'{BROKEN} there was nothing to examine')


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a report; return the exit status."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = parse(given)
    try:
        if options.description is None:
            sections = examine_running_robot(given, options.seconds, options.wait)
        else:
            text = options.description.read_text()
            sections = description_sections(Robot.from_urdf(text), text)
    except ScrewDynamicsError as error:
        print(f'ERROR   description refused: {error}', file=sys.stderr)
        return ILL
    except (OSError, UnicodeDecodeError) as error:
        print(f'cannot read the description: {error}', file=sys.stderr)
        return BROKEN
    except ImportError as error:
        print(f'{error}. Source ROS 2 to examine a running robot, or name a file', file=sys.stderr)
        return BROKEN
    if not sections:
        print(f'nothing came on robot_description within {options.wait:g} s: start the driver, '
              'compare ROS_DOMAIN_ID and namespace, or name a file', file=sys.stderr)
        return BROKEN
    for section in sections:
        print('\n'.join(section.text()))
    return verdict(sections, options.strict)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        prog='doctor', description=__doc__, epilog=EXIT_STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('description', nargs='?', type=Path, metavar='FILE',
                        help='a URDF (default: what is published)')
    parser.add_argument('--seconds', type=float, default=3.0, metavar='S',
                        help='how long joint states are listened to (default: 3)')
    parser.add_argument('--wait', type=float, default=5.0, metavar='S',
                        help='how long the first messages are waited for (default: 5)')
    parser.add_argument('--strict', action='store_true', help='warnings count as errors')
    return parser.parse_args(own_arguments(arguments))


def examine_running_robot(
    arguments: Sequence[str], seconds: float, patience: float,
) -> list[Section]:
    """Return the report on the robot that runs here; empty if none does."""
    import rclpy

    from screw_dynamics_ros.cli import doctor_topics

    rclpy.init(args=list(arguments))
    try:
        node = rclpy.create_node('doctor', enable_rosout=False, start_parameter_services=False)
        text = doctor_topics.heard_description(node, patience)
        if text is None:
            return []
        robot = Robot.from_urdf(text)
        return [*description_sections(robot, text),
                *doctor_topics.topic_sections(node, robot, seconds, patience)]
    finally:
        rclpy.try_shutdown()


def verdict(sections: Sequence[Section], strict: bool) -> int:
    """Print how many findings there are; return the exit status."""
    severities = [finding.severity for section in sections for finding in section.findings]
    errors, warnings = severities.count('error'), severities.count('warning')
    print(f'{errors} errors, {warnings} warnings')
    return ILL if errors or (strict and warnings) else HEALTHY


if __name__ == '__main__':
    sys.exit(main())
