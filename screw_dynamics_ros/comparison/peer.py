# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The interface of programs to compare with, and functions common to all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..core.description import Inertia, RobotDescription
from ..core.types import Array
from .quantities import SampledStates, Values
from .reading import DescriptionReading, JointMap


class RefusalError(Exception):
    """A program is not installed, or refuses the file; the text gives its reason."""


@dataclass(frozen=True, eq=False)
class ModelSource:
    """Description and options of a comparison.

    Attributes
    ----------
    text : str
        The URDF that the program reads.
    description, theirs : RobotDescription
        What this package reads in ours, and in theirs.
    gravity : (3,) array
        Acceleration of free fall in the root frame [m/s^2].
    tip : str
        Last link of a program that computes chains only; empty: the one with most joints before it.
    mjcf : str
        Path of the model that MuJoCo reads instead; empty for the URDF.
    armatures : {joint: float}
        Reflected inertias of ours [kg m^2, kg], which a URDF cannot give.
    drives_are_given : bool
        Whether the programs get armatures and the viscous friction of `description`, instead of
        those that they read.
    """

    text: str
    description: RobotDescription
    theirs: RobotDescription
    gravity: Array
    tip: str = ''
    mjcf: str = ''
    armatures: Mapping[str, float] = field(default_factory=dict)
    drives_are_given: bool = False


@dataclass(frozen=True, eq=False)
class FullState:
    """What a program computes in one state, in coordinates of all n scalar joints.

    Attributes
    ----------
    mass : float
        Of the moving links [kg].
    center : (3,) array
        Their center of mass in the root frame [m].
    poses : {link: (4, 4) array}
        In the root frame.
    mass_matrix : (n, n) array
    gravity, bias : (n,) arrays
        Gravity torques; Coriolis and gravity torques [N m, N].
    kinetic, potential : float
        Energies [J]; the potential one of the moving links.
    """

    mass: float
    center: Array
    poses: Mapping[str, Array]
    mass_matrix: Array
    gravity: Array
    bias: Array
    kinetic: float
    potential: float


@dataclass(frozen=True, eq=False)
class PeerReading:
    """The model that a program reports to have read.

    Attributes
    ----------
    reading : DescriptionReading
        Field by field.
    bodies : {link: Inertia}
        Rigid bodies of the model it computes with, where it merges links that are fixed to one
        another, by the link at their head, in its frame; empty if it does not report them.
    """

    reading: DescriptionReading
    bodies: Mapping[str, Inertia] = field(default_factory=dict)


class Peer(ABC):
    """A program with a model of the robot.

    Attributes
    ----------
    name, version : str
    subject : RobotDescription
        The part of our description that the program can compute.
    ours : DescriptionReading
        The same with the armatures of ours.
    theirs : RobotDescription
        What our reader finds in the file that it reads, of the same part.
    notes : list of str
        What the program leaves out, or gets from here.
    """

    name = ''

    def __init__(
        self,
        source: ModelSource,
        version: str,
        subject: RobotDescription | None = None,
        theirs: RobotDescription | None = None,
    ) -> None:
        self.subject = source.description if subject is None else subject
        self.theirs = source.theirs if theirs is None else theirs
        self.version = version
        self.notes: list[str] = []
        self.joints = JointMap.of(self.subject)
        self.ours = DescriptionReading(self.subject, source.armatures)
        self.drives_are_given = source.drives_are_given
        if self.drives_are_given:
            self.notes.append('uses the current armatures and viscous friction')

    @property
    def given_drives(self) -> list[tuple[str, float, float]]:
        """Name, armature and viscous friction of the scalar joints, if the program gets them."""
        return [
            (name, float(self.ours.armatures.get(name, 0.0)), self.ours.joint(name).damping)
            for name in (self.joints.names if self.drives_are_given else ())
        ]

    @abstractmethod
    def read(self) -> PeerReading:
        """Return what the program has read of the links and joints that are in our description."""

    @abstractmethod
    def compute(self, q: Array, v: Array) -> FullState:
        """Return what it computes for all scalar joints, (n,) each."""

    @abstractmethod
    def damping(self) -> Array:
        """Return the viscous friction of all scalar joints that forward dynamics have (n,)."""

    def accelerate(self, q: Array, v: Array, tau: Array) -> Array | None:
        """Return the accelerations (n,) of all scalar joints; None if it has no such function."""
        return None

    def values(self, states: SampledStates) -> Values:
        """Return the quantities in terms of the joints that follow no other.

        With q_all = G q + c the mass matrix is G^T M G and torques are G^T tau, so that mimic
        joints, which hardly any program couples, do not hide everything else.
        """
        G, c = self.joints.gain, self.joints.offset
        coupled = G.shape[0] != G.shape[1]
        found: dict[str, list[Array]] = {}
        links: tuple[str, ...] = ()
        for q, v, tau in zip(states.q, states.v, states.tau):
            full = self.compute(G @ q + c, G @ v)
            M = G.T @ full.mass_matrix @ G
            bias = G.T @ (full.bias + self.damping() * (G @ v))
            a = None if coupled else self.accelerate(q, v, tau)  # then G = 1, c = 0
            if a is None:
                a = np.linalg.solve(M, tau - bias) if is_regular(M) else np.full(len(tau), np.nan)
            links = tuple(each.name for each in self.subject.links if each.name in full.poses)
            poses = np.array([full.poses[link] for link in links]).reshape(-1, 4, 4)
            for name, value in {
                'mass': full.mass,
                'center of mass': full.center,
                'link positions': poses[:, :3, 3],
                'link orientations': poses[:, :3, :3],
                'mass matrix': M,
                'gravity torques': G.T @ full.gravity,
                'Coriolis torques': G.T @ (full.bias - full.gravity),
                'forward dynamics': a,
                'kinetic energy': full.kinetic,
                'potential energy': full.potential,
            }.items():
                found.setdefault(name, []).append(np.asarray(value))
        return Values({name: np.array(each) for name, each in found.items()}, links)


def is_regular(M: Array) -> bool:
    """Return whether a mass matrix can be solved with."""
    return bool(np.isfinite(M).all() and (not M.size or np.linalg.cond(M) < 1e15))
