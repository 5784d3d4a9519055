# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""C functions as a C++17 library: a CMake file, and a header that takes arrays of C++ libraries."""

from __future__ import annotations

from collections.abc import Sequence

from .c_source import CFunction

CHECKS = """\
template <class Array, class = void>
struct HasData : std::false_type {};

template <class Array>
struct HasData<Array, std::void_t<decltype(std::declval<Array &>().data())>> : std::true_type {};

// Layout of an array at compile time; a size of -1 is unknown.
template <class Array, class = void>
struct Layout {
  static constexpr std::ptrdiff_t size = -1;
  static constexpr bool row_major = true;
};

template <class Array>
struct Layout<Array, std::void_t<decltype(std::tuple_size<Array>::value)>> {
  static constexpr std::ptrdiff_t size = std::tuple_size<Array>::value;
  static constexpr bool row_major = true;
};

template <class Array>
struct Layout<Array, std::void_t<decltype(Array::SizeAtCompileTime), decltype(Array::IsRowMajor)>> {
  static constexpr std::ptrdiff_t size = Array::SizeAtCompileTime;
  static constexpr bool row_major = Array::IsRowMajor || Array::IsVectorAtCompileTime;
};

template <class Array, class = void>
struct HasStrides : std::false_type {};

template <class Array>
struct HasStrides<Array, std::void_t<decltype(std::declval<const Array &>().outerStride())>>
    : std::true_type {};

// The numbers of an array of rows x columns doubles, row by row.
template <std::ptrdiff_t rows, std::ptrdiff_t columns, class Array>
auto numbers(Array &array, const char *name) {
  using Plain = std::remove_cv_t<Array>;
  using Number = std::remove_cv_t<std::remove_reference_t<decltype(*array.data())>>;
  static_assert(std::is_same_v<Number, double>, "arrays must hold double");
  static_assert(Layout<Plain>::size == -1 || Layout<Plain>::size == rows * columns,
                "an array has another number of elements");
  static_assert(rows == 1 || columns == 1 || Layout<Plain>::row_major,
                "a matrix must be row-major, as Eigen::Matrix<..., Eigen::RowMajor>");
  bool fits = static_cast<std::ptrdiff_t>(array.size()) == rows * columns;
  if constexpr (HasStrides<Plain>::value) {
    fits = fits && array.innerStride() == 1 &&
           (rows == 1 || columns == 1 || array.outerStride() == columns);
  }
  if (!fits) {
    throw std::invalid_argument(std::string(name) + ": expected " +
                                std::to_string(rows * columns) + " contiguous elements");
  }
  return array.data();
}
"""


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


def cpp_header(name: str, functions: Sequence[CFunction]) -> str:
    """Return the text of `name`.hpp, which includes `name`.h: an overload for each function.

    The overloads accept all types with `data()` and `size()`: std::array, std::vector, std::span,
    Eigen matrices and maps. Sizes unknown at compile time are checked at each call, which throws
    std::invalid_argument.
    """
    guard = f'{name.upper()}_HPP'
    lines = [
        f'// The functions of {name}.h for std::array, std::vector, std::span, Eigen matrices and',
        '// maps. Sizes are checked, where possible by the compiler. Matrices must be row-major.',
        f'#ifndef {guard}',
        f'#define {guard}',
        '',
        *(
            f'#include <{header}>'
            for header in ('cstddef', 'stdexcept', 'string', 'tuple', 'type_traits', 'utility')
        ),
        '',
        f'#include "{name}.h"',
        '',
        f'namespace {name}_detail {{',
        '',
        f'{CHECKS}',
        f'}}  // namespace {name}_detail',
        '',
    ]
    for function in functions:
        lines += overload(function, f'{name}_detail')
    return '\n'.join([*lines, f'#endif  // {guard}']) + '\n'


def overload(function: CFunction, detail: str) -> list[str]:
    """Return the lines of the function template for one function."""
    program = function.program
    arrays: list[tuple[str, str, tuple[int, ...]]] = []
    arrays += [(array, 'const ', (size,)) for array, size in program.inputs]
    arrays += [(result, '', shape) for result, (shape, _) in zip(function.results, program.outputs)]
    types = [f'A{k}' for k in range(len(arrays))]
    condition = ' && '.join(f'{detail}::HasData<{name}>::value' for name in types)
    parameters = ', '.join(
        f'{constant}{name} &{"" if constant else "&"}{array}'
        for name, (array, constant, _) in zip(types, arrays)
    )
    passed = []
    for array, _, shape in arrays:
        rows, columns = rows_and_columns(shape)
        passed.append(f'      {detail}::numbers<{rows}, {columns}>({array}, "{array}")')
    return [
        f'template <{", ".join(f"class {name}" for name in types)},',
        f'          class = std::enable_if_t<{condition}>>',
        f'void {function.name}({parameters}) {{',
        f'  ::{function.name}(',
        ',\n'.join(passed) + ');',
        '}',
        '',
    ]


def rows_and_columns(shape: tuple[int, ...]) -> tuple[int, int]:
    """Return the shape as a matrix; an array with more than two axes is one vector."""
    if len(shape) == 2:
        return shape[0], shape[1]
    size = 1
    for length in shape:
        size *= length
    return size, 1
