// Copyright 2026 The screw_dynamics_ros authors
// SPDX-License-Identifier: Apache-2.0

/* Corrects waiting without a deadline in the ROS 2 wheels; loaded before everything else there.

   Fast DDS waits for its discovery callbacks when it removes a participant, until the latest time
   point there is. The wheels are built for a C library without pthread_cond_clockwait, where
   libstdc++ converts that time from the steady clock to the clock of the system: the sum overflows,
   and the wait is asked for with negative nanoseconds. The C library refuses that (EINVAL) before it
   releases the mutex, Fast DDS asks again, and the callback never gets the mutex: the process spins
   for ever. What is meant is a wait without a deadline. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>

typedef int timed_wait(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);

static timed_wait *original;

__attribute__((constructor)) static void find_original(void) {
    original = (timed_wait *)dlsym(RTLD_NEXT, "pthread_cond_timedwait");
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           const struct timespec *deadline) {
    if (deadline->tv_nsec < 0)
        return pthread_cond_wait(condition, mutex);
    if (!original) /* called by another constructor */
        find_original();
    return original(condition, mutex, deadline);
}
