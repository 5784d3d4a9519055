# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contact localization from external joint torques: link, point along it, and force.

A single contact transmits a force and no moment. It loads only joints that move the touched body:
the contact is beyond the last joint with a torque above its noise. Each segment beyond that joint
is a hypothesis (see `contact_hypothesis`) with four unknowns, the force f and the position s along
the segment. They are compared by their evidence, in Laplace's approximation with f ~ N(0, F^2) and
s uniform,

    -2 log E = chi^2 + f^T f / F^2 + log det S + 3 log F^2 + log det (H + H_s),             (1)

which prefers fewer unknowns if two links explain the torques equally well. H^-1 is the covariance
of f and s to first order. With six joints or more, the torques determine the whole wrench: the
result is the point where its axis, of pitch zero, intersects the link, and a moment is a misfit.

Source: Haddadin, De Luca and Albu-Schaeffer, Robot collisions: a survey on detection, isolation and
identification (2017), sections V and VI; the comparison by evidence is derived here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import float_array
from ..compile.calls import compiled_into
from ..compile.kernels import Kernel, KernelSpecification, choose_backend, make_kernel
from ..errors import ArgumentError
from ..types import Array
from . import contact_hypothesis
from .contact_hypothesis import GRID, PRIOR_INFORMATION
from .link_segments import Segment

REFINED_HYPOTHESES = 8  # refined hypotheses, those with the smallest misfits on the grid
LANES = 8  # largest number of samples that a processor computes at once
UNIFORM_INFORMATION = 12.0  # information of a uniform distribution of s
MIN_SEGMENT_LENGTH = 1e-9  # m; length used for a segment that is a point


@dataclass(frozen=True)
class LocalizationOptions:
    """Conditions for reporting a contact.

    Attributes
    ----------
    detection : float
        Threshold for an external torque, in standard deviations.
    link_radius : float
        r of parts without a shape [m].
    force : float
        F, the expected magnitude of forces [N].
    largest_deviation : float
        Largest standard deviation of the position along a link to report it [m].
    least_probability : float
        Smallest probability of a link to report it.
    confidence : float
        Quantile of chi^2 above which a misfit is refused.
    """

    detection: float = 5.0
    link_radius: float = 0.05
    force: float = 50.0
    largest_deviation: float = 0.05
    least_probability: float = 0.9
    confidence: float = 0.999


@dataclass(frozen=True, eq=False)
class LocatedContact:
    """A contact; vectors are in the frame of the link.

    Attributes
    ----------
    segment : Segment
        The link and its part.
    point : (3,) array
        Intersection of the line of action with the shape of the part, or with the axis [m].
    covariance : (3, 3) array
        Covariance of the point [m^2].
    along, deviation : float
        Distance from the start of the axis, and its standard deviation [m].
    force, force_covariance : (3,) and (3, 3) arrays
        Force of the environment on the robot, and its covariance [N, N^2].
    probability : float
        Probability of the link, among all links.
    """

    segment: Segment
    point: Array
    covariance: Array
    along: float
    deviation: float
    force: Array
    force_covariance: Array
    probability: float

    @property
    def wrench(self) -> Array:
        """Moment and force (6,) of the environment on the robot at the origin of the link."""
        return np.concatenate([np.cross(self.point, self.force), self.force])

    @property
    def frame(self) -> Array:
        """A pose (4, 4) in the frame of the link: at the point, with x along the force."""
        x = self.force / np.linalg.norm(self.force)
        y = np.cross(np.eye(3)[np.argmin(np.abs(x))], x)
        y /= np.linalg.norm(y)
        pose = np.eye(4)
        pose[:3] = np.column_stack([x, y, np.cross(x, y), self.point])
        return pose

    @property
    def frame_covariance(self) -> Array:
        """Covariance of `frame`, (6, 6): rotations about the axes of the link, then translations.

        The rotation about the force is arbitrary and has zero variance.
        """
        f = self.force
        turn = np.cross(np.eye(3), f).T / (f @ f)  # the rotation f x df / |f|^2
        covariance = np.zeros((6, 6))
        covariance[:3, :3] = turn @ self.force_covariance @ turn.T
        covariance[3:, 3:] = self.covariance
        return covariance


@dataclass(frozen=True)
class Localization:
    """A contact, or the reason why none is reported.

    Attributes
    ----------
    contact : LocatedContact or None
    link : str
        The touched link, '' if unknown; it may be known even if the point is not.
    reason : str
        Why there is no contact; '' if there is one.
    """

    contact: LocatedContact | None = None
    link: str = ''
    reason: str = ''


@dataclass(frozen=True, eq=False)
class Hypotheses:
    """The k segments that may be touched.

    Attributes
    ----------
    segments : (k,) array of int
    f, s : (k, 3) and (k,) arrays
        Force in the frame of the link [N], and position as fraction of the axis.
    information : (k, 4, 4) array
        H.
    chi2, score : (k,) arrays
        Misfit, and (1) without its constant.
    """

    segments: Array
    f: Array
    s: Array
    information: Array
    chi2: Array
    score: Array


class ContactLocator:
    """Finds the contact that explains external torques.

    Parameters
    ----------
    segments : sequence of Segment
    joints : sequence of str
        Joints of the torques, in order.
    backend : {'auto', 'native', 'python', 'reference'}
    options : LocalizationOptions, optional

    Attributes
    ----------
    links : tuple of str
        The links whose body Jacobians are needed, in this order.

    Examples
    --------
    A push at the tool; joint torques have a standard deviation of 0.1 N m.

    >>> from screw_dynamics_ros.core import Robot
    >>> from screw_dynamics_ros.core.estimation.link_segments import link_segments
    >>> robot = Robot.from_urdf('urdf/panda.urdf')
    >>> q = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.7, 0.02])
    >>> segments = link_segments(robot.description, robot.joint_names)
    >>> locator = ContactLocator(segments, robot.joint_names)
    >>> push = np.array([0, 0, 0, 15.0, -20.0, 10.0])
    >>> torques = robot.jacobian(q, 'panda_hand_tcp', 'hybrid').T @ push
    >>> jacobians = np.array([robot.jacobian(q, link, 'body') for link in locator.links])
    >>> contact = locator.locate(jacobians, torques, 0.01 * np.eye(8)).contact
    >>> contact.segment.link, contact.segment.part, round(contact.along, 3)
    ('panda_link7', 'to panda_hand_tcp', 0.21)
    """

    def __init__(
        self,
        segments: Sequence[Segment],
        joints: Sequence[str],
        backend: str = 'auto',
        options: LocalizationOptions | None = None,
    ) -> None:
        self.segments, self.joints = tuple(segments), tuple(joints)
        self.links = tuple(dict.fromkeys(segment.link for segment in segments))
        self._places = np.array([self.links.index(each.link) for each in segments], dtype=int)
        self._lines = np.array(
            [[*each.start, *(each.end - each.start)] for each in segments], dtype=float
        ).reshape(-1, 6)
        self._squares = np.maximum((self._lines[:, 3:] ** 2).sum(axis=1), MIN_SEGMENT_LENGTH**2)
        self._moves = np.array(
            [[joint in each.joints for joint in joints] for each in segments], dtype=bool
        ).reshape(-1, len(self.joints))
        self._lengths = np.linalg.norm(self._lines[:, 3:], axis=1)
        self._behind: dict[bytes, Array] = {}
        self._prepare(choose_backend(backend))
        self.options = options or LocalizationOptions()

    def _prepare(self, backend: str) -> None:
        """Compile the two functions, for all segments and for the best ones."""
        count, n = len(self.segments), len(self.joints)
        if not count:
            return
        all_of_them, best = padded(count), padded(min(count, REFINED_HYPOTHESES))
        search, refine = kernels(n, backend)
        self._search = compiled_into(search, stacks=True)
        self._refine = compiled_into(refine, stacks=True)
        self._all = np.minimum(np.arange(all_of_them), count - 1)
        self._all_places, self._all_lines = self._places[self._all], self._lines[self._all]
        self._misfits = np.zeros((all_of_them, len(GRID)))
        shapes = (best, 4), (best, 4, 4), (best, 1), (best, 3)
        self._refinements = tuple(np.zeros(shape) for shape in shapes)

    @property
    def options(self) -> LocalizationOptions:
        """Conditions for reporting a contact; can be replaced at any time."""
        return self._options

    @options.setter
    def options(self, options: LocalizationOptions) -> None:
        self._options = options
        radii = [
            options.link_radius if each.shape is None else each.shape.axis()[2]
            for each in self.segments
        ]
        self._offsets = 0.25 * np.array(radii) ** 2  # (r / 2)^2
        self._strength = np.array([options.force**-2])
        self._largest_misfit = [
            chi2_quantile(options.confidence, k + 1) for k in range(len(self.joints))
        ]

    def locate(
        self, jacobians: ArrayLike, torques: ArrayLike, covariance: ArrayLike
    ) -> Localization:
        """Return the contact of one state, or why it cannot be estimated.

        Parameters
        ----------
        jacobians : (len(links), 6, n) array
            Body Jacobians, angular rows first.
        torques : (n,) array
            tau: external torques of the environment on the robot [N m, N].
        covariance : (n, n) array
            S_tau: their covariance including model errors; positive definite.

        Raises
        ------
        ArgumentError
            Arrays of other shapes, or a torque without a positive variance.
        """
        n = len(self.joints)
        J = float_array('jacobians', jacobians)
        tau, S = float_array('torques', torques), float_array('covariance', covariance)
        wanted = (len(self.links), 6, n), (n,), (n, n)
        if (J.shape, tau.shape, S.shape) != wanted:
            raise ArgumentError(
                f'jacobians, torques and covariance must have the shapes {wanted}, got '
                f'{(J.shape, tau.shape, S.shape)}'
            )
        variances = S.diagonal()
        if (variances <= 0.0).any():
            joint = self.joints[int(np.argmax(variances <= 0.0))]
            raise ArgumentError(f'the variance of the torque of {joint!r} must be positive')
        if not all(np.isfinite(array).all() for array in (J, tau, S)):
            return Localization(reason='torques, their covariance or Jacobians are not finite')
        loud = np.abs(tau) > self.options.detection * np.sqrt(variances)
        if not loud.any():
            return Localization(reason='no external torque is beyond its noise')
        behind = self._behind_joints(loud)
        if not behind.any():
            names = (name for name, is_loud in zip(self.joints, loud) if is_loud)
            return Localization(
                reason='no known part of a link is moved by all joints with external torques: '
                + ', '.join(names),
            )
        try:
            factor = np.linalg.inv(np.linalg.cholesky(S))
        except np.linalg.LinAlgError:
            return Localization(reason='the covariance of the torques is not positive definite')
        found = self._compared(behind, J @ factor.T, factor @ tau)
        if not np.isfinite(found.score).all():
            return Localization(reason='torques are too large to compute with')
        return self._judged(found)

    def locate_all(
        self, jacobians: ArrayLike, torques: ArrayLike, covariance: ArrayLike
    ) -> list[Localization]:
        """Return the contacts of N states: `locate` for stacks (N, ...), one covariance or N."""
        J, tau = float_array('jacobians', jacobians), float_array('torques', torques)
        S = float_array('covariance', covariance)
        if len(J) != len(tau) or (S.ndim == 3 and len(S) != len(tau)):
            raise ArgumentError(
                f'jacobians, torques and covariances of as many states are needed, got {len(J)}, '
                f'{len(tau)} and {len(S) if S.ndim == 3 else 1}'
            )
        return [self.locate(J[k], tau[k], S[k] if S.ndim == 3 else S) for k in range(len(tau))]

    def _behind_joints(self, loud: Array) -> Array:
        """Return which segments are moved by all joints with torques."""
        key = loud.tobytes()
        if key not in self._behind:
            self._behind[key] = np.all(self._moves | ~loud, axis=1)
        return self._behind[key]

    def _compared(self, behind: Array, J: Array, tau: Array) -> Hypotheses:
        """Return the best hypotheses among the segments behind the joints with torques.

        J L^-T and L^-1 tau with S_tau = L L^T, as in `contact_hypothesis`.
        """
        flat, strength = J.reshape(len(J), -1), self._strength
        self._search(flat[self._all_places], self._all_lines, tau, strength, self._misfits)
        misfits = self._misfits[: len(behind)]
        least = np.where(behind, misfits.min(axis=1), np.inf)
        slots = len(self._refinements[0])
        chosen = np.argsort(least)[:slots]
        count = min(len(chosen), int(behind.sum()))
        chosen = chosen[np.minimum(np.arange(slots), count - 1)]  # repeat the last one as padding
        starts = np.array(
            [GRID[misfits[chosen].argmin(axis=1)], self._squares[chosen], self._offsets[chosen]]
        ).T.copy()
        self._refine(
            flat[self._places[chosen]],
            self._lines[chosen],
            starts,
            tau,
            strength,
            *self._refinements,
        )
        x, H, chi2, det = (each[:count] for each in self._refinements)
        f, widened = x[:, :3], H.copy()
        widened[:, 3, 3] += UNIFORM_INFORMATION
        score = chi2[:, 0] + strength * (f * f).sum(axis=1)
        score += np.log(np.linalg.det(widened) * det.prod(axis=1))
        return Hypotheses(chosen[:count], f, x[:, 3], H, chi2[:, 0], score)

    def _judged(self, found: Hypotheses) -> Localization:
        """Select a hypothesis, and refuse results that the torques do not determine."""
        best, links = int(np.argmin(found.score)), self._places[found.segments]
        shares = np.exp(-0.5 * (found.score - found.score[best]))
        same = links == links[best]
        probability = float(shares[same].sum() / shares.sum())
        segment = self.segments[found.segments[best]]
        P = np.linalg.inv(found.information[best])
        if not (P.diagonal() > 0.0).all():  # lost in rounding
            return Localization(
                reason='the covariance of the torques is too badly conditioned to compute with'
            )
        resolved = 4.0 - float(
            self._strength[0] * (P[0, 0] + P[1, 1] + P[2, 2]) + PRIOR_INFORMATION * P[3, 3]
        )
        # without a degree of freedom there is a misfit beyond the ends of the segment only
        degrees, chi2 = max(len(self.joints) - round(resolved), 1), float(found.chi2[best])
        if not chi2 <= self._largest_misfit[degrees - 1]:
            return Localization(
                reason=f'no single force on one link explains the torques: misfit {chi2:.3g} with '
                f'{degrees} degrees of freedom at {segment.link}, the best one; a moment, several '
                'contacts, or errors of the model beyond those stated',
            )
        if not probability >= self.options.least_probability:
            other = int(np.argmin(np.where(same, np.inf, found.score)))
            return Localization(
                reason=f'two links explain the torques: {segment.link}, with probability '
                f'{probability:.2f}, or {self.segments[found.segments[other]].link}',
            )
        return self._told(segment, found, best, P, probability)

    def _told(
        self, segment: Segment, found: Hypotheses, best: int, P: Array, probability: float
    ) -> Localization:
        """Return the point on a segment, if its standard deviation is small enough."""
        index, s = found.segments[best], float(found.s[best])
        length = float(self._lengths[index])
        deviation = length * float(P[3, 3]) ** 0.5
        if not deviation <= self.options.largest_deviation:
            count = len(segment.joints)
            return Localization(
                link=segment.link,
                reason=f'{segment.link} is touched, but the torques of the {count} joints that '
                'move it do not determine the point'
                + (': four are needed for a force and a point' if count < 4 else ''),
            )
        f, d = found.f[best], self._lines[index, 3:]
        point = segment.start + s * d
        entry = segment.shape.entry(point, f) if segment.shape is not None else None
        across = np.eye(3) - np.outer(d, d) / self._squares[index]
        return Localization(
            LocatedContact(
                segment,
                point if entry is None else entry,
                P[3, 3] * np.outer(d, d) + self._offsets[index] * across,
                s * length,
                deviation,
                f,
                P[:3, :3],
                probability,
            ),
            segment.link,
        )


def chi2_quantile(share: float, degrees: int) -> float:
    """Return the quantile of chi^2 for a probability (Wilson and Hilferty 1931).

    At most 3.1 % too large for the probabilities used here; importing scipy would take long.

    >>> round(chi2_quantile(0.999, 4), 1)  # 18.5
    18.7
    """
    spread = 2.0 / (9.0 * degrees)
    return degrees * float(1.0 - spread + NormalDist().inv_cdf(share) * spread**0.5) ** 3


def padded(count: int) -> int:
    """Return the next number that fills the SIMD vectors of compiled stacks."""
    return -(-count // LANES) * LANES


def kernels(n: int, backend: str) -> tuple[Kernel, Kernel]:
    """Return kernels of `contact_hypothesis.misfits` and `refined` for stacks of segments."""
    hypothesis = (('jacobian', 6 * n), ('segment', 6))
    common = (('torques', n), ('strength', 1))
    uniform = frozenset(name for name, _ in common)

    def kernel(name: str, own: tuple[tuple[str, int], ...], build: Any) -> Kernel:
        inputs, identity = (*hypothesis, *own, *common), f'{name} {n}'
        return make_kernel(KernelSpecification(name, inputs, build, identity, uniform), backend)

    start = (('start', 3),)
    return kernel('misfits of contacts', (), searched), kernel('places of contacts', start, refined)


def searched(jacobian: Array, segment: Array, torques: Array, strength: Array) -> tuple[Array, ...]:
    """Return `contact_hypothesis.misfits` for vector arguments, as a tuple."""
    J = jacobian.reshape(6, -1)
    return (contact_hypothesis.misfits(J, segment, torques, strength),)


def refined(
    jacobian: Array, segment: Array, start: Array, torques: Array, strength: Array
) -> tuple[Array, ...]:
    """Return `contact_hypothesis.refined` for vector arguments."""
    J = jacobian.reshape(6, -1)
    return contact_hypothesis.refined(J, segment, start, torques, strength)
