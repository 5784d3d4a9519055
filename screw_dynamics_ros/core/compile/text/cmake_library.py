# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A CMake file that builds a static library from a C source file."""

from __future__ import annotations


def cmake_library(name: str) -> str:
    """Return the text of `name`.cmake: the target `name`, with its include directory."""
    return f"""\
# include(path/to/{name}.cmake)
# target_link_libraries(my_controller {name})
#
# Vectors and fused multiply-add make it twice as fast: give the compiler the processor, as with
# target_compile_options({name} PRIVATE -march=native) where it runs on the machine that builds it.
enable_language(C)
add_library({name} STATIC "${{CMAKE_CURRENT_LIST_DIR}}/{name}.c")
target_include_directories({name} PUBLIC "${{CMAKE_CURRENT_LIST_DIR}}")
set_target_properties({name} PROPERTIES C_STANDARD 99 POSITION_INDEPENDENT_CODE ON)
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  target_compile_options({name} PRIVATE -O2 -ffp-contract=fast)
endif()
if(UNIX)
  target_link_libraries({name} PUBLIC m)
endif()
"""
