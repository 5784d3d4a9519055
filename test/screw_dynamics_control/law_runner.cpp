// Copyright 2026 The screw_dynamics_ros authors
// SPDX-License-Identifier: Apache-2.0

/// \file
/// Carries out calls that are read from a file, and prints their results as hexadecimal numbers.

#include <dlfcn.h>
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>

#include "screw_dynamics_control/law_runner.hpp"

using namespace screw_dynamics_control;

static long calls = 0;  // of the allocator and of locks

#ifndef __SANITIZE_ADDRESS__
extern "C" {
void * __libc_malloc(std::size_t);
void * __libc_calloc(std::size_t, std::size_t);
void * __libc_realloc(void *, std::size_t);
void __libc_free(void *);
void * malloc(std::size_t size) {return ++calls, __libc_malloc(size);}
void * calloc(std::size_t count, std::size_t size) {return ++calls, __libc_calloc(count, size);}
void * realloc(void * old, std::size_t size) {return ++calls, __libc_realloc(old, size);}
void free(void * memory) {++calls, __libc_free(memory);}
int pthread_mutex_lock(pthread_mutex_t * mutex)
{
  static const auto next =
    reinterpret_cast<int (*)(pthread_mutex_t *)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  return ++calls, next(mutex);
}
}
#endif

static std::ifstream script;

static std::string word()
{
  std::string text;
  script >> text;
  return text;
}

static double number() {return std::strtod(word().c_str(), nullptr);}

static std::size_t count() {return static_cast<std::size_t>(number());}

static std::vector<double> numbers(std::size_t size)
{
  std::vector<double> values(size);
  for (double & each : values) {each = number();}
  return values;
}

static std::vector<std::string> words()
{
  std::vector<std::string> texts(count());
  for (auto & each : texts) {each = word();}
  return texts;
}

static CommandSettings command_settings(std::size_t n)
{
  CommandSettings settings;
  settings.limits = numbers(n);
  settings.rates = numbers(n);
  settings.blend_time = number();
  settings.ramp_time = number();
  settings.age_limit = number();
  const std::string on_loss = word();
  settings.on_loss = on_loss == "hold" ? Phase::holding :
    on_loss == "stop" ? Phase::silent : Phase::to_zero;
  return settings;
}

static Gains gains()
{
  Gains given;
  for (std::size_t k = count(); k > 0; --k) {
    const std::string name = word();
    given[name] = numbers(count());
  }
  return given;
}

static void print(int result, const std::vector<double> & values)
{
  std::printf("%d", result);
  for (const double each : values) {std::printf(" %a", each);}
}

static void run_command()
{
  const std::size_t n = count();
  TorqueCommand command(command_settings(n));
  for (std::string call = word(); !call.empty(); call = word()) {
    if (call == "blend") {
      command.blend();
      continue;
    }
    const double now = number();
    bool is_sent = false;
    if (call == "step") {
      const double state_time = number();
      const auto wanted = numbers(n);
      is_sent = command.step(now, wanted.data(), state_time);
    } else {
      is_sent = command.tick(now);
    }
    print(is_sent, command.command());
    std::printf(
      " %d %d %zu %zu\n", static_cast<int>(command.phase()), static_cast<int>(command.loss()),
      command.losses(), command.limited());
  }
}

static void run_runner()
{
  RunnerSettings settings;
  settings.joints = words();
  for (std::size_t k = count(); k > 0; --k) {
    const std::string joint = word();
    settings.fixed_positions[joint] = number();
  }
  settings.references = words();
  settings.has_efforts = number() != 0.0;
  settings.has_wrench = number() != 0.0;
  const std::string description = word();
  if (description != "-") {
    std::ifstream file(description);
    settings.robot_description = {std::istreambuf_iterator<char>(file), {}};
  }
  const std::size_t n = settings.joints.size();
  settings.commands = command_settings(n);
  const auto interfaces = reference_interfaces(settings.references, settings.joints);
  for (const auto & each : interfaces) {std::printf("%s ", each.c_str());}
  std::puts("");
  for (const auto & each : state_interfaces(
      settings.joints, settings.has_efforts, settings.has_wrench ? "wrist" : ""))
  {
    std::printf("%s ", each.c_str());
  }
  std::puts("");
  LawRunner runner(settings);
  for (std::string call = word(); !call.empty(); call = word()) {
    try {
      if (call == "install") {
        const std::string path = word();
        runner.install(path, gains());
      } else if (call == "gains") {
        runner.set_gains(gains());
      } else if (call == "restart") {
        runner.restart();
      } else {
        const auto times = numbers(2), q = numbers(n), v = numbers(n);
        const auto effort = numbers(settings.has_efforts ? n : 0);
        const auto wrench = numbers(settings.has_wrench ? 6 : 0);
        const auto reference = numbers(interfaces.size());
        const RunnerInputs inputs{
          q.data(), v.data(), effort.data(), wrench.data(), reference.data(), times[0], times[1]};
        const long before = calls;
        const Outcome outcome = runner.update(inputs);
        const long called = calls - before;
        print(static_cast<int>(outcome), runner.command());
        std::printf(" %ld %zu\n", called, runner.report().refused.load());
      }
    } catch (const std::exception & error) {
      std::printf("refused: %s\n", error.what());
    }
  }
}

int main(int, char ** arguments)
{
  script.open(arguments[1]);
  try {
    if (word() == "command") {run_command();} else {run_runner();}
  } catch (const std::exception & error) {
    std::printf("refused: %s\n", error.what());
  }
}
