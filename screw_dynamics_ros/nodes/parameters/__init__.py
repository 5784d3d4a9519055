"""Parameters of the nodes by subject."""
