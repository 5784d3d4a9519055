"""Labels of rows in ROS order: linear, then angular; needs no ROS."""

#: Rows of twists and Jacobians in ROS order, as labels.
TWIST_ROWS = ('vx', 'vy', 'vz', 'wx', 'wy', 'wz')

#: Rows of momenta in the same order: linear, then angular.
MOMENTUM_ROWS = ('px', 'py', 'pz', 'lx', 'ly', 'lz')

#: Rows of wrenches in the same order: force, then moment.
WRENCH_ROWS = ('fx', 'fy', 'fz', 'mx', 'my', 'mz')
