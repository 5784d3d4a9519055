# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Messages of the introspection of controller_manager for bags, written by their definition."""

from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from support import recordings

#: Definitions of pal_statistics, commit 1b0436ab.
DEFINITIONS = {
    'Statistic': 'string name\nfloat64 value\n',
    'Statistics': 'std_msgs/Header header\nStatistic[] statistics\n',
    'StatisticsNames': 'std_msgs/Header header\nstring[] names\nuint32 names_version\n',
    'StatisticsValues': 'std_msgs/Header header\nfloat64[] values\nuint32 names_version\n',
}
PACKAGE, BASE = 'pal_statistics_msgs/msg', '/controller_manager/introspection_data'
TOPICS = {
    f'{BASE}/names': f'{PACKAGE}/StatisticsNames',
    f'{BASE}/values': f'{PACKAGE}/StatisticsValues',
}


def use_definitions(monkeypatch):
    """Let recordings have messages of pal_statistics."""
    made = get_typestore(Stores.ROS2_JAZZY)
    for name, text in DEFINITIONS.items():
        made.register(get_types_from_msg(text, f'{PACKAGE}/{name}'))
    monkeypatch.setattr(recordings, 'STORE', made)


def serialized(name, **fields):
    kind = f'{PACKAGE}/{name}'
    return recordings.serialized(kind, recordings.message(kind, **fields))


def names_message(names, version, stamp=0):
    header = recordings.header(stamp)
    return serialized('StatisticsNames', header=header, names=list(names), names_version=version)


def values_message(values, version, stamp):
    header = recordings.header(stamp)
    return serialized('StatisticsValues', header=header, values=values, names_version=version)


def full_message(names, values, stamp):
    kind = f'{PACKAGE}/Statistic'
    content = [recordings.message(kind, name=n, value=float(v)) for n, v in zip(names, values)]
    return serialized('Statistics', header=recordings.header(stamp), statistics=content)
