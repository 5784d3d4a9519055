# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Places of numbers and addresses in the memory that Python and the compiled loop share.

Each record is an array of int64 words; those marked `->` are addresses. An address of 0 means that
there is no such thing.
"""

from __future__ import annotations

# --- counts and times of joint states -------------------------------------------------------------

ARRIVALS, COUNT, LOST, SERVED = range(LOAD_WORDS := 4)
LAST_ARRIVAL, BUSY_TIME, MAX_TIME = range(LOAD_REALS := 3)

# --- the loop -------------------------------------------------------------------------------------

(
    STOP,  # ends the loop
    ARMED,  # whether the tables are those of the current model, mapper and layout
    MUTEX,  # -> pthread_mutex_t of the lock of states
    WAIT_SET,  # -> rcl_wait_set_t
    SUBSCRIPTION,  # -> rcl_subscription_t
    MESSAGE,  # -> rcl_serialized_message_t
    INFO,  # -> rmw_message_info_t
    PLACE,  # -> size_t
    TIME,  # -> struct timespec
    CLOCK,  # -> rcl_clock_t of the stamps
    HAS_INFO,  # whether INFO has the expected fields
    ONE_DRIVER,
    FOLLOWED,  # -> identifier of the publisher whose messages are used; 0 for any
    HAS,  # VELOCITY | EFFORT: what joint states have
    # The layout of messages.
    SIZE,  # bytes
    MASK,  # -> words: bits that define the layout
    FIXED,  # -> words: their values
    NUMBERS,  # -> offsets of all numbers [bytes]
    NUMBER_COUNT,
    PLACES,  # -> offsets of positions, velocities and efforts of the joints [bytes]
    JOINTS,  # number of joints
    STATE,  # -> floats (3, JOINTS)
    SCALE,  # -> floats (JOINTS,)
    OFFSET,  # -> floats (JOINTS,)
    TURNS,  # -> floats (JOINTS,): angles that are added to positions [rad]
    # The state.
    MAPPER_WORDS,  # ->
    MAPPER_REALS,  # ->
    TIMEOUT,  # longest step of the stamps [ns]
    UNDISPUTED_AGE,  # [ns]
    DELAY_MEMORY,  # -> of `TransportDelay`
    GAP_MEMORY,  # -> of `SequenceGaps`
    LOAD_COUNTS,  # -> words of `Load`
    LOAD_TIMES,  # -> reals of `Load`
    # The model.
    IS_READ,  # whether any output has subscribers
    KERNEL,  # -> void kernel(int64 *arguments)
    KERNEL_ARGUMENTS,  # -> addresses of its inputs and outputs
    TOTAL,  # -> float: finite if all outputs that must be are
    CHANNELS,  # -> addresses of channel records
    CHANNEL_COUNT,
    PARTS,  # -> part records
    PART_COUNT,
    PREPARATIONS,  # -> step records, for before the kernel
    PREPARATION_COUNT,
    STEPS,  # -> step records, for after the kernel
    STEP_COUNT,
    NEEDS_PYTHON,  # whether Python processes each state after the loop
    # States for observers in Python.
    HISTORY,  # -> stamps [ns]
    HISTORY_ARRIVALS,  # -> floats [s]
    HISTORY_STATES,  # -> rows of 3 JOINTS floats
    HISTORY_SIZE,  # number of rows
    HISTORY_WRITTEN,  # states so far
    HISTORY_READ,  # states that Python has read
    REALS,  # -> reals of the loop
) = range(LOOP_WORDS := 53)

MAX_DELAY, ARRIVAL, DELAY, START = range(LOOP_REALS := 4)  # [s]

#: A step record: -> function, -> its record, and its last result: `DECLINED` if Python is to do it.
STEP_FUNCTION, STEP_RECORD, STEP_RESULT = range(STEP_WORDS := 3)
DECLINED, TAKEN = range(2)

# --- a part of the model state --------------------------------------------------------------------

(
    PART_CHANNEL,  # -> channel record; 0 for a vector of the joint state
    PART_NEEDS,  # for a vector: VELOCITY | EFFORT
    PART_IS_HELD,  # whether the last valid numbers remain
    PART_SINCE,  # -> stamp of the last valid numbers of a vector [ns]
    PART_COPIES,  # -> copy records
    PART_COPY_COUNT,
    PART_VALID,  # -> byte
    PART_AGE,  # -> float
    PART_DATA,  # -> floats
    PART_SIZE,
) = range(PART_WORDS := 10)

COPY_TARGET, COPY_SOURCE, COPY_SIZE = range(COPY_WORDS := 3)
