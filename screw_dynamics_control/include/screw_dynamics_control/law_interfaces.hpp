// Copyright 2026 The screw_dynamics_ros authors
// SPDX-License-Identifier: Apache-2.0

/// \file
/// The interfaces of ros2_control that carry the fields of a control law. Without ROS.

#ifndef SCREW_DYNAMICS_CONTROL__LAW_INTERFACES_HPP_
#define SCREW_DYNAMICS_CONTROL__LAW_INTERFACES_HPP_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "screw_dynamics_control/loaded_library.hpp"

namespace screw_dynamics_control
{

/// A field of the reference: interfaces of each joint, or of the task; and its number of values.
struct ReferenceField
{
  const char * name;
  bool of_joints;
  const char * position;  ///< the field without which this rate ends, null for others
  std::size_t size;       ///< in the law, for each joint or for the task
  std::vector<const char *> interfaces;
};

/// All fields that a law may read. Poses, twists and wrenches are in the axes of the root; names
/// are those of the Reference Generators (arXiv 2601.08514).
inline const std::vector<ReferenceField> & reference_table()
{
  static const std::vector<ReferenceField> table = {
    {"q", true, nullptr, 1, {"position"}},
    {"v", true, "q", 1, {"velocity"}},
    {"a", true, "q", 1, {"acceleration"}},
    {"tau", true, nullptr, 1, {"effort"}},
    {"pose", false, nullptr, 16,
      {"position.x", "position.y", "position.z", "orientation.x", "orientation.y", "orientation.z",
        "orientation.w"}},
    {"twist", false, "pose", 6,
      {"linear_velocity.x", "linear_velocity.y", "linear_velocity.z", "angular_velocity.x",
        "angular_velocity.y", "angular_velocity.z"}},
    {"wrench", false, nullptr, 6,
      {"force.x", "force.y", "force.z", "torque.x", "torque.y", "torque.z"}}};
  return table;
}

/// The rows of fields in the order of the table; throws std::invalid_argument for unknown names.
inline std::vector<const ReferenceField *> reference_fields(const std::vector<std::string> & names)
{
  std::vector<const ReferenceField *> rows;
  std::string known;
  for (const auto & each : reference_table()) {
    known += (known.empty() ? "" : ", ") + std::string(each.name);
    if (std::find(names.begin(), names.end(), each.name) != names.end()) {rows.push_back(&each);}
  }
  for (const auto & name : names) {
    const auto is_row = [&name](const ReferenceField & each) {return name == each.name;};
    if (std::none_of(reference_table().begin(), reference_table().end(), is_row)) {
      throw std::invalid_argument("no reference " + in_quotes(name) + "; there are " + known);
    }
  }
  return rows;
}

/// The interfaces of fields in the order of the table, as `joint/position` and `position.x`.
inline std::vector<std::string> reference_interfaces(
  const std::vector<std::string> & fields, const std::vector<std::string> & joints)
{
  std::vector<std::string> names;
  for (const ReferenceField * const row : reference_fields(fields)) {
    if (row->of_joints) {
      for (const auto & joint : joints) {names.push_back(joint + "/" + row->interfaces.front());}
    } else {
      names.insert(names.end(), row->interfaces.begin(), row->interfaces.end());
    }
  }
  return names;
}

/// The state interfaces of joints and, if named, of a force-torque sensor: all positions, then all
/// velocities, efforts, the force and the torque.
inline std::vector<std::string> state_interfaces(
  const std::vector<std::string> & joints, bool has_efforts, const std::string & sensor)
{
  std::vector<std::string> names;
  for (const char * interface : {"position", "velocity", "effort"}) {
    if (interface[0] == 'e' && !has_efforts) {continue;}
    for (const auto & joint : joints) {names.push_back(joint + "/" + interface);}
  }
  if (!sensor.empty()) {
    for (const char * const each : reference_fields({"wrench"}).front()->interfaces) {
      names.push_back(sensor + "/" + each);
    }
  }
  return names;
}

/// Write linear and angular parts (6,) in the order of laws, angular parts first.
inline void angular_first(const double * given, double * numbers) noexcept
{
  for (std::size_t k = 0; k < 6; ++k) {numbers[(k + 3) % 6] = given[k];}
}

/// Write position and quaternion (7,) as a matrix (16,); returns whether the quaternion is one, up
/// to 1 % of its length.
inline bool pose_matrix(const double * given, double * pose) noexcept
{
  const double norm = std::hypot(std::hypot(given[3], given[4]), std::hypot(given[5], given[6]));
  if (!(std::abs(norm - 1.0) < 0.01)) {return false;}
  const double x = given[3] / norm, y = given[4] / norm, z = given[5] / norm, w = given[6] / norm;
  const double rows[16] = {
    1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w), given[0],
    2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w), given[1],
    2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y), given[2],
    0.0, 0.0, 0.0, 1.0};
  for (std::size_t k = 0; k < 16; ++k) {pose[k] = rows[k];}
  return true;
}

}  // namespace screw_dynamics_control

#endif  // SCREW_DYNAMICS_CONTROL__LAW_INTERFACES_HPP_
