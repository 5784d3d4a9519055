"""Tables of links: Denavit-Hartenberg and Hayati-Roberts parameters."""
