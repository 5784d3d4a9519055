# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Real-time scheduling of a process, as controller managers use it."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress

#: Flags of mlockall of Linux: present and future pages, each as soon as it is used.
MCL_CURRENT, MCL_FUTURE, MCL_ONFAULT = 1, 2, 4


def use_real_time(priority: int) -> str:
    """Schedule all threads of this process with SCHED_FIFO, ahead of ordinary processes.

    Threads started later inherit the policy, see `use_ordinary_time`.

    Parameters
    ----------
    priority : int
        From 1 (lowest) to 99.

    Returns
    -------
    str
        Reason and remedy if this is not possible; empty otherwise.
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


def lock_memory() -> str:
    """Keep the memory of this process from being paged out; return reason and remedy if refused.

    Page faults of a real-time thread would wait for a disk.
    """
    try:
        lock = ctypes.CDLL(None, use_errno=True).mlockall
    except (OSError, AttributeError):
        return 'memory cannot be locked on this system'
    if lock(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0:
        return ''
    reason = os.strerror(ctypes.get_errno())
    return (
        f'the memory of this process is not locked ({reason}), so that page faults may delay joint '
        'states; allow the user an unlimited memlock in /etc/security/limits.conf and log in again'
    )


def use_least_real_time() -> None:
    """Give this thread the lowest real-time priority if it has a real-time policy."""
    with suppress(AttributeError, OSError):
        if os.sched_getscheduler(0) == os.SCHED_FIFO:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


def use_ordinary_time() -> None:
    """Give this thread the ordinary scheduling policy, for long computations."""
    with suppress(AttributeError, OSError):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
