// Copyright 2026 The screw_dynamics_ros authors
// SPDX-License-Identifier: Apache-2.0

/// \file
/// Shared objects that `compile` of screw_dynamics_ros has described: loaded from a copy in memory,
/// after checks of the file, of its digest and of the constants that it exports. Linux, without
/// ROS.
///
/// The last line of a shared object is the SHA-256 of all before it, so that no part of one is ever
/// run:
///
///     cc -O2 -shared -fPIC -o my_law.so my_law.c -lm && sha256sum < my_law.so >> my_law.so

#ifndef SCREW_DYNAMICS_CONTROL__LOADED_LIBRARY_HPP_
#define SCREW_DYNAMICS_CONTROL__LOADED_LIBRARY_HPP_

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace screw_dynamics_control
{

/// A shared object that cannot be used: the file and the reason.
class LibraryError : public std::runtime_error
{
public:
  using std::runtime_error::runtime_error;
};

/// The SHA-256 of bytes (FIPS 180-4) as 64 hexadecimal digits.
inline std::string sha256(std::string bytes)
{
  static constexpr uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
  uint32_t hash[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const auto rotated = [](uint32_t x, int count) {return x >> count | x << (32 - count);};
  const uint64_t bits = uint64_t{8} * bytes.size();
  bytes += '\x80';
  bytes.resize((bytes.size() + 8 + 63) / 64 * 64 - 8);
  for (int k = 56; k >= 0; k -= 8) {bytes += static_cast<char>(bits >> k & 0xff);}
  for (std::size_t block = 0; block < bytes.size(); block += 64) {
    uint32_t w[64] = {};
    for (std::size_t k = 0; k < 64; ++k) {
      w[k / 4] = w[k / 4] << 8 | static_cast<unsigned char>(bytes[block + k]);
    }
    for (std::size_t k = 16; k < 64; ++k) {
      const uint32_t x = w[k - 15], y = w[k - 2];
      w[k] = w[k - 16] + (rotated(x, 7) ^ rotated(x, 18) ^ x >> 3) + w[k - 7] +
        (rotated(y, 17) ^ rotated(y, 19) ^ y >> 10);
    }
    auto [a, b, c, d, e, f, g, h] = hash;
    for (std::size_t k = 0; k < 64; ++k) {
      const uint32_t first = h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) +
        ((e & f) ^ (~e & g)) + constants[k] + w[k];
      const uint32_t second = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) +
        ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
    }
    const uint32_t sums[8] = {a, b, c, d, e, f, g, h};
    for (std::size_t k = 0; k < 8; ++k) {hash[k] += sums[k];}
  }
  std::string digits;
  for (int k = 0; k < 64; ++k) {digits += "0123456789abcdef"[hash[k / 8] >> (28 - k % 8 * 4) & 15];}
  return digits;
}

/// The text between quotation marks of messages.
inline std::string in_quotes(const std::string & name) {return "'" + name + "'";}

/// A shared object, loaded from a copy of its file, which may be replaced or removed at any time.
class LoadedLibrary
{
public:
  /// Throws LibraryError if the file cannot be read, others may write it or a folder above it, or
  /// its last line is not the SHA-256 of all before it (while it is being written).
  explicit LoadedLibrary(const std::string & path)
  : path_(path), file_(copied()), library_(opened())
  {
  }

  LoadedLibrary(const LoadedLibrary &) = delete;
  LoadedLibrary & operator=(const LoadedLibrary &) = delete;

  /// The exported constants of a kind of library, such as 'control law'.
  ///
  /// The type begins with the members `version` and `bytes`, its size. Throws LibraryError if they
  /// are missing, of another version or of another size.
  template<typename Constants>
  const Constants & constants(const char * symbol, uint32_t version, const std::string & kind) const
  {
    const auto * const found = static_cast<const Constants *>(dlsym(library_.get(), symbol));
    if (!found) {fail("is not a " + kind + ": it has no constants " + symbol);}
    if (found->version != version) {
      fail(
        "has version " + std::to_string(found->version) + " of the interface, this program has " +
        std::to_string(version) + ": write it again with the package of this program");
    }
    if (found->bytes != sizeof(Constants)) {
      fail("is for another processor or compiler: the sizes of its constants differ");
    }
    return *found;
  }

  /// Throw LibraryError if a hash of the constants is not the expected one; empty: any.
  void check_hash(
    const std::string & what, const char * name, const char * found,
    const std::string & expected) const
  {
    if (!expected.empty() && expected != found) {
      fail(
        "is for " + what + " " + in_quotes(name) + " with hash " + found + ", expected " +
        expected + ": write it again for the " + what + " of this program");
    }
  }

  /// Throw LibraryError with the path and a reason.
  [[noreturn]] void fail(const std::string & reason) const
  {
    throw LibraryError(path_ + " " + reason);
  }

private:
  struct File
  {
    explicit File(int given) noexcept : number(given) {}
    File(File && other) noexcept : number(std::exchange(other.number, -1)) {}
    ~File() {if (number >= 0) {close(number);}}
    int number;
  };
  struct Closer
  {
    void operator()(void * library) const noexcept {dlclose(library);}
  };

  /// Copy the file into memory that nothing can change: an object on disk that changes would change
  /// the running code, and the loader recognizes a file of the same name as the one that it has.
  File copied() const
  {
    const std::string object = checked_object();
    File copy(memfd_create("screw_dynamics", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    const auto size = static_cast<ssize_t>(object.size());
    if (copy.number < 0 || write(copy.number, object.data(), object.size()) != size ||
      fcntl(copy.number, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
    {
      fail_by_system("cannot be copied into memory");
    }
    return copy;
  }

  /// Read the file once; return what is before its last line.
  std::string checked_object() const
  {
    // O_NONBLOCK: a pipe is refused, not waited for.
    const File file(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat about;
    if (file.number < 0 || fstat(file.number, &about) != 0) {fail_by_system("cannot be opened");}
    if (!S_ISREG(about.st_mode)) {fail("is not a file");}
    if (about.st_size > (64 << 20)) {fail("is larger than 64 MiB");}
    std::string content(static_cast<std::size_t>(about.st_size), '\0');
    check_owner(about, "it");
    std::error_code error;
    for (auto at = std::filesystem::read_symlink(named(file), error); at.has_relative_path(); ) {
      at = at.parent_path();
      if (stat(at.c_str(), &about) != 0) {fail_by_system("is in an unknown folder");}
      check_owner(about, at.string());
    }
    if (error) {fail("is in an unknown folder: " + error.message());}
    std::size_t size = 0;
    while (const ssize_t count = read(file.number, &content[size], content.size() - size)) {
      if (count < 0) {fail_by_system("cannot be read");}
      size += static_cast<std::size_t>(count);
    }
    const std::size_t end = size - std::min<std::size_t>(size, 68);
    if (content.substr(end, size - end) != sha256(content.substr(0, end)) + "  -\n") {
      fail(
        "is being written, incomplete or damaged: its last line is not the SHA-256 of all before "
        "it; compile it again, then sha256sum < " + in_quotes(path_) + " >> " + in_quotes(path_));
    }
    return content.substr(0, end);
  }

  /// Refuse a file or folder that other users can change.
  void check_owner(const struct stat & about, const std::string & name) const
  {
    const bool is_folder = S_ISDIR(about.st_mode);
    // A group of one user has its number. In a sticky folder others replace only what is theirs.
    const bool own_group = about.st_gid == getegid() && getegid() == geteuid();
    const auto others = static_cast<mode_t>(own_group ? S_IWOTH : S_IWGRP | S_IWOTH);
    const bool is_open = (about.st_mode & others) && !(is_folder && (about.st_mode & S_ISVTX));
    if (is_open || (about.st_uid != 0 && about.st_uid != geteuid())) {
      fail(
        "can be changed by other users; " + name + " must be yours or root's, with mode " +
        (is_folder ? "755" : "644"));
    }
  }

  void * opened() const
  {
    // The number belongs to this library while it is loaded: no two have the same name.
    void * const library = dlopen(named(file_).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {fail(std::string("cannot be loaded: ") + dlerror());}
    return library;
  }

  static std::string named(const File & f) {return "/proc/self/fd/" + std::to_string(f.number);}

  [[noreturn]] void fail_by_system(const std::string & reason) const
  {
    fail(reason + ": " + std::strerror(errno));
  }

  const std::string path_;
  const File file_;
  const std::unique_ptr<void, Closer> library_;
};

}  // namespace screw_dynamics_control

#endif  // SCREW_DYNAMICS_CONTROL__LOADED_LIBRARY_HPP_
