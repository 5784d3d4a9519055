"""A recording of scalar operations, and what rewrites it: Program to Program."""
