// Copyright 2026 The screw_dynamics_ros authors
// SPDX-License-Identifier: Apache-2.0

/// Counts the allocations of a test program, which is one file.

#ifndef SUPPORT__COUNTED_ALLOCATIONS_HPP_
#define SUPPORT__COUNTED_ALLOCATIONS_HPP_

#include <cstdlib>
#include <new>

static long allocations = 0;
void * operator new(std::size_t size)
{
  ++allocations;
  if (void * memory = std::malloc(size)) {return memory;}
  throw std::bad_alloc();
}
void operator delete(void * memory) noexcept {std::free(memory);}
void operator delete(void * memory, std::size_t) noexcept {std::free(memory);}

#endif  // SUPPORT__COUNTED_ALLOCATIONS_HPP_
