# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Estimation of external wrenches and contacts from joint torques."""

from .contact_localization import ContactLocator, Localization, LocalizationOptions, LocatedContact
from .contact_wrench import (
    contact_wrench,
    external_torques,
    observability_pivots,
    smallest_singular_value,
)
from .link_segments import Segment, link_segments

__all__ = [
    'ContactLocator',
    'Localization',
    'LocalizationOptions',
    'LocatedContact',
    'Segment',
    'contact_wrench',
    'external_torques',
    'link_segments',
    'observability_pivots',
    'smallest_singular_value',
]
