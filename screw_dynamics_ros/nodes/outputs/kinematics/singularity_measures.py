# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Singularity measures of links: `~/singularity/<frame>`, /diagnostics."""

from __future__ import annotations

from typing import Any

import numpy as np

from screw_dynamics_ros.core.arms.inverse.manipulability import (
    MEASURES,
    Dexterity,
    dexterity,
    freedoms,
)
from screw_dynamics_ros.core.estimation.link_measures import LinkMeasures, measure_link
from screw_dynamics_ros.core.robot.functions import Output
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.hosting.drawing import DrawnNumbers, source_of
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.ros.data_path.loop import compiled_step
from screw_dynamics_ros.ros.data_path.records import LoopRecord
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.parameters import Parameters, Specification
from screw_dynamics_ros.ros.process.rate_limit import RateLimit
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.channel_record import CALL, NOT_VALID, VALID, Gate

RANDOM_SAMPLES = 3  # random configurations; at least one is regular
MAX_CONDITION = 1e12  # of the mass matrix as joint metric

METRICS = ('identity', 'inertia')

TABLE = (
    Specification(
        'characteristic_length',
        0.2,
        'Factor between angular and linear velocities in singular values and manipulability [m].',
        minimum=1e-6,
    ),
    Specification(
        'joint_metric',
        'identity',
        'Norm of joint rates. identity: root of the sum of squares, with 1 rad/s equal to 1 '
        'm/s; inertia: root of twice the kinetic energy.',
        choices=METRICS,
    ),
    Specification(
        'singularity_rate',
        50.0,
        'Rate of ~/singularity/<frame> [Hz], at most the rate of the joint states.',
        minimum=1.0,
        maximum=1000.0,
    ),
    Specification(
        'singularity_threshold',
        0.02,
        'Smallest singular value of the Jacobian in these metrics below which /diagnostics warn '
        '[m, with joint_metric inertia 1/sqrt(kg)]. 0: never.',
        minimum=0.0,
    ),
)


@compiled_step
def fill_measures(link: LinkMeasures, loop: LoopRecord) -> int:
    """Write the measures of the current state, unless one of them cannot be published."""
    return VALID if measure_link(link) else NOT_VALID


class Singularities:
    """The singularity measures of links of one robot.

    Parameters
    ----------
    model : RunningModel
    mapper : JointStateMapper
        The state of its joints.
    jacobians : mapping
        Output with the body Jacobian of each link; columns are the joints of the model.
    inertia : output, optional
        The mass matrix of these joints, if it is the joint metric.
    parameters : Parameters
        With the rows of `TABLE`.
    """

    def __init__(
        self,
        model: RunningModel,
        mapper: JointStateMapper,
        jacobians: dict[str, Output | Formula],
        inertia: Output | Formula | None,
        parameters: Parameters,
    ) -> None:
        self._model, self._mapper, self._parameters = model, mapper, parameters
        self._jacobians, self._inertia = jacobians, inertia
        self._topics: dict[str, tuple[LinkMeasures, Channel]] = {}
        samples = random_samples(model)
        self._freedoms = {
            link: freedoms(np.array([sample[output] for sample in samples]))
            for link, output in jacobians.items()
        }
        #: Whether the joint metric is positive definite.
        self.is_defined = inertia is None or all(
            np.linalg.cond(sample[inertia]) < MAX_CONDITION for sample in samples
        )

    @property
    def joint_metric(self) -> DrawnNumbers | None:
        """The joint metric for a drawing; None for the identity."""
        if self._inertia is None:
            return None
        return source_of(self._model, self._inertia)

    def channel(self, link: str, token: str, publisher: Any) -> Channel:
        """Return the topic of a link, with its name in topics."""
        results, template = self._model.results, templates.matrix(MEASURES)
        measures = LinkMeasures(
            len(self._model.joints),
            self._freedoms[link],
            results[self._jacobians[link]],
            None if self._inertia is None else results[self._inertia],
            template.array(0),
        )
        channel = Channel(
            publisher,
            template,
            name=f'singularity/{token}',
            gates=(Gate(CALL, measures, fill_measures),),
            is_held=True,
            follows_states=False,
        )
        self._topics[link] = measures, channel
        self.use_parameters()
        return channel

    def use_parameters(self) -> None:
        """Apply changed parameters."""
        for measures, channel in self._topics.values():
            measures.set_length(self._parameters['characteristic_length'])
            channel.rate = RateLimit(self._parameters['singularity_rate'])

    def _measure(self, link: str, results: dict[Output | Formula, Array]) -> Dexterity:
        metric = None if self._inertia is None else results[self._inertia]
        return dexterity(
            results[self._jacobians[link]],
            self._freedoms[link],
            self._parameters['characteristic_length'],
            metric,
        )

    def status(self) -> Status:
        """Report on the latest state, with or without subscribers."""
        status = Status('singularities')
        mapper, parameters = self._mapper, self._parameters
        status.values['characteristic length [m]'] = f'{parameters["characteristic_length"]:g}'
        status.values['joint metric'] = parameters['joint_metric']
        if not self.is_defined:
            status.error(
                'the mass matrix is singular because a link has no mass: no singularity measures '
                'and ellipsoids; set joint_metric to identity'
            )
        if not (self.is_defined and mapper.accepted):
            return status
        results = self._model.results_at(mapper.q, mapper.v)
        if not all(np.isfinite(results[output]).all() for output in self._jacobians.values()):
            return status  # reported in the status of the joint states
        for link, freedom in self._freedoms.items():
            measures = self._measure(link, results)
            if not is_publishable(measures):
                status.warn(
                    f'singularity measures of {link} are not finite: positions are too large'
                )
                continue
            status.values[f'{link} smallest singular value'] = f'{measures.smallest:.6f}'
            status.values[f'{link} manipulability'] = f'{measures.manipulability:.6g}'
            if freedom and measures.smallest < parameters['singularity_threshold']:
                what = 'singular' if measures.rank < freedom else 'near a singularity'
                status.warn(
                    f'{link} is {what}: rank {measures.rank} of {freedom}, '
                    f'smallest singular value {measures.smallest:.4g}'
                )
        return status


def random_samples(model: RunningModel) -> list[dict[Output | Formula, Array]]:
    """Return the results for random configurations."""
    random, n = np.random.default_rng(0), len(model.joints)
    return [
        model.results_at(random.uniform(-np.pi, np.pi, n), np.zeros(n))
        for _ in range(RANDOM_SAMPLES)
    ]


def is_publishable(measures: Dexterity) -> bool:
    """Whether measures may be published: finite; the condition number may be infinite."""
    values = measures.smallest, measures.manipulability
    return bool(np.isfinite(values).all() and not np.isnan(measures.condition))
