// Copyright 2026 The screw_dynamics_ros authors
// SPDX-License-Identifier: Apache-2.0

/// \file
/// Control laws from shared objects, replaced while a real-time thread runs them. Linux, no ROS.
///
///     ControlLawExpectation expected;
///     expected.robot_hash = "...";             // from the header of the law
///     expected.joints = {"shoulder", "elbow"};
///     expected.reference = {"q", "v"};         // fields that this program fills
///     ControlLawSwitch laws;
///
///     // a thread without deadlines
///     auto law = std::make_unique<ControlLaw>("my_law.so", expected);
///     law->set_parameter("stiffness", 80.0);
///     laws.install(std::move(law));
///
///     // the real-time thread, in each cycle
///     if (ControlLaw * const law = laws.current()) {
///       if (double * const target = law->reference("q")) {std::copy_n(q_d, 2, target);}
///       law->update(q, v, law->constants().gravity, tau);
///     }
///
/// The command `compile --law` of screw_dynamics_ros writes the C file of a law.
///
/// Real-time programs lock their memory (mlockall) with MCL_FUTURE, so that laws loaded later are
/// locked, too.

#ifndef SCREW_DYNAMICS_CONTROL__CONTROL_LAW_HPP_
#define SCREW_DYNAMICS_CONTROL__CONTROL_LAW_HPP_

#include <stdint.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "screw_dynamics_control/description_hash.hpp"
#include "screw_dynamics_control/fields.hpp"
#include "screw_dynamics_control/loaded_library.hpp"

#ifndef SCREW_DYNAMICS_LAW_VERSION
#define SCREW_DYNAMICS_LAW_VERSION 2

struct screw_dynamics_law_constants {
  uint32_t version; /* SCREW_DYNAMICS_LAW_VERSION; first in every version */
  uint32_t bytes;   /* size of these constants */
  const char *name;
  const char *options; /* of the recording: name=value, separated by spaces */
  const char *robot;
  const char *robot_hash; /* 64 hexadecimal digits: joints, geometry and inertias */
  const char *description_hash; /* of the URDF, as computed by description_hash.hpp */
  const char *law_hash;   /* 64 hexadecimal digits: fields, parameters and operations */
  struct screw_dynamics_law_vector q, v; /* a field for each joint, of its name */
  struct screw_dynamics_law_vector state, reference, parameters, memory;
  double gravity[3]; /* acceleration of free fall of the robot in root axes [m/s^2] */
  const double *effort_limits; /* of each field of v [N m, N], infinite without one */
  /* Computes torques of v.size and the next memory. It has no state and does not allocate; all
   * inputs are read before results are written, so that both memories may be the same. Vectors of
   * size 0 may be null. */
  void (*update)(const double *q, const double *v, const double *gravity, const double *state,
                 const double *reference, const double *parameters, const double *memory,
                 double *tau, double *next_memory);
  /* Writes the reference that holds a configuration: its positions and the pose of the link of the
   * option link, and zero. Null if the law reads the pose of an unknown link. */
  void (*start)(const double *q, double *reference);
};

#endif

namespace screw_dynamics_control
{

/// A law that cannot be loaded, or a parameter that it does not have: the file and the reason.
using ControlLawError = LibraryError;

/// Whether all numbers are finite.
inline bool all_finite(const double * numbers, std::size_t count) noexcept
{
  return std::all_of(numbers, numbers + count, [](double each) {return std::isfinite(each);});
}

/// What a program requires of a law.
struct ControlLawExpectation
{
  std::string robot_hash;  ///< empty: any robot with these joints
  std::string robot_description;  ///< the URDF of this program's robot, empty: any
  std::string law_hash;    ///< empty: any law
  std::vector<std::string> joints;  ///< in the order of q and v, as of this program; empty: any
  std::vector<std::string> state;   ///< fields of the state that this program fills
  std::vector<std::string> reference;  ///< fields of the reference that this program fills
};

/// A loaded law with its state, reference, parameters and memory.
class ControlLaw
{
public:
  /// Load a copy of a shared object, which may be replaced or removed at any time.
  ///
  /// Throws ControlLawError if the file cannot be read, others may write it or a folder above it,
  /// its last line is not the SHA-256 of all before it (while it is being written), or its
  /// version, sizes, hashes, joints or fields are not as expected.
  ControlLaw(const std::string & path, const ControlLawExpectation & expected)
  : library_(path), constants_(checked(expected)),
    state_(constants_->state.size), reference_(constants_->reference.size),
    parameters_(constants_->parameters.size), memory_(constants_->memory.size),
    next_memory_(constants_->memory.size)
  {
    const auto & vector = constants_->parameters;
    std::for_each(
      vector.fields, vector.fields + vector.count, [this](const screw_dynamics_law_field & each) {
        std::fill_n(parameters_.data() + each.offset, each.size, each.value);
      });
  }

  ControlLaw(const ControlLaw &) = delete;
  ControlLaw & operator=(const ControlLaw &) = delete;

  /// Names, sizes, units, bounds and hashes.
  const screw_dynamics_law_constants & constants() const noexcept {return *constants_;}

  /// The numbers of a field, null if the law does not have it; without allocation.
  double * state(const char * name) noexcept {return numbers(constants_->state, state_, name);}
  double * reference(const char * name) noexcept
  {
    return numbers(constants_->reference, reference_, name);
  }
  double * parameter(const char * name) noexcept
  {
    return numbers(constants_->parameters, parameters_, name);
  }
  double * memory(const char * name) noexcept {return numbers(constants_->memory, memory_, name);}

  /// Set all numbers of a parameter; throws ControlLawError for unknown names and values beyond
  /// the bounds.
  void set_parameter(const std::string & name, double value) 
  {
    set_parameter(name, std::vector<double>{value});
  }

  /// Set the numbers of a parameter, one for all or each; throws ControlLawError also for other
  /// numbers of values.
  void set_parameter(const std::string & name, const std::vector<double> & values)
  {
    place(name, values, parameters_);
  }

  /// Write the numbers of a parameter into a vector of all parameters, as `set_parameter` does.
  void place(
    const std::string & name, const std::vector<double> & values,
    std::vector<double> & parameters) const
  {
    const auto * const field = find(constants_->parameters, name.c_str());
    if (!field) {
      fail("has no parameter " + in_quotes(name) + "; it has " + listed(constants_->parameters));
    }
    if (values.size() != 1 && values.size() != field->size) {
      fail(
        "parameter " + in_quotes(name) + " needs 1 or " + std::to_string(field->size) +
        " numbers, not " + std::to_string(values.size()));
    }
    for (std::size_t k = 0; k < field->size; ++k) {
      const double value = values[values.size() == 1 ? 0 : k];
      if (!(value >= field->minimum && value <= field->maximum)) {
        fail(
          "parameter " + in_quotes(name) + " must be in [" + std::to_string(field->minimum) + ", " +
          std::to_string(field->maximum) + "], not " + std::to_string(value));
      }
      parameters[field->offset + k] = value;
    }
  }

  /// All parameters, in the order of their fields.
  std::vector<double> & parameters() noexcept {return parameters_;}

  /// Set the memory to zero.
  void reset() noexcept {std::fill(memory_.begin(), memory_.end(), 0.0);}

  /// Compute the torques, of the size of v, and the next memory; without allocation. Returns
  /// whether both are finite; if not, the memory is kept.
  bool update(const double * q, const double * v, const double * gravity, double * tau) noexcept
  {
    constants_->update(
      q, v, gravity, state_.data(), reference_.data(), parameters_.data(), memory_.data(), tau,
      next_memory_.data());
    const bool is_finite =
      all_finite(tau, constants_->v.size) && all_finite(next_memory_.data(), next_memory_.size());
    if (is_finite) {std::copy(next_memory_.begin(), next_memory_.end(), memory_.begin());}
    return is_finite;
  }

  /// Write the reference that holds a configuration, if `constants().start` is not null; without
  /// allocation.
  void start(const double * q) noexcept {constants_->start(q, reference_.data());}

private:
  using Vector = screw_dynamics_law_vector;

  const screw_dynamics_law_constants * checked(const ControlLawExpectation & expected) const
  {
    const auto * const found = &library_.constants<screw_dynamics_law_constants>(
      "screw_dynamics_law", SCREW_DYNAMICS_LAW_VERSION, "control law");
    library_.check_hash("robot", found->robot, found->robot_hash, expected.robot_hash);
    check_description(
      library_, found->robot, found->description_hash, expected.robot_description);
    library_.check_hash("law", found->name, found->law_hash, expected.law_hash);
    for (const Vector * each : {&found->q, &found->v, &found->state, &found->reference,
        &found->parameters, &found->memory})
    {
      check_layout(*each);
    }
    if (!expected.joints.empty()) {
      check_joints(found->q, expected.joints);
      check_joints(found->v, expected.joints);
    }
    check_filled("state", found->state, expected.state);
    check_filled("reference", found->reference, expected.reference);
    if (!found->update) {fail("is damaged: it has no function update");}
    return found;
  }

  void check_layout(const Vector & vector) const
  {
    std::size_t end = 0;
    for (std::size_t k = 0; k < vector.count; ++k) {
      const auto & field = vector.fields[k];
      if (field.offset != end) {fail("is damaged: " + in_quotes(field.name) + " is misplaced");}
      end += field.size;
    }
    if (end != vector.size) {fail("is damaged: the fields are not as long as their vector");}
  }

  void check_joints(const Vector & vector, const std::vector<std::string> & expected) const
  {
    bool equal = vector.count == expected.size();
    for (std::size_t k = 0; equal && k < expected.size(); ++k) {
      equal = expected[k] == vector.fields[k].name;
    }
    if (!equal) {
      std::string joints;
      for (const auto & each : expected) {joints += (joints.empty() ? "" : ", ") + each;}
      fail("has the joints " + listed(vector) + ", expected " + joints);
    }
  }

  void check_filled(
    const std::string & what, const Vector & vector, const std::vector<std::string> & filled) const
  {
    for (std::size_t k = 0; k < vector.count; ++k) {
      const std::string name = vector.fields[k].name;
      if (std::find(filled.begin(), filled.end(), name) == filled.end()) {
        fail("reads " + in_quotes(name) + " of the " + what + ", which this program does not fill");
      }
    }
  }

  static const screw_dynamics_law_field * find(const Vector & vector, const char * name) noexcept
  {
    for (std::size_t k = 0; k < vector.count; ++k) {
      if (std::strcmp(vector.fields[k].name, name) == 0) {return &vector.fields[k];}
    }
    return nullptr;
  }

  static double * numbers(
    const Vector & vector, std::vector<double> & values, const char * name) noexcept
  {
    const auto * const field = find(vector, name);
    return field ? values.data() + field->offset : nullptr;
  }

  static std::string listed(const Vector & vector)
  {
    std::string names;
    for (std::size_t k = 0; k < vector.count; ++k) {
      names += (k ? ", " : "") + std::string(vector.fields[k].name);
    }
    return names.empty() ? "none" : names;
  }

  [[noreturn]] void fail(const std::string & reason) const {library_.fail(reason);}

  const LoadedLibrary library_;
  const screw_dynamics_law_constants * const constants_;
  std::vector<double> state_, reference_, parameters_, memory_, next_memory_;
};

/// Passes laws, or what else belongs to them, from one thread to another, which uses them without
/// locks and without waiting.
///
/// Destroy it when the running thread has ended.
template<typename Law>
class Switch
{
public:
  Switch() = default;
  Switch(const Switch &) = delete;
  Switch & operator=(const Switch &) = delete;

  ~Switch()
  {
    collect();
    delete next_.load();
    delete running_.load();
  }

  /// Replace the law at the next call of `current`, instead of one that still waits for it.
  void install(std::unique_ptr<Law> law)
  {
    auto slot = std::make_unique<Slot>(std::move(law));
    collect();
    delete next_.exchange(slot.release(), std::memory_order_acq_rel);
  }

  /// Close laws that no longer run. `install` does this, too; not for the running thread.
  void collect()
  {
    const std::lock_guard<std::mutex> lock(collecting_);
    if (Slot * const running = running_.load(std::memory_order_acquire)) {
      running->before.reset();
    }
  }

  /// Whether the law installed last has not been adopted yet.
  bool is_pending() const noexcept {return next_.load(std::memory_order_acquire) != nullptr;}

  /// The law to run, null before the first; for one thread only, which must not use the result of
  /// an earlier call. The memory of a new law is zero.
  Law * current() noexcept
  {
    Slot * running = running_.load(std::memory_order_relaxed);
    if (next_.load(std::memory_order_relaxed)) {
      if (Slot * const next = next_.exchange(nullptr, std::memory_order_acq_rel)) {
        next->before.reset(running);  // null until now: nothing is closed in this thread
        running_.store(next, std::memory_order_release);
        running = next;
      }
    }
    return running ? running->law.get() : nullptr;
  }

private:
  struct Slot
  {
    explicit Slot(std::unique_ptr<Law> given) : law(std::move(given)) {}
    const std::unique_ptr<Law> law;
    std::unique_ptr<Slot> before;  // the law that ran before, until it is closed
  };
  static_assert(std::atomic<Slot *>::is_always_lock_free);

  std::atomic<Slot *> next_{nullptr};
  std::atomic<Slot *> running_{nullptr};
  std::mutex collecting_;
};

using ControlLawSwitch = Switch<ControlLaw>;

}  // namespace screw_dynamics_control

#endif  // SCREW_DYNAMICS_CONTROL__CONTROL_LAW_HPP_
