"""The equations of kinematics and dynamics in other forms, as the papers have them."""
