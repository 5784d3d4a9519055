"""Lie groups of rigid motion and the algebra of screws.

`so3` rotations, `se3` rigid motions, `so3xr3` their direct-product rival, `quaternions`, and
`screws`: axes, products, frame changes and the four representations of twists and wrenches.
"""

from screw_dynamics_ros.core.lie import quaternions, screws, se3, so3, so3xr3

__all__ = ['quaternions', 'screws', 'se3', 'so3', 'so3xr3']
