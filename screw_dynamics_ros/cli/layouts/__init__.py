# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Layouts of rviz, PlotJuggler and Foxglove for one robot, and the commands that open them."""
