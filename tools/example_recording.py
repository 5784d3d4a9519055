# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Write examples/recordings: a simulated Panda with a payload, pushed twice, and its drives.

    python tools/example_recording.py

60 s of joint states at 100 Hz and the description, as a driver would send them. The arm rests,
moves for 50 s, and rests. Its drives have friction and rotor inertias, sensors have noise, and a
payload that no description has is fixed to the hand. The drives, the payload and the thresholds of
contacts are those that `identify` finds in the same motion without pushes.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from screw_dynamics_ros.cli.identify import command as identify
from screw_dynamics_ros.core import Drive, Robot, bundled_urdf
from screw_dynamics_ros.core.identification.fourier_motion import FourierMotion, FourierSeries
from screw_dynamics_ros.core.simulation import SimulatedRobot
from screw_dynamics_ros.core.simulation.joint_sensor import JointSensor, SensorFaults
from screw_dynamics_ros.core.simulation.joint_servo import JointServo

PLACE = Path(__file__).resolve().parents[1] / 'examples' / 'recordings' / 'panda.mcap'
DRIVES = PLACE.with_name('panda_drives.yaml')
START = 1_750_000_000_000_000_000  # ns
STEP, PERIOD = 2_000_000, 10_000_000  # ns, of the simulation and of joint states
REST, MOTION = 5.0, 50.0  # s

#: 1.3 kg in front of the hand.
PAYLOAD = """
  <link name="payload">
    <inertial>
      <origin xyz="0.01 0 0.12"/>
      <mass value="1.3"/>
      <inertia ixx="0.004" ixy="0" ixz="0" iyy="0.004" iyz="0" izz="0.002"/>
    </inertial>
  </link>
  <joint name="payload_joint" type="fixed">
    <parent link="panda_hand"/>
    <child link="payload"/>
  </joint>
</robot>
"""

#: Begin and end [s], link, and wrench (moment, force) in its frame [N m, N].
PUSHES = (
    (24.0, 24.6, 'panda_hand', (0.0, 0.0, 0.0, 0.0, 25.0, 0.0)),
    (57.0, 57.5, 'panda_link4', (0.0, 0.0, 0.0, 0.0, 0.0, -40.0)),
)


def reference(robot: Robot, time: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and velocities (N, nv) [rad, m; rad/s, m/s]; the fingers rest."""
    n = robot.nv
    series = FourierSeries(MOTION / 2, 8)
    numbers = np.random.default_rng(5).normal(size=(n, series.size))
    a, b = series.coefficients(numbers)
    speed = np.where(np.arange(n) < 7, 0.9, 0.0)[:, None]
    far, fast, _ = np.abs(FourierMotion(MOTION / 2, np.zeros(n), a, b).at(np.linspace(0, 25, 2500)))
    reach = 0.45 * (robot.limits.upper - robot.limits.lower)  # not to the stops of joints
    scale = np.minimum(speed / fast.max(axis=0)[:, None], (reach / far.max(axis=0))[:, None])
    center = 0.5 * (robot.limits.lower + robot.limits.upper)
    motion = FourierMotion(MOTION / 2, center, scale * a, scale * b)
    q, v, _ = motion.at(np.clip(time - REST, 0.0, MOTION))
    return q, np.where((time > REST) & (time < REST + MOTION), v.T, 0.0).T


def joint_states(pushes: tuple) -> list[tuple[int, np.ndarray]]:
    """Return stamps [ns] and position, velocity and effort (3, nv) of each joint state."""
    nominal = Robot.from_urdf(bundled_urdf('panda'))
    limits = nominal.limits.effort
    drives = {
        name: Drive(armature=0.002 * x, damping=0.01 * x, coulomb=0.012 * x, smoothing=0.01)
        for name, x in zip(nominal.joint_names[:7], limits)
    }
    text = bundled_urdf('panda').read_text()
    robot = Robot.from_urdf(text.replace('</robot>', PAYLOAD), drives=drives)
    count = round((2 * REST + MOTION) * 1e9) // STEP
    q, v = reference(robot, np.arange(count) * STEP * 1e-9)
    simulated, servo = SimulatedRobot(robot, q[0]), JointServo(nominal, frequency=15.0)
    sensor = JointSensor(robot.joint_names, seed=1)
    sensor.faults = SensorFaults(
        position_noise=(2e-5,),
        velocity_noise=(1e-3,),
        effort_noise=tuple((0.001 * limits).tolist()),
        position_resolution=(1e-6,),
        velocity_resolution=(1e-4,),
        effort_resolution=(1e-3,),
    )
    modes = ['position'] * robot.nv
    for k in range(count):
        time = k * STEP * 1e-9
        wrenches = {link: np.array(w) for begin, end, link, w in pushes if begin <= time < end}
        tau = servo.torques(simulated.q, simulated.v, modes, q[k], v[k], np.zeros(robot.nv))
        if k * STEP % PERIOD == 0:
            sensor.measure(START + k * STEP, simulated.q, simulated.v, tau)
        simulated.step(tau, STEP * 1e-9, wrenches)
    return [(each.stamp, each.values) for each in sensor.arrived(START + count * STEP)]


def write(path: Path, pushes: tuple) -> None:
    """Write a recording as one MCAP file, compressed."""
    store = get_typestore(Stores.ROS2_JAZZY)
    Time, Header, JointState, String = (
        store.types[name]
        for name in (
            'builtin_interfaces/msg/Time',
            'std_msgs/msg/Header',
            'sensor_msgs/msg/JointState',
            'std_msgs/msg/String',
        )
    )
    robot = Robot.from_urdf(bundled_urdf('panda'), backend='reference')
    with tempfile.TemporaryDirectory() as folder:
        bag = Writer(Path(folder) / 'bag', version=9, storage_plugin=StoragePlugin.MCAP)
        bag.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
        with bag:
            topics = {
                name: bag.add_connection(name, kind.__msgtype__, typestore=store)
                for name, kind in (('/robot_description', String), ('/joint_states', JointState))
            }

            def send(topic: str, stamp: int, message: object) -> None:
                connection = topics[topic]
                bag.write(connection, stamp, store.serialize_cdr(message, connection.msgtype))

            send('/robot_description', START, String(bundled_urdf('panda').read_text()))
            for stamp, values in joint_states(pushes):
                header = Header(Time(*divmod(stamp, 10**9)), '')
                send('/joint_states', stamp, JointState(header, list(robot.joint_names), *values))
        (written,) = (Path(folder) / 'bag').glob('*.mcap')
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(written.read_bytes())


def write_drives(path: Path) -> None:
    """Write the parameter file that `identify` makes of the motion without pushes."""
    with tempfile.TemporaryDirectory() as folder:
        free, found = Path(folder) / 'free.mcap', Path(folder) / 'identified'
        write(free, ())
        identify.main([str(free), '--payload', 'panda_hand', '-o', str(found)])
        path.write_bytes((found / 'drives.yaml').read_bytes())


if __name__ == '__main__':
    write(PLACE, PUSHES)
    write_drives(DRIVES)
