"""Motion under constraints: what they demand, the wrenches that meet it, and their upkeep."""
