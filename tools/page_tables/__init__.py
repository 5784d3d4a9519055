# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What the tables of pages are made by: modules with `TABLES`; `tools/pages.py` writes them."""
