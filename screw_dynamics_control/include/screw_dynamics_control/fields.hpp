// Copyright 2026 The screw_dynamics_ros authors
// SPDX-License-Identifier: Apache-2.0

/// \file
/// Types that the constants of laws and models share.

#ifndef SCREW_DYNAMICS_CONTROL__FIELDS_HPP_
#define SCREW_DYNAMICS_CONTROL__FIELDS_HPP_

#include <stdint.h>

#ifndef SCREW_DYNAMICS_LAW_FIELDS
#define SCREW_DYNAMICS_LAW_FIELDS

/* Numbers with a name in a vector. */
struct screw_dynamics_law_field {
  const char *name;
  const char *unit;
  const char *text; /* meaning of a parameter */
  uint32_t offset;  /* place of the first number in the vector */
  uint32_t size;    /* numbers; matrices are row-major */
  double value;     /* of each number at the start: 0, or the default of a parameter */
  double minimum;   /* bounds of each number, included */
  double maximum;
};

struct screw_dynamics_law_vector {
  uint32_t size;   /* numbers */
  uint32_t count;  /* fields, consecutive from the beginning to the end of the vector */
  const struct screw_dynamics_law_field *fields;
};

#endif

#endif  // SCREW_DYNAMICS_CONTROL__FIELDS_HPP_
