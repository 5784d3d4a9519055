# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Messages that the client of the demo receives in a run, as arrays by topic."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core.types import Array

Integers = NDArray[np.int64]

#: Outputs that carry the stamp of the joint state they were computed from.
STAMPED = ('tf', 'gravity', 'coriolis', 'feedforward', 'wrench')
#: All outputs.
OUTPUTS = (*STAMPED, 'jacobian')
#: Series of the driver: joint states, and true external torques of the joints.
DRIVER = ('joint_states', 'external')


#: Contents of a message: its stamp [ns], 0 if it has none, and its numbers.
Contents = tuple[int, Sequence[float]]


class Series:
    """The messages of one topic, stored serialized and read on request.

    Parameters
    ----------
    width : int
        Number of elements of a message.
    decode : callable
        Returns the contents of a message.
    """

    def __init__(self, width: int, decode: Callable[[Any], Contents]) -> None:
        self._width, self._decode = width, decode
        self._arrivals = array('q')
        self._messages: list[Any] = []
        self._all: tuple[Integers, Array] | None = None

    def __len__(self) -> int:
        return len(self._messages)

    def add(self, arrival: int, message: Any) -> None:
        """Append a message and its arrival time [ns since 1970]."""
        self._arrivals.append(arrival)
        self._messages.append(message)
        self._all = None

    def arrivals(self) -> Integers:
        """Return the times of arrival [ns]."""
        return np.array(self._arrivals, dtype=np.int64)

    @property
    def last_stamp(self) -> int:
        """Stamp of the last message [ns], 0 without messages."""
        return self._decode(self._messages[-1])[0] if self._messages else 0

    def stamps(self) -> Integers:
        """Return the stamps [ns]."""
        return self._read()[0]

    def values(self) -> Array:
        """Return the numbers, (messages, width)."""
        return self._read()[1]

    def _read(self) -> tuple[Integers, Array]:
        if self._all is None:
            contents = [self._decode(message) for message in self._messages]
            numbers = np.array([numbers for _, numbers in contents], dtype=np.float64)
            stamps = np.array([stamp for stamp, _ in contents], dtype=np.int64)
            self._all = stamps, numbers.reshape(len(contents), self._width)
        return self._all


class DemoRecording:
    """All series of a run.

    Parameters
    ----------
    joints : sequence of str
        The joints, in the order of all vectors of joint quantities.
    root, tool : str
        Frames.
    chain : sequence of seven numbers or None
        Transforms from the root to the tool frame: (x, y, z, qx, qy, qz, qw) for fixed ones, None
        for those in the messages of series 'tf', in this order.
    start : int
        Start of the run [ns since 1970].
    decoders : mapping
        Functions that deserialize the messages of a series; other series are stored as `Contents`.

    Attributes
    ----------
    series : dict
        By name: 'joint_states' with (q, v, effort); 'gravity', 'coriolis', 'feedforward' with
        torques [N m, N]; 'wrench' with (force, moment) on the tool [N, N m]; 'tf' as in `chain`;
        'jacobian' of the tool row by row; 'applied' with the commanded force on the tool, in the
        tool frame [N]; 'external' with the true external torques of the joints; 'model_state' with
        the numbers of all `STAMPED` from ~/model_state, empty without screw_dynamics_msgs.
    end : int or None
        Stamp of the last joint state with expected outputs [ns]; None: all joint states.
    """

    def __init__(
        self,
        joints: Sequence[str],
        root: str,
        tool: str,
        chain: Sequence[Sequence[float] | None],
        start: int,
        decoders: Mapping[str, Callable[[Any], Contents]] | None = None,
    ) -> None:
        self.joints = tuple(joints)
        self.root, self.tool = root, tool
        self.chain = tuple(chain)
        self.start = start
        self.end: int | None = None
        count = len(joints)
        widths = {
            'joint_states': 3 * count,
            'gravity': count,
            'coriolis': count,
            'feedforward': count,
            'wrench': 6,
            'tf': 7 * sum(c is None for c in chain),
            'jacobian': 6 * count,
            'applied': 3,
            'external': count,
        }
        widths['model_state'] = sum(widths[name] for name in STAMPED)
        self.series = {
            name: Series(width, (decoders or {}).get(name, as_it_is))
            for name, width in widths.items()
        }

    def time(self, name: str) -> Array:
        """Return the times of a series since the start [s]: stamps, else arrival times."""
        series = self.series[name]
        stamps = series.stamps() if name != 'jacobian' else series.arrivals()
        return seconds(stamps - self.start)

    def tool_pose(self, moving: Array) -> tuple[Array, Rotation]:
        """Return positions (n, 3) [m] and orientations of the tool in the root frame.

        Parameters
        ----------
        moving : (n, width) array
            Values of series 'tf', at least one.
        """
        position, rotation = np.zeros((len(moving), 3)), Rotation.identity(len(moving))
        column = 0
        for link in self.chain:
            if link is None:
                numbers = moving[:, column : column + 7]
                column += 7
            else:
                numbers = np.tile(link, (len(moving), 1))
            position = position + rotation.apply(numbers[:, :3])
            rotation = rotation * Rotation.from_quat(numbers[:, 3:])
        return position, rotation

    def latency(self) -> tuple[NDArray[np.intp], Array, Array]:
        """Return the latency of the outputs, for joint states with all outputs.

        Returns
        -------
        joint_states : (n,) array
            Indices of the joint states.
        since_arrival, since_stamp : (n,) arrays
            Time from the arrival of the joint state in this process, and from its stamp, to the
            arrival of the last of its stamped outputs [s].
        """
        states = self.series['joint_states']
        stamps, arrivals = states.stamps(), states.arrivals()
        complete: NDArray[np.intp] = np.arange(len(stamps))
        latest = np.zeros(len(stamps), dtype=np.int64)
        for name in STAMPED:
            series = self.series[name]
            _, mine, theirs = np.intersect1d(stamps, series.stamps(), return_indices=True)
            latest[mine] = np.maximum(latest[mine], series.arrivals()[theirs])
            complete = np.intersect1d(complete, mine)
        return (
            complete,
            seconds((latest - arrivals)[complete]),
            seconds((latest - stamps)[complete]),
        )

    def together(self, *names: str) -> tuple[Array, ...]:
        """Return time (n,) [s] and values (n, width) of messages with common stamps."""
        common = self.series[names[0]].stamps()
        for name in names[1:]:
            common = np.intersect1d(common, self.series[name].stamps())
        rows = []
        for name in names:
            _, _, index = np.intersect1d(common, self.series[name].stamps(), return_indices=True)
            rows.append(self.series[name].values()[index])
        return (seconds(common - self.start), *rows)


def as_it_is(contents: Contents) -> Contents:
    """Return the argument."""
    return contents


def seconds(nanoseconds: Integers) -> Array:
    """Return integers [ns] as floating point numbers [s]."""
    return np.asarray(nanoseconds * 1e-9, dtype=np.float64)


def singular_values(jacobians: Array) -> Array:
    """Return the singular values (n, up to 6), descending, of values (n, width) of 'jacobian'."""
    values = np.linalg.svd(jacobians.reshape(len(jacobians), 6, -1), compute_uv=False)
    return np.asarray(values, dtype=np.float64)
