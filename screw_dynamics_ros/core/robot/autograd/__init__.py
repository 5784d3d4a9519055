# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Functions of a `Robot` in PyTorch and JAX, with exact derivatives.

`pytorch` and `jax` have the same functions; each needs the library it is named after, which is
installed separately. `functions` has their derivatives. See doc/how_to/gradients.md.
"""
