"""The proxy of a joint trajectory controller."""
