"""Joint states by name: from messages of drivers to one validated (q, v, tau)."""
