# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Real-time scheduling of a process, as controller managers use it."""

from __future__ import annotations

import os
from contextlib import suppress


def use_real_time(priority: int) -> str:
    """Run all threads of this process under SCHED_FIFO, before every ordinary process.

    Threads started later inherit it, see `use_ordinary_time`.

    Parameters
    ----------
    priority : int
        From 1 (lowest) to 99.

    Returns
    -------
    str
        Why it cannot be done and what helps; empty if it is done.
    """
    try:
        for thread in os.listdir('/proc/self/task'):
            with suppress(ProcessLookupError):  # it has just ended
                os.sched_setscheduler(int(thread), os.SCHED_FIFO, os.sched_param(priority))
    except PermissionError:
        return (
            f'real-time priority {priority} is not permitted; allow the user an rtprio of '
            f'{priority} or more in /etc/security/limits.conf and log in again, or set the '
            'parameter realtime_priority to 0'
        )
    except (AttributeError, OSError) as error:
        return (
            f'real-time priority {priority} is not available on this system ({error}); set the '
            'parameter realtime_priority to 0'
        )
    return ''


def use_least_real_time() -> None:
    """Have this thread go after all other real-time threads, if it is one, and before others."""
    with suppress(AttributeError, OSError):
        if os.sched_getscheduler(0) == os.SCHED_FIFO:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


def use_ordinary_time() -> None:
    """Take this thread out of real-time scheduling, for work that takes long."""
    with suppress(AttributeError, OSError):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
