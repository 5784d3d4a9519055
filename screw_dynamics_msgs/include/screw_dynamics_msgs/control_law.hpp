// Copyright 2026 The screw_dynamics_ros authors
// SPDX-License-Identifier: Apache-2.0

/// \file
/// Control laws from shared objects, replaced while a real-time thread runs them. Linux, without ROS.
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
/// The command `compile --law` of screw_dynamics_ros writes the C file of a law. The last line of a
/// shared object is the SHA-256 of all before it, so that no part of one is ever run:
///
///     cc -O2 -shared -fPIC -o my_law.so my_law.c -lm && sha256sum < my_law.so >> my_law.so
///
/// Real-time programs lock their memory (mlockall) with MCL_FUTURE, so that laws loaded later are
/// locked, too.

#ifndef SCREW_DYNAMICS_MSGS__CONTROL_LAW_HPP_
#define SCREW_DYNAMICS_MSGS__CONTROL_LAW_HPP_

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#ifndef SCREW_DYNAMICS_LAW_VERSION
#define SCREW_DYNAMICS_LAW_VERSION 1

/* Numbers with a name in a vector. */
struct screw_dynamics_law_field {
  const char *name;
  const char *unit;
  const char *text; /* meaning of a parameter */
  uint32_t offset;  /* place of the first number in the vector */
  uint32_t size;    /* numbers; matrices are row-major */
  double value;     /* of each number at the start: 0, or the default of a parameter */
  double minimum;   /* bounds of each number, included */
  double maximum;
};

struct screw_dynamics_law_vector {
  uint32_t size;   /* numbers */
  uint32_t count;  /* fields, consecutive from the beginning to the end of the vector */
  const struct screw_dynamics_law_field *fields;
};

struct screw_dynamics_law_constants {
  uint32_t version; /* SCREW_DYNAMICS_LAW_VERSION; first in every version */
  uint32_t bytes;   /* size of these constants */
  const char *name;
  const char *options; /* of the recording: name=value, separated by spaces */
  const char *robot;
  const char *robot_hash; /* 64 hexadecimal digits: joints, geometry and inertias */
  const char *law_hash;   /* 64 hexadecimal digits: fields, parameters and operations */
  struct screw_dynamics_law_vector q, v; /* a field for each joint, of its name */
  struct screw_dynamics_law_vector state, reference, parameters, memory;
  double gravity[3]; /* acceleration of free fall of the robot in root axes [m/s^2] */
  /* Computes torques of v.size and the next memory. It has no state and does not allocate; all
   * inputs are read before results are written, so that both memories may be the same. Vectors of
   * size 0 may be null. */
  void (*update)(const double *q, const double *v, const double *gravity, const double *state,
                 const double *reference, const double *parameters, const double *memory,
                 double *tau, double *next_memory);
};

#endif

namespace screw_dynamics_msgs
{

/// A law that cannot be loaded, or a parameter that it does not have: the file and the reason.
class ControlLawError : public std::runtime_error
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

/// What a program requires of a law.
struct ControlLawExpectation
{
  std::string robot_hash;  ///< empty: any robot with these joints
  std::string law_hash;    ///< empty: any law
  std::vector<std::string> joints;  ///< in the order of q and v, as of this program
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
  : path_(path), file_(copied()), library_(opened()), constants_(checked(expected)),
    state_(constants_->state.size), reference_(constants_->reference.size),
    parameters_(constants_->parameters.size), memory_(constants_->memory.size)
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
    const auto * const field = find(constants_->parameters, name.c_str());
    if (!field) {
      fail("has no parameter " + quoted(name) + "; it has " + listed(constants_->parameters));
    }
    if (!(value >= field->minimum && value <= field->maximum)) {
      fail(
        "parameter " + quoted(name) + " must be in [" + std::to_string(field->minimum) + ", " +
        std::to_string(field->maximum) + "], not " + std::to_string(value));
    }
    std::fill_n(parameters_.data() + field->offset, field->size, value);
  }

  /// Set the memory to zero.
  void reset() noexcept {std::fill(memory_.begin(), memory_.end(), 0.0);}

  /// Compute the torques, of the size of v, and the next memory; without allocation.
  void update(const double * q, const double * v, const double * gravity, double * tau) noexcept
  {
    constants_->update(
      q, v, gravity, state_.data(), reference_.data(), parameters_.data(), memory_.data(), tau,
      memory_.data());
  }

private:
  using Vector = screw_dynamics_law_vector;

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
  /// the running law, and the loader recognizes a file of the same name as the one that it has.
  File copied() const
  {
    const std::string object = checked_object();
    File copy(memfd_create("control_law", MFD_CLOEXEC | MFD_ALLOW_SEALING));
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
        "it; compile it again, then sha256sum < " + quoted(path_) + " >> " + quoted(path_));
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
    // The number belongs to this law as long as it is loaded, so that no two have the same name.
    void * const library = dlopen(named(file_).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {fail(std::string("cannot be loaded: ") + dlerror());}
    return library;
  }

  const screw_dynamics_law_constants * checked(const ControlLawExpectation & expected) const
  {
    const auto * const found = static_cast<const screw_dynamics_law_constants *>(
      dlsym(library_.get(), "screw_dynamics_law"));
    if (!found) {fail("is not a control law: it has no constants screw_dynamics_law");}
    if (found->version != SCREW_DYNAMICS_LAW_VERSION) {
      fail(
        "has version " + std::to_string(found->version) + " of the interface, this program has " +
        std::to_string(SCREW_DYNAMICS_LAW_VERSION) + ": write it again with the package of this "
        "program");
    }
    if (found->bytes != sizeof(screw_dynamics_law_constants)) {
      fail("is for another processor or compiler: the sizes of its constants differ");
    }
    check_hash("robot", found->robot, found->robot_hash, expected.robot_hash);
    check_hash("law", found->name, found->law_hash, expected.law_hash);
    for (const Vector * each : {&found->q, &found->v, &found->state, &found->reference,
        &found->parameters, &found->memory})
    {
      check_layout(*each);
    }
    check_joints(found->q, expected.joints);
    check_joints(found->v, expected.joints);
    check_filled("state", found->state, expected.state);
    check_filled("reference", found->reference, expected.reference);
    if (!found->update) {fail("is damaged: it has no function update");}
    return found;
  }

  void check_hash(
    const std::string & what, const char * name, const char * found,
    const std::string & expected) const
  {
    if (!expected.empty() && expected != found) {
      fail(
        "is for " + what + " " + quoted(name) + " with hash " + found + ", expected " + expected +
        ": write it again for the " + what + " of this program");
    }
  }

  void check_layout(const Vector & vector) const
  {
    std::size_t end = 0;
    for (std::size_t k = 0; k < vector.count; ++k) {
      const auto & field = vector.fields[k];
      if (field.offset != end) {fail("is damaged: " + quoted(field.name) + " is misplaced");}
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
      fail("has the joints " + listed(vector) + ", expected " + (joints.empty() ? "none" : joints));
    }
  }

  void check_filled(
    const std::string & what, const Vector & vector, const std::vector<std::string> & filled) const
  {
    for (std::size_t k = 0; k < vector.count; ++k) {
      const std::string name = vector.fields[k].name;
      if (std::find(filled.begin(), filled.end(), name) == filled.end()) {
        fail("reads " + quoted(name) + " of the " + what + ", which this program does not fill");
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

  static std::string named(const File & f) {return "/proc/self/fd/" + std::to_string(f.number);}

  static std::string quoted(const std::string & name) {return "'" + name + "'";}

  [[noreturn]] void fail(const std::string & reason) const
  {
    throw ControlLawError(path_ + " " + reason);
  }
  [[noreturn]] void fail_by_system(const std::string & reason) const
  {
    fail(reason + ": " + std::strerror(errno));
  }

  const std::string path_;
  const File file_;
  const std::unique_ptr<void, Closer> library_;
  const screw_dynamics_law_constants * const constants_;
  std::vector<double> state_, reference_, parameters_, memory_;
};

/// Passes laws from one thread to another, which runs them without locks and without waiting.
///
/// Destroy it when the running thread has ended.
class ControlLawSwitch
{
public:
  ControlLawSwitch() = default;
  ControlLawSwitch(const ControlLawSwitch &) = delete;
  ControlLawSwitch & operator=(const ControlLawSwitch &) = delete;

  ~ControlLawSwitch()
  {
    collect();
    delete next_.load();
    delete running_.load();
  }

  /// Replace the law at the next call of `current`, instead of one that still waits for it.
  void install(std::unique_ptr<ControlLaw> law)
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
  ControlLaw * current() noexcept
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
    explicit Slot(std::unique_ptr<ControlLaw> given) : law(std::move(given)) {}
    const std::unique_ptr<ControlLaw> law;
    std::unique_ptr<Slot> before;  // the law that ran before, until it is closed
  };
  static_assert(std::atomic<Slot *>::is_always_lock_free);

  std::atomic<Slot *> next_{nullptr};
  std::atomic<Slot *> running_{nullptr};
  std::mutex collecting_;
};

}  // namespace screw_dynamics_msgs

#endif  // SCREW_DYNAMICS_MSGS__CONTROL_LAW_HPP_
