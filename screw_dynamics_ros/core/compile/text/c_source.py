# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Print a straight-line program as portable C, for use without Python.

Reserved names in C: keywords of C and C++, and names in their libraries.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...errors import ArgumentError
from ..program.tracing import Operation, Program
from .c_body import CBody
from .c_sincos import FUNCTION as SINCOS

#: Keywords of C99, C11 and C23, and of C++ up to C++20.
KEYWORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
    char32_t class co_await co_return co_yield compl concept const const_cast consteval constexpr
    constinit continue decltype default delete do double dynamic_cast else enum explicit export
    extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq
    nullptr operator or or_eq private protected public register reinterpret_cast requires restrict
    return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using
    virtual void volatile wchar_t while xor xor_eq
"""

#: Macros and types of <math.h>, which the source includes, and predefined macros of compilers.
MATH_MACROS = """
    FP_FAST_FMA FP_FAST_FMAF FP_FAST_FMAL FP_ILOGB0 FP_ILOGBNAN FP_INFINITE FP_NAN FP_NORMAL
    FP_SUBNORMAL FP_ZERO HUGE_VAL HUGE_VALF HUGE_VALL INFINITY MATH_ERREXCEPT MATH_ERRNO M_1_PI
    M_2_PI M_2_SQRTPI M_E M_LN10 M_LN2 M_LOG10E M_LOG2E M_PI M_PI_2 M_PI_4 M_SQRT1_2 M_SQRT2 NAN
    double_t float_t fpclassify i386 isfinite isgreater isgreaterequal isinf isless islessequal
    islessgreater isnan isnormal isunordered linux math_errhandling signbit signgam unix
"""

#: Functions of <math.h>, up to C23 and including extensions of C libraries; each has variants for
#: other types with one of the SUFFIXES.
MATH = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs
    fdim floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2
    logb lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo rint round
    scalbln scalbn sin sinh sqrt tan tanh tgamma trunc
    cabs cacos cacosh carg casin casinh catan catanh ccos ccosh cexp cimag clog conj cpow cproj
    creal csin csinh csqrt ctan ctanh
    drem exp10 finite gamma isinf isnan j0 j1 jn lgamma_r lgammaf_r lgammal_r pow10 scalb
    significand signgam sincos y0 y1 yn
    acospi asinpi atan2pi atanpi canonicalize compoundn cospi exp10m1 exp2m1 fmaximum
    fmaximum_mag fmaximum_mag_num fmaximum_num fmaxmag fminimum fminimum_mag fminimum_mag_num
    fminimum_num fminmag fromfp fromfpx getpayload iscanonical iseqsig issignaling issubnormal
    iszero llogb log10p1 log2p1 logp1 nextdown nextup pown powr rootn roundeven rsqrt setpayload
    setpayloadsig sinpi tanpi totalorder totalordermag ufromfp ufromfpx
    dadd ddiv dfma dmul dsqrt dsub fadd fdiv ffma fmul fsqrt fsub
"""
SUFFIXES = ('', 'f', 'l', 'f16', 'f32', 'f64', 'f128', 'f32x', 'f64x')

#: The rest of the standard library: redefining its functions is undefined behavior.
LIBRARY = """
    abort abs acos aligned_alloc asctime at_quick_exit atexit atof atoi atol atoll bsearch btowc
    calloc clearerr clock ctime difftime div exit fclose feof ferror fflush fgetc fgetpos fgets
    fgetwc fgetws fopen fprintf fputc fputs fputwc fputws fread free freopen fscanf fseek fsetpos
    ftell fwide fwprintf fwrite fwscanf getc getchar getenv gets getwc getwchar gmtime imaxabs
    imaxdiv isalnum isalpha isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper
    iswalnum iswalpha iswblank iswcntrl iswctype iswdigit iswgraph iswlower iswprint iswpunct
    iswspace iswupper iswxdigit isxdigit labs ldiv llabs lldiv localeconv localtime longjmp main
    malloc mblen mbrlen mbrtowc mbsinit mbsrtowcs mbstowcs mbtowc memchr memcmp memcpy memmove
    memset mktime perror printf putc putchar puts putwc putwchar qsort quick_exit raise rand realloc
    remove rename rewind scanf setbuf setjmp setlocale setvbuf signal snprintf sprintf srand sscanf
    strcat strchr strcmp strcoll strcpy strcspn strdup strerror strftime strlen strncat strncmp
    strncpy strpbrk strrchr strspn strstr strtod strtof strtoimax strtok strtol strtold strtoll
    strtoul strtoull strtoumax strxfrm swprintf swscanf system time timespec_get tmpfile tmpnam
    tolower toupper towctrans towlower towupper ungetc ungetwc va_arg va_copy va_end va_start
    vfprintf vfscanf vfwprintf vfwscanf vprintf vscanf vsnprintf vsprintf vsscanf vswprintf
    vswscanf vwprintf vwscanf wcrtomb wcscat wcschr wcscmp wcscoll wcscpy wcscspn wcsftime wcslen
    wcsncat wcsncmp wcsncpy wcspbrk wcsrchr wcsrtombs wcsspn wcsstr wcstod wcstof wcstoimax wcstok
    wcstol wcstold wcstoll wcstombs wcstoul wcstoull wcstoumax wcsxfrm wctob wctomb wctrans wctype
    wmemchr wmemcmp wmemcpy wmemmove wmemset wprintf wscanf
"""

#: Functions of POSIX, which the standard library calls.
POSIX = """
    accept access acct alarm basename bcmp bcopy bind brk bzero chdir chmod chown close
    closedir connect creat daemon dirname dup dup2 environ errno execl execv execve fchdir fchmod
    fcntl fdopen ffs fileno flock fork fstat fsync ftruncate getcwd getpid getppid getuid index
    ioctl isatty kill link listen lseek lstat mkdir mkfifo mknod mkstemp mmap mount mprotect munmap
    nice open opendir pause pipe poll pread pwrite rand_r random read readdir readlink readv recv
    rindex rmdir sbrk select send setenv shutdown sigaction sigprocmask sleep socket srandom stat
    strcasecmp strtok_r symlink sync sysconf times truncate uname umask unlink usleep utime vfork
    wait waitpid write writev
"""

RESERVED = frozenset(
    [
        *KEYWORDS.split(),
        *MATH_MACROS.split(),
        *LIBRARY.split(),
        *POSIX.split(),
        *(name + suffix for name in MATH.split() for suffix in SUFFIXES),
    ]
)


IDENTIFIER = re.compile('[A-Za-z][A-Za-z0-9_]*')
#: Names within functions: intermediate results, and arrays of angles, their sines and cosines.
LOCAL = re.compile(
    'x[0-9]+|([acsw]|in|shared|o[0-9]+)_[0-9]*|part_[0-9]+_of_.*|sines_and_cosines|by_library|any_bit'
    '|ANY_BIT|SELDOM|SIGN|reals|bits|LANES?|VECTORS?|CALL_LIBRARY|one_of|RESTRICT|PART'
    '|NEARBY|real_pack|(LANE_OF_|NEGATIVE_)PACK|PACK_OF|(ADD|SUBTRACT|MULTIPLY)_PACKS'
)

#: One of two numbers. GCC makes branches of conditions whose value it sees, the assembler hides it.
ONE_OF = """\
static inline double one_of(double first, double x, double y) {
  uint64_t a, b, mask = 0 - (uint64_t)(first != 0.0);
  double number;
#if defined(__GNUC__)
  __asm__("" : "+r"(mask));
#endif
  memcpy(&a, &x, sizeof a);
  memcpy(&b, &y, sizeof b);
  a = (a & mask) | (b & ~mask);
  memcpy(&number, &a, sizeof number);
  return number;
}
"""


@dataclass(frozen=True)
class CFunction:
    """A function that reads one array for each input of a program and writes its outputs.

    Attributes
    ----------
    name : str
        An identifier.
    program : Program
    results : tuple of str
        Identifiers of the outputs; the inputs keep the names of the program.
    """

    name: str
    program: Program
    results: tuple[str, ...]


@dataclass(frozen=True)
class CSource:
    """Text of a header and of a source file, in C99 that is also valid C++."""

    header: str
    source: str
    functions: tuple[CFunction, ...]


def c_source(name: str, functions: Sequence[CFunction], comment: Iterable[str]) -> CSource:
    """Return functions without state, memory allocation or data-dependent run time.

    Arrays are row-major, and outputs do not overlap; all inputs are read before an output is
    written. Rounding depends on the compiler, which may use fused multiply-add.

    Parameters
    ----------
    name : str
        Name of the header, `name`.h.
    functions : sequence of CFunction
    comment : iterable of str
        Lines for the header.

    Raises
    ------
    ArgumentError
        If a name is not valid in C, or occurs twice.
    """
    check_names(name, functions)
    prototypes = [line for function in functions for line in (f'{prototype(function)};', '')]
    source = [f'#include "{name}.h"', '', *definitions(functions)]
    return CSource(header(name, comment, prototypes), '\n'.join(source) + '\n', tuple(functions))


def header(
    name: str, comment: Iterable[str], declarations: Iterable[str], types: Iterable[str] = ()
) -> str:
    """Return the text of `name`.h: a comment, types, and declarations with linkage of C."""
    guard = f'{name.upper()}_H'
    lines = [
        '/*',
        *(f' * {in_comment(line)}'.rstrip() for line in comment),
        ' */',
        f'#ifndef {guard}',
        f'#define {guard}',
        '',
        *types,
        '#ifdef __cplusplus',
        'extern "C" {',
        '#endif',
        '',
        *declarations,
        '#ifdef __cplusplus',
        '}',
        '#endif',
        '',
        f'#endif  /* {guard} */',
    ]
    return '\n'.join(lines) + '\n'


def definitions(functions: Sequence[CFunction]) -> Iterator[str]:
    """Yield the lines of functions, after the headers and the function of sines that they need."""
    operations = [op for function in functions for op in function.program.operations]
    bodies = [CBody(function.name, function.program, function.results) for function in functions]
    for_bodies = list(dict.fromkeys(text for body in bodies for text in body.definitions))
    parts = [SINCOS] if for_bodies or any(map(is_trigonometric, operations)) else []
    parts += [ONE_OF] if any(map(is_choice, operations)) else []
    parts += for_bodies
    yield '#include <math.h>'
    if parts or any(body.cleared for body in bodies):
        yield from ('#include <float.h>', '#include <stdint.h>', '#include <string.h>')
    yield from (line for part in parts for line in ('', part))
    for function, body in zip(functions, bodies):
        yield from ('', *body.parts_before(), prototype(function), '{', *body.lines(), '}')


def check_names(name: str, functions: Sequence[CFunction]) -> None:
    """Refuse names that are not valid in C, and duplicate names of arrays."""
    for function in functions:
        arrays = [array for array, _ in function.program.inputs] + list(function.results)
        for given in (name, function.name, *arrays):
            if not is_name(given):
                raise ArgumentError(
                    f'{given!r} cannot be a name in C; take letters, digits and _, and '
                    'no word of C, C++ or their libraries'
                )
        if len(set(arrays)) < len(arrays):
            raise ArgumentError(f'an array is there twice: {", ".join(arrays)}')


def prototype(function: CFunction) -> str:
    """Return the first lines of a function."""
    program = function.program
    parameters = [
        *(f'const double {array}[{size}]' for array, size in program.inputs),
        *(
            f'double {result}[{len(flat)}]'
            for result, (_, flat) in zip(function.results, program.outputs)
        ),
    ]
    return f'void {function.name}(\n    ' + ',\n    '.join(parameters) + ')'


def is_trigonometric(operation: Operation) -> bool:
    """Whether an operation is a sine or a cosine."""
    return operation[0] in ('sin', 'cos')


def is_choice(operation: Operation) -> bool:
    """Whether an operation is one of two numbers."""
    return operation[0] in ('where', 'min', 'max')


def is_name(text: str) -> bool:
    """Whether a text is valid as name of a function, an array and a header, in C and C++."""
    return bool(IDENTIFIER.fullmatch(text)) and not (
        LOCAL.fullmatch(text) or '__' in text or text in RESERVED
    )


def identifier(text: str) -> str:
    """Return a text as part of a name; other characters than letters and digits are replaced."""
    return re.sub('[^A-Za-z0-9]+', '_', text)


def in_comment(line: str) -> str:
    """Return a line that cannot end a comment."""
    return re.sub('[^ -~]', '?', line).replace('*/', '* /')
