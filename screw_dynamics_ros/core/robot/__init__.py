"""Class Robot: functions of a robot, compiled when they are first called."""
