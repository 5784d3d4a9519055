// Copyright 2026 The screw_dynamics_ros authors
// SPDX-License-Identifier: Apache-2.0

/// \file
/// The hash of a URDF by which a compiled model or law and the robot of a program are compared.
///
/// It is the SHA-256 of the canonical text: the tags of <link>, <inertial> and <joint> and of all
/// within <inertial> and <joint>, after the attribute `version` of the root. Between tags nothing is
/// kept, in tags no white space but within values, there one space for each; values have double
/// quotes, and each element ends with `</>`. Layout, comments, meshes, materials, transmissions, and
/// the tags of simulators and ros2_control are not part of it.

#ifndef SCREW_DYNAMICS_CONTROL__DESCRIPTION_HASH_HPP_
#define SCREW_DYNAMICS_CONTROL__DESCRIPTION_HASH_HPP_

#include <cstddef>
#include <string>
#include <vector>

#include "screw_dynamics_control/loaded_library.hpp"

namespace screw_dynamics_control
{

/// The text of a URDF whose hash is compared; any text has one.
inline std::string canonical_text(const std::string & urdf)
{
  static const std::string space = " \t\n\r\f\v";
  std::string result;
  std::vector<std::string> path;
  const auto is_kept = [&path] {
      return path.size() > 1 && (path[1] == "joint" ||
             (path[1] == "link" && (path.size() == 2 || path[2] == "inertial")));
    };
  const auto end_element = [&] {
      if (is_kept()) {result += "</>";}
      path.pop_back();
    };
  for (std::size_t at = urdf.find('<'); at < urdf.size(); at = urdf.find('<', at)) {
    const auto skips = [&](const std::string & begin, const std::string & end) {
        if (urdf.compare(at, begin.size(), begin) != 0) {return false;}
        at = urdf.find(end, at + begin.size());
        return true;
      };
    if (skips("<!--", "-->") || skips("<![CDATA[", "]]>") || skips("<?", "?>")) {continue;}
    const std::string name = urdf.substr(at + 1, urdf.find_first_of(space + "/>", at + 2) - at - 1);
    std::string tag;
    std::size_t value = 0;  // where the one begins that is being read
    for (char quote = 0; ++at < urdf.size() && (quote || urdf[at] != '>'); ) {
      const char each = urdf[at];
      const bool is_space = space.find(each) != std::string::npos;
      if (quote ? each == quote : each == '"' || each == '\'') {
        if (quote && tag.size() > value && tag.back() == ' ') {tag.pop_back();}
        tag += '"';
        quote = quote ? 0 : each;
        value = tag.size();
      } else if (!is_space) {
        tag += each;
      } else if (quote && tag.size() > value && tag.back() != ' ') {
        tag += ' ';
      }
    }
    if (name[0] == '/') {
      if (!path.empty()) {end_element();}
      continue;
    }
    const bool is_empty = !tag.empty() && tag.back() == '/';
    if (is_empty) {tag.pop_back();}
    path.push_back(name);
    const std::size_t version = path.size() == 1 ? tag.find("version=\"") : std::string::npos;
    if (version != std::string::npos) {
      result += tag.substr(version, tag.find('"', version + 9) + 1 - version);
    }
    if (is_kept()) {result += "<" + tag + ">";}
    if (is_empty) {end_element();}
  }
  return result;
}

/// The hash of a URDF, 64 hexadecimal digits.
inline std::string description_hash(const std::string & urdf)
{
  return sha256(canonical_text(urdf));
}

/// Throw LibraryError if a library is for another URDF than that of the program; empty: any.
inline void check_description(
  const LoadedLibrary & library, const char * robot, const char * found, const std::string & urdf)
{
  if (!urdf.empty()) {library.check_hash("description", robot, found, description_hash(urdf));}
}

}  // namespace screw_dynamics_control

#endif  // SCREW_DYNAMICS_CONTROL__DESCRIPTION_HASH_HPP_
