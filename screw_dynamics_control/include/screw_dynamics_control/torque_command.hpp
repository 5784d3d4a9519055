// Copyright 2026 The screw_dynamics_ros authors
// SPDX-License-Identifier: Apache-2.0

/// \file
/// Commanded torques from desired ones: limits, ramps, blends, and what happens when states are
/// lost. Without ROS, allocation and locks.
///
/// The rules are those of `core/motion/control/command_rules.py` of screw_dynamics_ros, without the
/// actions that need gravity torques or the end of a process; a test compares all commands.

#ifndef SCREW_DYNAMICS_CONTROL__TORQUE_COMMAND_HPP_
#define SCREW_DYNAMICS_CONTROL__TORQUE_COMMAND_HPP_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace screw_dynamics_control
{

/// What the command follows.
enum class Phase {silent, following, holding, to_zero};

/// Why states were lost.
enum class Loss {none, too_old, refused, paused};

struct CommandSettings
{
  std::vector<double> limits;  ///< largest torques [N m, N], infinite for none
  std::vector<double> rates;   ///< largest rates of change [N m/s, N/s], infinite for none
  double blend_time = 0.3;     ///< in which another law or other gains take effect [s]
  double ramp_time = 1.0;      ///< in which torques rise from zero and fall to zero [s]
  double age_limit = 0.1;      ///< largest age of a state whose torques may be commanded [s]
  Phase on_loss = Phase::to_zero;  ///< holding, to_zero, or silent: nothing more, at once
};

/// The command of n joints.
///
/// With x the wanted torques within their limits, it is limited(g x + w b): g rises from 0 to 1
/// over `ramp_time` when torques begin; b is the last command less g x at a change, and w falls
/// from 1 to 0 over `blend_time`. Limits of magnitude and of rate come last.
class TorqueCommand
{
public:
  /// Throws std::invalid_argument for other numbers of limits, and values that are not allowed.
  explicit TorqueCommand(CommandSettings settings)
  : s_(std::move(settings)), command_(s_.limits.size()), target_(command_), bias_(command_)
  {
    const auto require = [](bool is_met, const char * text) {
        if (!is_met) {throw std::invalid_argument(text);}
      };
    require(s_.rates.size() == s_.limits.size(), "limits and rates must have the same size");
    for (std::size_t k = 0; k < s_.limits.size(); ++k) {
      require(s_.limits[k] >= 0.0, "limits of torques must be numbers >= 0");
      require(s_.rates[k] > 0.0, "limits of rates must be positive");
    }
    require(s_.blend_time >= 0.0 && s_.blend_time < infinity, "blend_time must be >= 0 and finite");
    require(s_.ramp_time >= 0.0 && s_.ramp_time < infinity, "ramp_time must be >= 0 and finite");
    require(s_.age_limit > 0.0 && s_.age_limit < infinity, "age_limit must be > 0 and finite");
    require(s_.on_loss != Phase::following, "on_loss must be hold, ramp_to_zero or stop");
  }

  /// Let torques begin from zero at the next state, as after the construction.
  void restart() noexcept
  {
    silence();
    state_time_ = now_ = -infinity;
    is_lost_ = false;
  }

  /// Let what changed since the last call take effect over `blend_time`.
  void blend() noexcept
  {
    if (phase_ == Phase::following && change_ < 0.0) {change_ = s_.blend_time;}
  }

  /// Command wanted torques (n,) for a state; both times [s] are of one monotonic clock. Returns
  /// whether there is a command.
  bool step(double now, const double * wanted, double state_time) noexcept
  {
    now = advance_time(now);
    const double age = now - state_time;
    if (!(-s_.age_limit <= age && age <= s_.age_limit)) {return lose(now, Loss::too_old);}
    double total = 0.0;
    for (std::size_t k = 0; k < command_.size(); ++k) {total += std::abs(wanted[k]);}
    if (!(total < max_torque)) {return lose(now, Loss::refused);}
    state_time_ = age > 0.0 ? state_time : now;
    is_lost_ = false;
    if (phase_ != Phase::following || now - sent_ > s_.age_limit) {follow(now);}
    limit(wanted, target_.data());
    return advance(now);
  }

  /// Command without a new state. Returns whether there is a command; until the last state is older
  /// than `age_limit` the one before remains.
  bool tick(double now) noexcept
  {
    now = advance_time(now);
    if (phase_ == Phase::silent) {return false;}
    if (is_lost_) {return advance(now);}
    return now - state_time_ > s_.age_limit && lose(now, Loss::too_old);
  }

  /// The last command (n,), zero after silence.
  const std::vector<double> & command() const noexcept {return command_;}
  Phase phase() const noexcept {return phase_;}
  Loss loss() const noexcept {return loss_;}           ///< the last reason
  std::size_t losses() const noexcept {return losses_;}    ///< how often states were lost
  std::size_t limited() const noexcept {return limited_;}  ///< how often a limit acted
  const CommandSettings & settings() const noexcept {return s_;}

private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr double max_torque = 1e9;
  static constexpr double no_change = -1.0;

  /// Pauses count in no ramp or blend.
  double advance_time(double now) noexcept
  {
    now_ = std::max(now_, now);
    const double pause = now_ - sent_ - s_.age_limit;
    if (pause > 0.0) {ramp_start_ += pause, blend_start_ += pause;}
    return now_;
  }

  bool lose(double now, Loss reason) noexcept
  {
    loss_ = reason;
    if (!is_lost_) {
      is_lost_ = true;
      ++losses_;
      const bool is_on = phase_ == Phase::following || phase_ == Phase::holding;
      if (is_on || (phase_ == Phase::to_zero && s_.on_loss == Phase::silent)) {act();}
    }
    return advance(now);
  }

  void act() noexcept
  {
    if (s_.on_loss == Phase::silent) {
      silence();
    } else {
      const bool is_held = s_.on_loss == Phase::holding;
      begin(s_.on_loss, is_held ? no_change : s_.ramp_time);
      is_blending_ = is_blending_ && !is_held;
    }
  }

  void begin(Phase phase, double change) noexcept {phase_ = phase, change_ = change;}

  void follow(double now) noexcept
  {
    if (phase_ == Phase::following) {  // after a pause in which no tick came, either
      loss_ = Loss::paused;
      ++losses_;
    }
    if (phase_ == Phase::silent || phase_ == Phase::to_zero || is_ramping_) {
      is_ramping_ = true;
      ramp_start_ = now;
    }
    begin(Phase::following, is_ramping_ ? s_.ramp_time : s_.blend_time);
  }

  void silence() noexcept
  {
    begin(Phase::silent, no_change);
    is_ramping_ = is_blending_ = false;
    std::fill(command_.begin(), command_.end(), 0.0);
    sent_ = infinity;
  }

  bool advance(double now) noexcept
  {
    if (phase_ == Phase::silent) {return false;}
    if (phase_ == Phase::following) {
      if (is_ramping_) {ramp(now);}
    } else if (phase_ == Phase::holding) {
      target_ = command_;
    } else {
      std::fill(target_.begin(), target_.end(), 0.0);
    }
    if (change_ >= 0.0) {start_blend(now);}
    if (is_blending_) {add_bias(now);}
    approach(std::min(now - sent_, s_.age_limit));
    sent_ = now;
    const auto is_zero = [](double each) {return each == 0.0;};
    if (phase_ == Phase::to_zero && std::all_of(command_.begin(), command_.end(), is_zero)) {
      silence();
    }
    return true;
  }

  void ramp(double now) noexcept
  {
    const double elapsed = now - ramp_start_;
    if (elapsed < s_.ramp_time) {
      const double rest = 1.0 - smooth(elapsed / s_.ramp_time);
      for (double & each : target_) {each *= 1.0 - rest;}
    } else {
      is_ramping_ = false;
    }
  }

  void start_blend(double now) noexcept
  {
    double duration = std::exchange(change_, no_change);
    if (phase_ == Phase::following && is_blending_) {  // do not cut a longer one short
      duration = std::max(duration, blend_start_ + blend_duration_ - now);
    }
    for (std::size_t k = 0; k < bias_.size(); ++k) {bias_[k] = command_[k] - target_[k];}
    is_blending_ = true;
    blend_start_ = now;
    blend_duration_ = duration;
  }

  void add_bias(double now) noexcept
  {
    const double elapsed = now - blend_start_;
    if (elapsed < blend_duration_) {
      const double rest = 1.0 - smooth(elapsed / blend_duration_);
      for (std::size_t k = 0; k < bias_.size(); ++k) {target_[k] += rest * bias_[k];}
      limit(target_.data(), target_.data());
    } else {
      is_blending_ = false;
    }
  }

  /// From 0 to 1 for s from 0 to 1.
  static double smooth(double s) noexcept
  {
    return s * s * s * (10.0 + s * (6.0 * s - 15.0));
  }

  void limit(const double * wanted, double * limited) noexcept
  {
    for (std::size_t k = 0; k < command_.size(); ++k) {
      const double torque = wanted[k];
      limited[k] = std::max(-s_.limits[k], std::min(s_.limits[k], torque));
      limited_ += limited[k] != torque;
    }
  }

  void approach(double dt) noexcept
  {
    for (std::size_t k = 0; k < command_.size(); ++k) {
      const double rate = s_.rates[k], last = command_[k], change = target_[k] - last;
      const double largest = dt > 0.0 ? rate * dt : std::isinf(rate) ? infinity : 0.0;
      const bool is_near = std::abs(change) <= largest;
      command_[k] = is_near ? target_[k] : last + std::copysign(largest, change);
      limited_ += !is_near && command_[k] - last != change;
    }
  }

  const CommandSettings s_;
  std::vector<double> command_, target_, bias_;
  Phase phase_ = Phase::silent;
  Loss loss_ = Loss::none;
  std::size_t losses_ = 0, limited_ = 0;
  double now_ = -infinity, state_time_ = -infinity, sent_ = infinity, ramp_start_ = infinity;
  double change_ = no_change, blend_start_ = 0.0, blend_duration_ = 0.0;
  bool is_lost_ = false, is_ramping_ = false, is_blending_ = false;
};

}  // namespace screw_dynamics_control

#endif  // SCREW_DYNAMICS_CONTROL__TORQUE_COMMAND_HPP_
