// Copyright 2026 The screw_dynamics_ros authors
// SPDX-License-Identifier: Apache-2.0

/// \file
/// Compiles control laws by the command `compile` of screw_dynamics_ros, in another process. Linux,
/// without ROS; not for real-time threads.

#ifndef SCREW_DYNAMICS_CONTROL__LAW_COMPILER_HPP_
#define SCREW_DYNAMICS_CONTROL__LAW_COMPILER_HPP_

#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "screw_dynamics_control/loaded_library.hpp"

namespace screw_dynamics_control
{

/// A law, and the robot for which it is compiled.
struct LawRequest
{
  std::string description;           ///< URDF
  std::string law;                   ///< as of `compile --law`
  std::vector<std::string> options;  ///< name=value
  double time_limit = 60.0;          ///< after which the processes are ended [s]
};

/// The shared object of a law, in a folder of its own that is removed in the end.
class CompiledLaw
{
public:
  /// Throws LibraryError with the output of the command if it fails or takes too long.
  explicit CompiledLaw(const LawRequest & request)
  {
    try {
      compile(request);
    } catch (...) {
      remove();
      throw;
    }
  }

  ~CompiledLaw() {remove();}
  CompiledLaw(const CompiledLaw &) = delete;
  CompiledLaw & operator=(const CompiledLaw &) = delete;

  const std::string & path() const noexcept {return path_;}

private:
  void compile(const LawRequest & request)
  {
    const auto fail = [&request](const std::string & text) {
        throw LibraryError("law " + in_quotes(request.law) + " " + text);
      };
    if (request.description.empty()) {fail("needs a robot description, there is none");}
    std::string folder = (std::filesystem::temp_directory_path() / "law_XXXXXX").string();
    if (!mkdtemp(folder.data())) {
      fail("cannot be compiled in " + folder + ": " + std::strerror(errno));
    }
    folder_ = folder;
    path_ = folder_ + "/" + request.law + ".so";  // as errors name it
    const auto begin = path_.begin() + static_cast<std::ptrdiff_t>(folder_.size()) + 1;
    std::replace(begin, path_.end(), '/', '.');
    std::ofstream(folder_ + "/robot.urdf") << request.description;
    const std::string script = R"(
      set -e
      cd "$1"
      object="$2"
      shift 2
      compile='screw-dynamics compile'
      command -v screw-dynamics > /dev/null || compile='ros2 run screw_dynamics_ros compile'
      $compile robot.urdf --name law "$@"
      cc -O2 -march=native -fno-math-errno -ffp-contract=fast -shared -fPIC -o law.so law.c -lm
      sha256sum < law.so >> law.so
      mv law.so "$object"
    )";
    std::vector<std::string> words = {
      "timeout", "--kill-after=2", std::to_string(request.time_limit), "sh", "-c", script, "sh",
      folder_, path_, "--law=" + request.law};
    for (const auto & each : request.options) {
      if (!each.empty()) {words.push_back("--law-option=" + each);}
    }
    const int status = run(words);
    if (status == 124 || status == 137) {
      fail("was not compiled within " + std::to_string(request.time_limit) + " s: " + output());
    } else if (status != 0) {
      fail("cannot be compiled: " + output());
    }
  }

  /// Run a command with its output in a file; return its exit status, -1 without one.
  int run(std::vector<std::string> & words) const
  {
    std::vector<char *> arguments;
    for (auto & each : words) {arguments.push_back(each.data());}
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    const int flags = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, (folder_ + "/output").c_str(), flags, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    pid_t child = -1;
    const int error =
      posix_spawnp(&child, words.front().c_str(), &files, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    if (error != 0) {throw LibraryError("cannot run timeout: " + std::string(strerror(error)));}
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
      if (errno != EINTR) {return -1;}
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  /// The end of the output, at most 2000 bytes.
  std::string output() const
  {
    std::ifstream file(folder_ + "/output");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return text.substr(text.size() - std::min<std::size_t>(text.size(), 2000));
  }

  void remove() const noexcept
  {
    std::error_code ignored;
    if (!folder_.empty()) {std::filesystem::remove_all(folder_, ignored);}
  }

  std::string folder_, path_;
};

}  // namespace screw_dynamics_control

#endif  // SCREW_DYNAMICS_CONTROL__LAW_COMPILER_HPP_
