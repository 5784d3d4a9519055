// Copyright 2026 The screw_dynamics_ros authors
// SPDX-License-Identifier: Apache-2.0

/// \file
/// A control law in a loop: states and references to commanded torques. Without ROS.

#ifndef SCREW_DYNAMICS_CONTROL__LAW_RUNNER_HPP_
#define SCREW_DYNAMICS_CONTROL__LAW_RUNNER_HPP_

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "screw_dynamics_control/control_law.hpp"
#include "screw_dynamics_control/law_interfaces.hpp"
#include "screw_dynamics_control/torque_command.hpp"

namespace screw_dynamics_control
{

/// Values of parameters of a law, one for all elements or each.
using Gains = std::map<std::string, std::vector<double>>;

struct RunnerSettings
{
  std::vector<std::string> joints;  ///< with states and commands, in their order
  std::map<std::string, double> fixed_positions;  ///< of the other joints of the law [rad, m]
  std::vector<std::string> references;  ///< fields that are given
  bool has_efforts = false;  ///< whether measured efforts are given
  bool has_wrench = false;   ///< whether the wrench of a sensor is given
  std::string robot_description;  ///< URDF that laws must be of; empty: any
  CommandSettings commands;  ///< for `joints`
};

/// What a cycle gives, in the order of `RunnerSettings::joints` and `reference_interfaces`.
struct RunnerInputs
{
  const double * position;
  const double * velocity;
  const double * effort;     ///< null without
  const double * wrench;     ///< force, then torque in the axes of the link (6,); null without
  const double * reference;  ///< NaN: not given in this cycle
  double now;         ///< monotonic time of the cycle [s]
  double state_time;  ///< of the state; that of the cycle before: there is no new state
};

/// What is to be done with `LawRunner::command`.
enum class Outcome
{
  command,   ///< send it
  keep,      ///< the command sent before remains
  no_law,    ///< nothing is installed
  no_state,  ///< a number of the state is not finite
  lost,      ///< states were lost and torques have ended: send nothing
};

/// A law, bound to the joints of a program.
struct BoundLaw
{
  /// Throws LibraryError if the law needs joints or fields that are not given.
  BoundLaw(const std::string & path, const RunnerSettings & settings, const Gains & initial)
  : law(path, expectation(settings)), q(law.constants().q.size), v(law.constants().v.size), tau(v)
  {
    const auto & constants = law.constants();
    const auto fail = [&path](const std::string & text) {throw LibraryError(path + " " + text);};
    if (!constants.start) {
      fail("follows the pose of an unknown link: name it by the option 'link' of the law");
    }
    places.resize(settings.joints.size(), v.size());
    for (std::size_t k = 0; k < constants.v.count; ++k) {
      const std::string name = constants.v.fields[k].name;
      if (constants.v.fields[k].size != 1 || constants.q.fields[k].size != 1) {
        fail("has several coordinates of joint " + in_quotes(name) + ", which has no states");
      }
      const auto found = std::find(settings.joints.begin(), settings.joints.end(), name);
      const auto fixed = settings.fixed_positions.find(name);
      if (found != settings.joints.end()) {
        places[static_cast<std::size_t>(found - settings.joints.begin())] = k;
      } else if (fixed != settings.fixed_positions.end()) {
        q[k] = fixed->second;
      } else {
        fail("needs joint " + in_quotes(name) + ": add it to 'joints' or to 'fixed_joints'");
      }
    }
    for (std::size_t k = 0; k < places.size(); ++k) {
      if (places[k] == v.size()) {fail("has no joint " + in_quotes(settings.joints[k]));}
    }
    for (const auto & [name, values] : initial) {law.set_parameter(name, values);}
    requested = law.parameters();
    for (const ReferenceField * const row : reference_fields(settings.references)) {
      references.push_back(law.reference(row->name));
    }
  }

  /// Let `update` adopt parameters; throws LibraryError, and none is set.
  void set_gains(const Gains & given)
  {
    auto values = std::make_unique<std::vector<double>>(requested);
    for (const auto & [name, each] : given) {law.place(name, each, *values);}
    requested = *values;
    gains.install(std::move(values));
  }

  /// Adopt parameters in the thread of `update`; return whether there are new ones.
  bool adopt_gains() noexcept
  {
    const std::vector<double> * const current = gains.current();
    if (current == adopted) {return false;}
    adopted = current;
    std::copy(current->begin(), current->end(), law.parameters().begin());
    return true;
  }

  static ControlLawExpectation expectation(const RunnerSettings & settings)
  {
    ControlLawExpectation expected;
    expected.robot_description = settings.robot_description;
    expected.state = {"dt"};
    if (settings.has_efforts) {expected.state.push_back("tau");}
    if (settings.has_wrench) {expected.state.push_back("wrench");}
    expected.reference = settings.references;
    return expected;
  }

  ControlLaw law;
  std::vector<double> q, v, tau;
  std::vector<std::size_t> places;  ///< of the given joints in q, v and tau
  double * const effort = law.state("tau"), * const elapsed = law.state("dt");
  double * const wrench = law.state("wrench");  ///< null if the law does not read it
  std::vector<double *> references;  ///< of the given fields; null if the law does not read one
  std::vector<double> requested;
  Switch<std::vector<double>> gains;
  const std::vector<double> * adopted = nullptr;
};

/// Runs a law in a real-time thread, where `update` neither waits, locks nor allocates.
///
/// All other functions are for one other thread, except `restart`, which is called while none of
/// them runs.
class LawRunner
{
public:
  /// Throws std::invalid_argument for limits of another number of joints, and unknown fields.
  explicit LawRunner(RunnerSettings settings)
  : settings_(std::move(settings)), command_(settings_.commands), wanted_(settings_.joints.size())
  {
    if (settings_.commands.limits.size() != settings_.joints.size()) {
      throw std::invalid_argument("there must be one limit of torque for each joint");
    }
    for (const ReferenceField * const row : reference_fields(settings_.references)) {
      const std::size_t count = row->of_joints ? settings_.joints.size() : 1;
      fields_.push_back(
        {row, std::vector<double>(count * row->size), std::vector<char>(count),
          std::vector<char>(count)});
    }
  }

  /// Load a law, which `update` runs from its next call on, blended; the one before is unloaded
  /// later. Throws LibraryError, and the law before remains.
  void install(const std::string & path, const Gains & gains)
  {
    auto law = std::make_unique<BoundLaw>(path, settings_, gains);
    installed_ = law.get();
    laws_.install(std::move(law));
  }

  /// Set parameters of the law installed last (there must be one), blended; throws LibraryError,
  /// and none is set.
  void set_gains(const Gains & gains) {installed_->set_gains(gains);}

  /// Those of the law installed last (there must be one).
  const screw_dynamics_law_constants & constants() const noexcept
  {
    return installed_->law.constants();
  }

  /// Let torques begin from zero, and references from the measured state.
  void restart() noexcept
  {
    command_.restart();
    state_time_ = begun_ = -infinity;
  }

  /// Compute the command of a cycle.
  Outcome update(const RunnerInputs & in) noexcept
  {
    BoundLaw * const bound = laws_.current();
    if (!bound) {return Outcome::no_law;}
    if (begun_ == -infinity) {begun_ = in.now;}
    if (!(in.state_time > state_time_)) {
      if (state_time_ == -infinity && in.now - begun_ <= command_.settings().age_limit) {
        return Outcome::keep;
      }
      return outcome(command_.tick(in.now));
    }
    if (!is_finite(in)) {return Outcome::no_state;}
    auto & law = bound->law;
    const double dt = in.state_time - state_time_;
    const bool is_off = command_.phase() == Phase::silent || command_.phase() == Phase::to_zero;
    const bool begins = is_off || dt > command_.settings().age_limit;
    const bool is_first = begins || bound != running_;
    if (bound != running_) {command_.blend();}
    running_ = bound;
    state_time_ = in.state_time;
    for (std::size_t k = 0; k < wanted_.size(); ++k) {
      bound->q[bound->places[k]] = in.position[k];
      bound->v[bound->places[k]] = in.velocity[k];
      if (bound->effort) {bound->effort[bound->places[k]] = in.effort[k];}
    }
    if (bound->elapsed) {*bound->elapsed = is_first ? 0.0 : dt;}
    if (bound->wrench) {angular_first(in.wrench, bound->wrench);}
    if (is_first) {law.reset();}
    if (bound->adopt_gains()) {command_.blend();}
    follow(*bound, in.reference, begins, is_first);
    const double * const gravity = law.constants().gravity;
    const bool is_valid = law.update(bound->q.data(), bound->v.data(), gravity, bound->tau.data());
    for (std::size_t k = 0; k < wanted_.size(); ++k) {
      wanted_[k] = is_valid ? bound->tau[bound->places[k]] : not_a_number;
    }
    return outcome(command_.step(in.now, wanted_.data(), in.state_time));
  }

  /// Torques (n,) after `Outcome::command`, for the thread of `update`.
  const std::vector<double> & command() const noexcept {return command_.command();}

  /// How often states were lost, why the last time, how often limits of torque or rate acted, and
  /// how often a reference was refused; for all threads.
  struct Report
  {
    std::atomic<std::size_t> losses{0}, limited{0}, refused{0};
    std::atomic<Loss> loss{Loss::none};
  };
  const Report & report() const noexcept {return report_;}

private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

  /// A field of the reference with its last valid numbers, in the form of laws.
  struct Followed
  {
    const ReferenceField * row;
    std::vector<double> numbers;
    std::vector<char> is_known;  // whether there are numbers, for each joint or the task
    std::vector<char> is_given;  // in this cycle
  };

  Outcome outcome(bool has_command) noexcept
  {
    report_.losses.store(command_.losses(), std::memory_order_relaxed);
    report_.limited.store(command_.limited(), std::memory_order_relaxed);
    report_.loss.store(command_.loss(), std::memory_order_relaxed);
    if (has_command) {return Outcome::command;}
    return command_.phase() == Phase::silent ? Outcome::lost : Outcome::keep;
  }

  bool is_finite(const RunnerInputs & in) const noexcept
  {
    const std::size_t n = settings_.joints.size();
    return all_finite(in.position, n) && all_finite(in.velocity, n) &&
           (!settings_.has_efforts || all_finite(in.effort, n)) &&
           (!settings_.has_wrench || all_finite(in.wrench, 6));
  }

  /// Write the reference of the law: the last valid numbers, and those of the measured state where
  /// there have been none since torques began.
  void follow(BoundLaw & bound, const double * given, bool begins, bool is_first) noexcept
  {
    if (is_first) {bound.law.start(bound.q.data());}
    for (std::size_t row = 0; row < fields_.size(); ++row) {
      Followed & field = fields_[row];
      if (begins) {std::fill(field.is_known.begin(), field.is_known.end(), false);}
      given = read(field, given);
      double * const numbers = bound.references[row];
      if (!numbers) {continue;}
      const std::size_t size = field.row->size;
      for (std::size_t k = 0; k < field.is_known.size(); ++k) {
        double * const own = &field.numbers[k * size];
        double * const of_law = numbers + (field.row->of_joints ? bound.places[k] : 0);
        if (field.is_known[k]) {
          std::copy_n(own, size, of_law);
        } else {
          std::copy_n(of_law, size, own);
          field.is_known[k] = true;
        }
      }
    }
  }

  /// Take the valid numbers of a cycle; return what follows them.
  const double * read(Followed & field, const double * given) noexcept
  {
    const std::size_t size = field.row->of_joints ? 1 : field.row->interfaces.size();
    for (std::size_t k = 0; k < field.is_given.size(); ++k, given += size) {
      double * const numbers = &field.numbers[k * field.row->size];
      bool is_given = all_finite(given, size);
      if (is_given && field.row->size == 16) {
        is_given = pose_matrix(given, numbers);
        report_.refused.fetch_add(!is_given, std::memory_order_relaxed);
      } else if (is_given && field.row->size == 6) {
        angular_first(given, numbers);
      } else if (is_given) {
        *numbers = *given;
      } else if (has_ended(field, k)) {
        std::fill_n(numbers, field.row->size, 0.0);
      }
      field.is_given[k] = is_given;
      field.is_known[k] = field.is_known[k] || is_given;
    }
    return given;
  }

  /// Whether a rate is zero because its position is not given any more, either.
  bool has_ended(const Followed & rate, std::size_t k) const noexcept
  {
    if (!rate.row->position) {return false;}
    for (const auto & each : fields_) {
      if (std::strcmp(each.row->name, rate.row->position) == 0) {return !each.is_given[k];}
    }
    return false;
  }

  const RunnerSettings settings_;
  TorqueCommand command_;
  std::vector<double> wanted_;
  std::vector<Followed> fields_;
  Switch<BoundLaw> laws_;
  BoundLaw * installed_ = nullptr;
  BoundLaw * running_ = nullptr;
  double state_time_ = -infinity, begun_ = -infinity;
  Report report_;
};

}  // namespace screw_dynamics_control

#endif  // SCREW_DYNAMICS_CONTROL__LAW_RUNNER_HPP_
