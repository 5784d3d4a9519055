"""Studies of papers, run by path; they are not installed."""
