"""The geometry of robots: products of exponentials, link tables, joint pairs, mobility."""
