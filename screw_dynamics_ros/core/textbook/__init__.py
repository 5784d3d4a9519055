"""Functions that the source documents define and no node or command uses."""
