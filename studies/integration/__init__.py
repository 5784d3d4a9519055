"""The study of Müller and Terze: which group to choose for the configuration of bodies."""
