# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Programs as machine code, by LLVM IR and llvmlite."""
