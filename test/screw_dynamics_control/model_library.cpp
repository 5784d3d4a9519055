// Copyright 2026 The screw_dynamics_ros authors
// SPDX-License-Identifier: Apache-2.0

/// Runs the commands of a file: a name, words, and after a colon arrays of numbers, separated by
/// commas. Prints for each the numbers of its result and the allocations, or the error.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "counted_allocations.hpp"
#include "screw_dynamics_control/model_library.hpp"

using namespace screw_dynamics_control;
using Array = std::vector<double>;

static ModelPointer model;
static std::unique_ptr<ModelKinematics> arm;
static std::unique_ptr<ModelDynamics> dynamics;

static std::string content(const std::string & path)
{
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

static std::string text(const std::string & word) {return word == "-" ? "" : word;}

static void execute(
  const std::vector<std::string> & words, const std::vector<Array> & given, Array & result)
{
  const std::string & name = words[0];
  if (name == "model") {
    model = std::make_shared<const ModelLibrary>(words[1], content(text(words[2])));
  } else if (name == "kinematics") {
    arm.reset();
    arm = std::make_unique<ModelKinematics>(
      model, text(words[1]), words[2], std::strtod(words[3].c_str(), nullptr));
    for (const auto & each : arm->joints.names) {std::printf("%s ", each.c_str());}
  } else if (name == "dynamics") {
    std::map<std::string, double> resting;
    if (words.size() > 2) {resting[words[2]] = given[1][0];}
    std::vector<std::string> joints;
    std::istringstream list(words[1]);
    for (std::string each; std::getline(list, each, ','); ) {joints.push_back(each);}
    const Array & g = given[0];
    dynamics = std::make_unique<ModelDynamics>(
      ModelJoints(model, joints, resting), std::array<double, 3>{g[0], g[1], g[2]});
  } else if (name == "pose") {
    result.resize(16);
    arm->pose(given[0], words[1], result.data());
  } else if (name == "jacobian" || name == "inverse") {
    result.resize(6 * arm->joints.names.size());
    // The first call is not in real time: it makes room for nothing, but may load libraries.
    const long before = allocations;
    if (name == "jacobian") {
      arm->jacobian(given[0], words[1], result.data());
    } else {
      arm->jacobian_inverse(given[0], words[1], result.data());
    }
    std::printf("%ld ", allocations - before);
  } else if (name == "mass_matrix") {
    result.resize(dynamics->joints.names.size() * dynamics->joints.names.size());
    dynamics->mass_matrix(given[0], result.data());
  } else if (name == "difference") {
    result.resize(6);
    if (!frame_difference(given[0].data(), given[1].data(), given[2][0], result.data())) {
      throw std::runtime_error("no difference");
    }
  } else if (name == "hash") {
    std::printf("%s", description_hash(content(words[1])).c_str());
  } else {
    result.resize(dynamics->joints.names.size());
    double * const tau = result.data();
    if (name == "coriolis_torques") {dynamics->coriolis_torques(given[0], given[1], tau);}
    if (name == "gravity_torques") {dynamics->gravity_torques(given[0], tau);}
    if (name == "friction_torques") {dynamics->friction_torques(given[0], tau);}
    if (name == "torques") {dynamics->torques(given[0], given[1], given[2], tau);}
  }
}

int main(int, char ** arguments)
{
  std::ifstream file(arguments[1]);
  for (std::string line; std::getline(file, line); ) {
    const std::size_t colon = line.find(" : ");
    std::istringstream left(line.substr(0, colon));
    const std::vector<std::string> words{std::istream_iterator<std::string>(left), {}};
    std::vector<Array> given;
    if (colon != std::string::npos) {
      std::istringstream right(line.substr(colon + 3));
      for (std::string part; std::getline(right, part, ','); ) {
        std::istringstream numbers(part);
        given.emplace_back();
        for (std::string each; numbers >> each; ) {
          given.back().push_back(std::strtod(each.c_str(), nullptr));
        }
      }
    }
    Array result;
    try {
      execute(words, given, result);
    } catch (const std::exception & error) {
      result.clear();
      std::printf("error: %s", error.what());
    }
    for (const double each : result) {std::printf("%a ", each);}
    std::puts("");
  }
}
