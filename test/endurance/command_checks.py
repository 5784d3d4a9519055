# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What must hold for every command of a trial, and the table of what was found.

All times are source timestamps, which the middleware of the sender takes: c(k) is when command k
was sent. What the node computes with is a little earlier, and lies between two times that are
known: a command with the stamp of a joint state cannot have been computed before that was sent,
j(k); one without continues the stamp of the last state, by the time that has passed since then, so
that j(k) follows from its stamp. With the rate limit r, commands i < k therefore differ by at most

    r (c(k) - j(i)) = r (c(k) - c(i) + a(i)),    a(i) = c(i) - j(i)

The allowance for jitter is a(i), the age of command i, which is measured and not guessed: some
tenths of a millisecond on an idle machine. Differences over 1 and over 25 commands are compared, so
that it counts little in the second of these. Torques that have been removed (stop, or a ramp to
zero that has ended) begin with exactly zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

JOINTS = 8
EFFORTS = np.array([0, 0, JOINTS], dtype=np.int32).tobytes()
LIMITS = np.array([87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0, 100.0])  # N m, N; of the description
RATE_FACTOR, AGE_LIMIT = 2.0, 0.1
MAX_DELAY = 0.02 + 0.005  # s; age of the oldest state that is answered, and time for the answer
WATCH = 0.01  # s between looks of the node for states that do not come
CLOCKS = 2e-3  # s by which the node may know the age of a state better or worse than the stamps say
ROUNDING = 1e-9
HEEDED = 1.0  # s in which a signal, a service or a parameter has reached the node
DRIVER = ('driver stopped', 'driver killed')
DRAWN = (0.4, 3.0)  # s before and after the event


@dataclass
class Facts:
    """One trial: what was done when [ns], and what came of it.

    `taken_off` is the action that takes the torques off, if the trial does so.
    """

    kind: str
    begin: int
    on_loss: str = ''
    on_end: str = ''
    detail: str = ''
    taken_off: str = ''
    event: int = 0
    over: int = 0
    end: int = 0
    disabled: int = 0
    enabled: int = 0
    exit_status: int | None = None
    deadline_missed: bool | None = None
    factor: float = 1.0
    commands: int = 0
    effort_ratio: float = 0.0
    rate_ratio: float = 0.0
    age: float = 0.0
    unprompted: int = 0  # commands because of an overloaded machine
    reaction: float = 0.0  # s from the last state to the first command without one
    unequal: int = 0  # ~/commands whose ~/feedforward did not arrive, in all trials of the node
    gap: float = 0.0
    change: float = 0.0
    violations: list[str] = field(default_factory=list)


def check(instance: Any, sent: dict[bytes, int], pictures: dict[str, Any]) -> list[Facts]:
    """Compare all commands of a node with the rules; return its trials."""
    every: list[Facts] = instance.facts
    times = np.array([when for _, when, _ in instance.efforts], dtype=np.int64)
    numbers = [efforts_of(data) for *_, data in instance.efforts]
    torques = np.array([np.frombuffer(data) for data in numbers])
    stamps = [stamp for stamp, *_ in instance.efforts]
    states = np.array([sent.get(stamp, 0) for stamp in stamps], dtype=np.int64)
    prompted = states > 0
    at = np.searchsorted(times, [facts.begin for facts in every[1:]])
    trial = np.zeros(len(times), dtype=int)
    for k in at:
        trial[k:] += 1

    def fault(k: int, text: str) -> None:
        facts = every[int(trial[k])]
        if len(facts.violations) < 20:
            facts.violations.append(
                f'{instance.name} {facts.kind} ({facts.detail or "-"}; on_loss {facts.on_loss}, '
                f'on_end {facts.on_end}) at {(times[k] - facts.event) * 1e-9:+.4f} s: {text}'
            )

    # Magnitude.
    unequal = 0
    limits = instance.factor * LIMITS
    for k in np.flatnonzero(~np.isfinite(torques).all(axis=1)):
        fault(k, f'not finite: {torques[k]}')
    ratio = np.abs(torques / limits).max(axis=1)
    for k in np.flatnonzero(ratio > 1.0 + ROUNDING):
        fault(k, f'{ratio[k]:.6f} of the limit')
    # When each command was computed at the earliest, and its age.
    early = earliest(stamps, times, states)
    for k in np.flatnonzero(~prompted):
        facts = every[int(trial[k])]
        if facts.kind == 'driver killed' and times[k] > facts.over:  # of a state not heard here
            early[k] = min(early[k], times[k] - round(MAX_DELAY * 1e9))
    age = np.where(prompted, times - states, 0) * 1e-9
    for k in np.flatnonzero((age > AGE_LIMIT) & torques.any(axis=1)):
        fault(k, f'{age[k]:.4f} s old')
    if np.any(np.diff(times) < 0):
        fault(int(np.flatnonzero(np.diff(times) < 0)[0]), 'sent out of order')

    # The other topic: equal, or within the rate limit should the one before it have been lost.
    for when, data in instance.matrices:
        k = max(0, int(np.searchsorted(times, when)) - 1)
        change = np.abs(np.frombuffer(data[-8 * JOINTS :]) - torques[k])
        if not (change <= RATE_FACTOR * limits * (when - early[k]) * 1e-9).all():
            fault(k, '~/commands differs from ~/feedforward')
        unequal += bool(change.any())
    every[-1].unequal = unequal

    # Silence: what comes after it begins with zero.
    begins = np.ones(len(times), dtype=bool)
    begins[1:] = [
        is_silence(k, torques, times, every[max(0, trial[k] - 1) : trial[k + 1] + 1])
        for k in range(len(times) - 1)
    ]
    first_heard = RATE_FACTOR * AGE_LIMIT * limits  # the node may be heard a little later
    for k in np.flatnonzero(begins):
        if torques[k].any() and (k or (np.abs(torques[k]) > first_heard).any()):
            fault(k, f'begins with {torques[k].round(3).tolist()}')
    run = np.cumsum(begins)
    rate_ratio = np.zeros(len(times))
    for apart in (1, 25):
        first, later = np.arange(len(times) - apart), np.arange(apart, len(times))
        same = run[first] == run[later]
        permitted = RATE_FACTOR * np.outer((times[later] - early[first]) * 1e-9, limits)
        part = np.where(same, np.abs((torques[later] - torques[first]) / permitted).max(axis=1), 0)
        rate_ratio[later] = np.maximum(rate_ratio[later], part)
    for k in np.flatnonzero(rate_ratio > 1.0 + 1e-6):
        fault(
            k,
            f'{rate_ratio[k]:.3f} of the rate limit'
            f', {1e-9 * (times[k] - times[k - 1]):.4f} s after {torques[k - 1].round(2).tolist()}'
            + ('' if prompted[k] else ', without a state'),
        )

    # Commands that no state has caused.
    last_state = np.maximum.accumulate(np.where(prompted, states, 0))
    for k in np.flatnonzero(~prompted):
        facts = every[int(trial[k])]
        since = (times[k] - last_state[k]) * 1e-9
        if facts.exit_status is not None and times[k] > facts.event:
            continue
        if since < (WATCH if facts.taken_off or facts.detail else AGE_LIMIT) - CLOCKS:
            fault(k, f'sent without a state, {since:.4f} s after the last one')
        is_expected = facts.kind in (*DRIVER, 'node stopped')
        facts.unprompted += not (is_expected or facts.taken_off or facts.detail)
        if facts.taken_off or not facts.event < times[k] < facts.over:
            continue  # a new driver may be heard here later than by the node
        if facts.on_loss == 'stop':
            fault(k, 'sent although on_loss is stop')
        repeated = not prompted[k - 1] and times[k - 1] > facts.event + 2e8
        if (
            repeated
            and facts.on_loss == 'hold'
            and facts.kind in DRIVER
            and (torques[k] != torques[k - 1]).any()
        ):
            fault(k, 'a held command changes')

    for k, facts in enumerate(every):
        own = np.flatnonzero(trial == k)
        facts.commands, facts.factor = len(own), instance.factor
        if not len(own):
            facts.violations.append(f'{instance.name} {facts.kind}: no commands')
            continue
        facts.effort_ratio = float(ratio[own].max())
        facts.rate_ratio = float(rate_ratio[own].max())
        facts.age = float(age[own].max())
        during = own[times[own] >= facts.event]
        if len(during) > 1:
            facts.gap = float(np.diff(times[during]).max() * 1e-9)
            facts.change = float(np.abs(np.diff(torques[during], axis=0)).sum(axis=0).max())
        check_trial(facts, own, during, times, torques, prompted, fault)
        keep_picture(pictures, facts, instance, times, torques, limits)
    if not instance.is_enabled_at_start and len(times) and times[0] < instance.enabled_at:
        fault(0, 'published before it was enabled')
    return every


def efforts_of(data: bytes) -> bytes:
    """Return the numbers of a serialized JointState that has efforts only.

    They follow three counts, two of which are zero, and begin at a multiple of 8 bytes after the
    encapsulation of 4.
    """
    count = data.rindex(EFFORTS, 0, len(data) - 8 * JOINTS)
    begin = count + len(EFFORTS)
    return data[begin + (4 - begin) % 8 :][: 8 * JOINTS]


def earliest(stamps: Sequence[bytes], times: Any, states: Any) -> Any:
    """Return when each command can have been computed at the earliest [ns]."""
    early, last = times.copy(), None
    for k, stamp in enumerate(stamps):
        sec, nanosec = np.frombuffer(stamp, dtype=np.int32)
        now = int(sec) * 10**9 + int(nanosec)
        if states[k]:
            early[k], last = states[k], (now, states[k])
        elif last is not None:
            early[k] = min(times[k], last[1] + now - last[0])
    return early


def is_silence(k: int, torques: Array, times: Any, around: Sequence[Facts]) -> bool:
    """Whether torques were off between command k and the next one, by what was set around it."""
    actions = {action for facts in around for action in (facts.on_loss, facts.taken_off)}
    if times[k + 1] - times[k] < (AGE_LIMIT - WATCH) * 1e9:
        return (
            not torques[k].any()
            and not torques[k + 1].any()
            and any(facts.taken_off for facts in around)
        )
    return bool('stop' in actions and not torques[k + 1].any()) or (
        'ramp_to_zero' in actions and not torques[k].any()
    )


def check_trial(
    facts: Facts, own: Any, during: Any, times: Any, torques: Array, prompted: Any, fault: Any
) -> None:
    """Look for what belongs to one kind of trial."""
    last = int(own[-1])

    def between(begin: float, end: float) -> Any:
        return own[(times[own] > begin) & (times[own] < end)]

    if facts.kind in ('SIGINT', 'SIGTERM'):
        if facts.exit_status != 0:
            fault(last, f'exit status {facts.exit_status}')
        was_on = torques[own[times[own] <= facts.event][-1:]].any()
        is_silent = facts.on_loss == 'stop' and facts.detail  # before it was asked to end
        if facts.on_end == 'ramp_to_zero' and torques[last].any() and not is_silent:
            fault(last, f'ends with {torques[last].round(3).tolist()} and not with zero')
        elif facts.on_end == 'hold' and was_on and facts.on_loss in ('hold', 'gravity'):
            if (torques[last] != torques[last - 1]).any():
                fault(last, 'the last command was to be held')
        elif facts.on_end == 'stop' and not prompted[last] and facts.on_loss == 'stop':
            fault(last, 'a command was made at the end although on_end is stop')
        if times[last] > facts.over:
            fault(last, 'sent after the end of the process')
    elif facts.kind == 'SIGKILL':
        if times[last] > facts.over:
            fault(last, 'sent after the end of the process')
        if not facts.deadline_missed:
            fault(last, 'no deadline was missed')
    elif facts.kind == 'node stopped':
        if not facts.deadline_missed:
            fault(last, 'no deadline was missed')
        if len(between(facts.event + 10**7, facts.over)):
            fault(last, 'commands of a process that stands still')
    elif facts.kind in DRIVER:
        lasted = (facts.over - facts.event) * 1e-9
        alone = during[~prompted[during] & (times[during] < facts.over)]
        if len(alone) and facts.on_loss != 'stop' and alone[0] > 0:
            facts.reaction = float((times[alone[0]] - times[alone[0] - 1]) * 1e-9)
        if facts.on_loss in ('hold', 'gravity') and lasted > 0.3 and prompted[during].all():
            fault(last, f'nothing was done about a loss of {lasted:.3f} s')
    elif (
        facts.kind in ('payload', 'reference', 'description')
        and facts.change < 1.0
        and 'refused' not in facts.detail
        and facts.factor == 1.0
    ):  # else limits hide it
        fault(last, f'no effect: the torques change by {facts.change:.3f} N m')
    if facts.disabled:
        quiet = between(facts.disabled + HEEDED * 0.9e9, facts.enabled)
        if len(quiet) and torques[quiet[-1]].any():
            fault(int(quiet[-1]), 'published while disabled')


def keep_picture(
    pictures: dict[str, Any], facts: Facts, instance: Any, times: Any, torques: Array, limits: Array
) -> None:
    """Keep one trial of each kind."""
    wanted = {
        'driver stopped': facts.on_loss == 'gravity',
        'driver killed': facts.on_loss == 'ramp_to_zero',
        'description': facts.detail == 'new, continue',
        'payload': not facts.detail,
        'SIGINT': facts.on_end == 'ramp_to_zero' and not facts.detail,
        'SIGTERM': facts.on_end == 'gravity' and not facts.detail,
    }
    chosen = (times > facts.event - DRAWN[0] * 1e9) & (times < facts.event + DRAWN[1] * 1e9)
    before = torques[chosen & (times < facts.event - 0.9 * DRAWN[0] * 1e9)]
    is_wanted = (
        wanted.get(facts.kind, True)
        and instance.factor == 1.0
        and len(before) > 10
        and (bool(np.ptp(before, axis=0).max() < 0.5) and before.any())
    )  # nothing else under way
    if facts.kind in pictures and (pictures[facts.kind]['is_wanted'] or not is_wanted):
        return
    pictures[facts.kind] = {
        'is_wanted': is_wanted,
        'detail': facts.detail,
        'on_loss': facts.on_loss,
        'on_end': facts.on_end,
        'times': ((times[chosen] - facts.event) * 1e-9),
        'torques': torques[chosen],
        'limits': limits,
        'over': (facts.over - facts.event) * 1e-9,
    }


def summary(trials: Sequence[Facts], kinds: Sequence[str]) -> dict[str, Any]:
    """Return the table."""
    rows, heads = (
        [],
        (
            'kind',
            'trials',
            'commands',
            'violations',
            'of limit',
            'of rate limit',
            'age [ms]',
            'change [N m]',
            'longest gap [s]',
            'reaction [s]',
        ),
    )
    for kind in (*kinds, 'all'):
        of = [facts for facts in trials if kind in (facts.kind, 'all')]
        rows.append(
            (
                kind,
                len(of),
                sum(f.commands for f in of),
                sum(len(f.violations) for f in of),
                *(
                    max((getattr(f, name) for f in of), default=0.0)
                    for name in ('effort_ratio', 'rate_ratio')
                ),
                1e3 * max((f.age for f in of), default=0.0),
                *(
                    max((getattr(f, name) for f in of), default=0.0)
                    for name in ('change', 'gap', 'reaction')
                ),
            )
        )
    lines = [f'{heads[0]:16}' + ''.join(f'{head:>17}' for head in heads[1:])]
    lines += [
        f'{row[0]:16}'
        + ''.join(
            f'{value:>17}' if isinstance(value, int) else f'{value:>17.3f}' for value in row[1:]
        )
        for row in rows
    ]
    violations = [text for facts in trials for text in facts.violations]
    lines += violations[:40]
    return {
        'text': '\n'.join(lines),
        'violations': violations,
        'rows': [dict(zip(heads, row)) for row in rows],
        'trials': [asdict(facts) for facts in trials],
    }
