"""The demo: a simulated arm, its model state over DDS, and a client that checks it."""
