"""The node `wrist_sensor`: contacts of the tool beyond a force-torque sensor."""
