"""Builtin functions in front of kernels: CPython and NumPy met in machine code."""
