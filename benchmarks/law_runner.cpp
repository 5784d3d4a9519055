// Copyright 2026 The screw_dynamics_ros authors
// SPDX-License-Identifier: Apache-2.0

/// \file
/// The median of many times of `LawRunner::update` [us].

#include <chrono>
#include <cstdio>
#include <random>

#include "screw_dynamics_control/law_runner.hpp"

using namespace screw_dynamics_control;

int main(int, char ** arguments)
{
  ControlLawExpectation any;
  any.state = {"dt"};
  RunnerSettings settings;
  for (const auto & row : reference_table()) {any.reference.push_back(row.name);}
  const ControlLaw law(arguments[1], any);
  const auto & constants = law.constants();
  for (std::size_t k = 0; k < constants.v.count; ++k) {
    settings.joints.push_back(constants.v.fields[k].name);
  }
  for (std::size_t k = 0; k < constants.reference.count; ++k) {
    settings.references.push_back(constants.reference.fields[k].name);
  }
  const std::size_t n = settings.joints.size();
  settings.commands.limits.assign(n, 100.0);
  settings.commands.rates.assign(n, 1e3);
  LawRunner runner(settings);
  runner.install(arguments[1], {});

  std::mt19937 random(0);
  std::uniform_real_distribution<double> number(-0.3, 0.3);
  std::vector<double> q(n), v(n);
  std::vector<double> reference(reference_interfaces(settings.references, settings.joints).size());
  std::vector<double> times;
  for (int k = 0; k < 200000; ++k) {
    for (double & each : q) {each = number(random);}
    for (double & each : v) {each = number(random);}
    for (double & each : reference) {each = number(random);}
    // A quaternion, if the law follows a pose: of no rotation.
    std::size_t pose = 0;
    for (const auto * const row : reference_fields(settings.references)) {
      if (row->size == 16) {
        std::fill_n(&reference[pose + 3], 3, 0.0);
        reference[pose + 6] = 1.0;
      }
      pose += row->of_joints ? n : row->interfaces.size();
    }
    const double now = 0.001 * k;
    const auto begin = std::chrono::steady_clock::now();
    const Outcome outcome =
      runner.update({q.data(), v.data(), nullptr, nullptr, reference.data(), now, now});
    const auto end = std::chrono::steady_clock::now();
    if (outcome != Outcome::command) {return 1;}
    times.push_back(std::chrono::duration<double, std::micro>(end - begin).count());
  }
  std::nth_element(times.begin(), times.begin() + 100000, times.end());
  std::printf("%g\n", times[100000]);
}
