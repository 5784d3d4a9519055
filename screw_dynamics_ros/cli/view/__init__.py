"""Show a robot in a web browser: alone, live, or from a recording."""
