# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""
A machine with closed loops
===========================

An excavator: a URDF, and a file that closes its four loops. All functions are in the coordinates of
its cylinders.

Run: python examples/08_closed_loops.py
"""

import numpy as np
import yaml
from matplotlib import pyplot as plt

from screw_dynamics_ros.core import Robot, bundled_urdf
from screw_dynamics_ros.core.mechanisms.closures import ClosedRobot, read_loop_closures

urdf = bundled_urdf('excavator')
file = urdf.with_name('excavator_closures.yaml')
closures = read_loop_closures(yaml.safe_load(file.read_text()))
excavator = ClosedRobot(Robot.from_urdf(urdf), closures)
print('motors:', ', '.join(excavator.joint_names))

# %%
# Boom and arm cylinders through their strokes: where the tooth gets, and with which force the boom
# cylinder holds the weight there. Each posture is the seed of the next one.
tooth, force = [], []
for boom in np.linspace(0.12, 0.36, 13):
    seed = None
    for stroke in np.linspace(0.12, 0.4, 15):
        q = [0.0, boom, stroke, 0.25]
        closing = excavator.close(q, seed)
        if not closing.success:
            continue
        seed = closing.q
        tooth.append(excavator.link_pose(q, 'tooth', seed)[[0, 2], 3])
        force.append(excavator.gravity_torques(q, seed)[1])
print(f'the boom cylinder holds {min(force) / 1e3:.1f} to {max(force) / 1e3:.1f} kN')
found = excavator.mobility([0.0, 0.2, 0.25, 0.25])
print(f'{found.joint_freedoms} joint freedoms, rank {found.rank}, mobility {found.mobility}')

# %%
figure, place = plt.subplots(figsize=(7, 4.6), layout='constrained')
shades = place.scatter(*np.array(tooth).T, c=np.array(force) / 1e3, s=30, cmap='viridis')
figure.colorbar(shades, label='force of the boom cylinder [kN]')
pairs = [(joint.parent, joint.child) for joint in excavator.robot.description.joints]
for q, color in (([0.0, 0.17, 0.3, 0.32], '0.35'), ([0.0, 0.3, 0.15, 0.1], '0.65')):
    poses = dict(zip(excavator.link_names, excavator.link_poses(q)))
    for pair in pairs:
        style = {'color': 'tab:blue', 'lw': 4} if pair[1].endswith('rod') else {'color': color}
        place.plot(*np.array([poses[link][[0, 2], 3] for link in pair]).T, '.-', **style)
    for cut in closures.closures:
        ends = [
            (poses[link] @ frame)[[0, 2], 3]
            for link, frame in ((cut.parent, cut.parent_frame), (cut.child, cut.child_frame))
        ]
        place.plot(*np.transpose([poses[cut.child][[0, 2], 3], *ends]), '.-', color=color)
place.set(xlabel='x [m]', ylabel='z [m]', aspect='equal')
plt.show()
