"""Joint states by name: from what drivers send to one trustworthy (q, v, tau)."""
