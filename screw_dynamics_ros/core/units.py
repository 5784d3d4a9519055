"""Units of time."""

#: Per second: stamps are counted in them.
NANOSECONDS = 1_000_000_000
