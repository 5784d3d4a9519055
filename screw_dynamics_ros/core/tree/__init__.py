"""The multibody tree that recursions run on, and the names and limits of its coordinates."""
