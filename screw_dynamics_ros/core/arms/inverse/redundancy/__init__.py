"""Criteria that resolve redundancy, what they do together, and motions that close (5.9)."""
