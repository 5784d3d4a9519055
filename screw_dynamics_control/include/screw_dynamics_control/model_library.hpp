// Copyright 2026 The screw_dynamics_ros authors
// SPDX-License-Identifier: Apache-2.0

/// \file
/// Dynamics and kinematics of a robot from a shared object that `compile --model-library` of
/// screw_dynamics_ros has written. Linux, without ROS.
///
///     const auto model = std::make_shared<const ModelLibrary>("panda_model.so", urdf);
///     ModelKinematics arm(model, "panda_link0", "panda_hand_tcp");
///     arm.jacobian(q, "panda_hand_tcp", J.data());  // q: std::vector, Eigen::VectorXd ...
///
/// Here matrices are column-major, as those of Eigen, and linear parts come first, as in
/// kinematics_interface. The functions of the constants have row-major matrices, angular parts
/// first.

#ifndef SCREW_DYNAMICS_CONTROL__MODEL_LIBRARY_HPP_
#define SCREW_DYNAMICS_CONTROL__MODEL_LIBRARY_HPP_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "screw_dynamics_control/description_hash.hpp"
#include "screw_dynamics_control/fields.hpp"
#include "screw_dynamics_control/loaded_library.hpp"

#ifndef SCREW_DYNAMICS_MODEL_VERSION
#define SCREW_DYNAMICS_MODEL_VERSION 1

struct screw_dynamics_model_link {
  const char *name;
  uint32_t count;         /* coordinates of bodies from the root to the link */
  const uint32_t *bodies; /* numbers of these bodies */
  const uint32_t *moving; /* places of their coordinates in v; mimic joints share a place */
  void (*pose)(const double *q, double *pose);         /* 4 x 4, in the root frame [1, m] */
  void (*jacobian)(const double *q, double *jacobian); /* 6 x v.size: rates of rotation, and */
  /* velocities of the origin, both in axes of the root [1, m] */
};

/* The functions have no state and do not allocate; all inputs are read before results are written.
 * Torques have the size of v [N m, N]. */
struct screw_dynamics_model_constants {
  uint32_t version; /* SCREW_DYNAMICS_MODEL_VERSION; first in every version */
  uint32_t bytes;   /* size of these constants */
  const char *robot;
  const char *robot_hash;       /* 64 hexadecimal digits: joints, geometry, inertias and drives */
  const char *description_hash; /* of the URDF, as computed by description_hash.hpp */
  struct screw_dynamics_law_vector q, v, tau; /* a field for each joint, with its limits */
  double gravity[3]; /* acceleration of free fall of the robot in root axes [m/s^2] */
  uint32_t link_count;
  const struct screw_dynamics_model_link *links; /* the first is the root */
  void (*mass_matrix)(const double *q, double *matrix); /* v.size x v.size [kg m^2, kg m, kg] */
  void (*bias)(const double *q, const double *v, const double *gravity, double *tau);
  void (*gravity_torques)(const double *q, const double *gravity, double *tau); /* and springs */
  void (*coriolis_torques)(const double *q, const double *v, double *tau);
  void (*friction_torques)(const double *v, double *tau); /* contained in no other function */
  void (*inverse_dynamics)(const double *q, const double *v, const double *a,
                           const double *gravity, double *tau);
};

#endif

namespace screw_dynamics_control
{

using ModelLink = screw_dynamics_model_link;

/// Numbers of an array with data() and size().
struct Numbers
{
  template<typename Array>
  Numbers(const Array & array)  // NOLINT(runtime/explicit)
  : data(array.data()), size(static_cast<std::size_t>(array.size())) {}

  const double * data;
  std::size_t size;
};

/// A loaded model of a robot whose joints have one coordinate each.
class ModelLibrary
{
public:
  /// Throws LibraryError if the file cannot be loaded, see LoadedLibrary, is of another version, or
  /// for another URDF; an empty robot_description accepts any.
  explicit ModelLibrary(const std::string & path, const std::string & robot_description = "")
  : library_(path), constants_(
      library_.constants<screw_dynamics_model_constants>(
        "screw_dynamics_model", SCREW_DYNAMICS_MODEL_VERSION, "model"))
  {
    check_description(library_, constants_.robot, constants_.description_hash, robot_description);
    for (std::size_t k = 0; k < constants_.v.count; ++k) {
      joints_.push_back(constants_.v.fields[k].name);
      if (constants_.v.fields[k].size != 1 || constants_.q.fields[k].size != 1) {
        fail(
          "has the joint " + in_quotes(joints_[k]) + " with several coordinates: write it for a "
          "robot with a fixed base, whose joints have one each");
      }
    }
  }

  const screw_dynamics_model_constants & constants() const noexcept {return constants_;}

  /// The names of the joints with a coordinate of their own, in the order of q and v.
  const std::vector<std::string> & joints() const noexcept {return joints_;}

  /// The place of a joint; throws LibraryError if there is none of that name.
  std::size_t place(const std::string & joint) const
  {
    const auto found = std::find(joints_.begin(), joints_.end(), joint);
    if (found == joints_.end()) {
      fail("has no joint " + in_quotes(joint) + "; it has" + listed(joints_));
    }
    return static_cast<std::size_t>(found - joints_.begin());
  }

  /// A link; throws LibraryError if the library does not have it.
  const ModelLink & link(const std::string & name) const
  {
    const auto * const end = constants_.links + constants_.link_count;
    const auto * const found = std::find_if(
      constants_.links, end, [&name](const ModelLink & each) {return name == each.name;});
    if (found == end) {
      std::vector<std::string> names;
      std::for_each(constants_.links, end, [&](const ModelLink & l) {names.push_back(l.name);});
      fail("has no link " + in_quotes(name) + "; it has" + listed(names));
    }
    return *found;
  }

  /// A link, the root for an empty name.
  const ModelLink & base(const std::string & name) const
  {
    return name.empty() ? constants_.links[0] : link(name);
  }

  /// Call a function with the place of each coordinate that moves one link relative to another, in
  /// this order; with that of mimic joints perhaps several times. Without allocation.
  template<typename Function>
  static void for_each_between(const ModelLink & base, const ModelLink & tip, Function function)
  {
    std::size_t shared = 0;
    while (shared < base.count && shared < tip.count && base.bodies[shared] == tip.bodies[shared]) {
      ++shared;
    }
    for (std::size_t k = base.count; k > shared; --k) {function(base.moving[k - 1]);}
    for (std::size_t k = shared; k < tip.count; ++k) {function(tip.moving[k]);}
  }

  /// The names of the joints that move one link relative to another, in this order.
  std::vector<std::string> chain(const ModelLink & base, const ModelLink & tip) const
  {
    std::vector<std::string> names;
    for_each_between(base, tip, [&](std::size_t k) {
        if (std::find(names.begin(), names.end(), joints_[k]) == names.end()) {
          names.push_back(joints_[k]);
        }
      });
    return names;
  }

  /// Throw LibraryError with the path and a reason.
  [[noreturn]] void fail(const std::string & reason) const {library_.fail(reason);}

  /// Names as the rest of a message.
  static std::string listed(const std::vector<std::string> & names)
  {
    std::string text;
    for (const auto & name : names) {text += (text.empty() ? " " : ", ") + name;}
    return text.empty() ? " none" : text;
  }

private:
  const LoadedLibrary library_;
  const screw_dynamics_model_constants & constants_;
  std::vector<std::string> joints_;
};

using ModelPointer = std::shared_ptr<const ModelLibrary>;

/// The joints of a program among those of a model; the others rest at given positions.
class ModelJoints
{
public:
  /// Throws LibraryError for unknown and repeated names, and positions that are not finite; those
  /// not given are zero.
  ModelJoints(
    const ModelPointer & given, const std::vector<std::string> & joints,
    const std::map<std::string, double> & resting = {})
  : model(given), names(joints), rest(model->joints().size(), 0.0)
  {
    for (const auto & name : names) {
      places.push_back(model->place(name));
      if (std::count(names.begin(), names.end(), name) > 1) {
        model->fail("cannot have the joint " + in_quotes(name) + " twice");
      }
    }
    for (const auto & [name, position] : resting) {
      check_finite("positions", position, name);
      rest[model->place(name)] = position;
    }
  }

  /// Write numbers of these joints to their places among those of all joints of the model.
  ///
  /// Throws LibraryError for another number of them than names, and for those that are not finite.
  void write(const char * what, const Numbers & given, std::vector<double> & all) const
  {
    if (given.size != names.size()) {
      model->fail(
        "got " + std::to_string(given.size) + " " + what + ", expected those of" +
        ModelLibrary::listed(names));
    }
    for (std::size_t k = 0; k < given.size; ++k) {
      check_finite(what, given.data[k], names[k]);
      all[places[k]] = given.data[k];
    }
  }

  /// Numbers of all joints: those of these joints, which `write` checks, and others.
  std::vector<double> among(
    std::vector<double> others, const char * what, const Numbers & given) const
  {
    write(what, given, others);
    return others;
  }

  const ModelPointer model;
  const std::vector<std::string> names;
  std::vector<std::size_t> places;  ///< of these joints in the model
  std::vector<double> rest;  ///< positions of all joints, those of the others as given

private:
  void check_finite(const char * what, double number, const std::string & name) const
  {
    if (!std::isfinite(number)) {
      model->fail(
        "got " + std::to_string(number) + " in the " + what + " for joint " + in_quotes(name) +
        ": numbers must be finite");
    }
  }
};

/// Poses and Jacobians of links relative to a base; without allocation, for one thread at a time.
class ModelKinematics
{
public:
  /// The joints are those from base to tip, in this order; an empty base is the root.
  ///
  /// Throws LibraryError for unknown links and a damping that is negative or not finite.
  ModelKinematics(
    const ModelPointer & model, const std::string & base, const std::string & tip,
    double damping = 5e-6)
  : joints(model, model->chain(model->base(base), model->link(tip))), base_(model->base(base)),
    damping_(damping), q_(model->joints().size()), jacobian_(6 * q_.size()),
    base_jacobian_(jacobian_.size()), own_(6 * joints.names.size())
  {
    if (!(damping >= 0.0 && std::isfinite(damping))) {
      model->fail("got the damping " + std::to_string(damping) + ": it must be at least 0");
    }
  }

  /// The pose of a link, 4 x 4 [1, m].
  ///
  /// Like all functions, throws LibraryError for positions of another size or not finite, for an
  /// unknown link, and for one that another joint moves relative to the base.
  void pose(const Numbers & q, const std::string & link, double * result)
  {
    evaluate(q, link);
    const double offset[3] = {distance(0), distance(1), distance(2)};
    std::fill_n(result, 16, 0.0);
    for (std::size_t column = 0; column < 3; ++column) {
      const double axis[3] = {pose_[column], pose_[4 + column], pose_[8 + column]};
      in_base(axis, result + 4 * column);
    }
    in_base(offset, result + 12);
    result[15] = 1.0;
  }

  /// The Jacobian of the origin of a link, 6 x joints [m, 1], in axes of the base.
  void jacobian(const Numbers & q, const std::string & link, double * result)
  {
    const auto & found = evaluate(q, link);
    const std::size_t n = q_.size();
    found.jacobian(q_.data(), jacobian_.data());
    base_.jacobian(q_.data(), base_jacobian_.data());
    for (std::size_t k = 0; k < joints.places.size(); ++k) {
      const double * const own = &jacobian_[joints.places[k]];
      const double * const other = &base_jacobian_[joints.places[k]];
      double angular[3], linear[3];
      for (std::size_t i = 0; i < 3; ++i) {
        const std::size_t y = (i + 1) % 3, z = (i + 2) % 3;
        angular[i] = own[i * n] - other[i * n];
        linear[i] = own[(3 + i) * n] - other[(3 + i) * n] -
          (other[y * n] * distance(z) - other[z * n] * distance(y));
      }
      in_base(linear, result + 6 * k);
      in_base(angular, result + 6 * k + 3);
    }
  }

  /// The damped inverse J^T (J J^T + damping)^-1 of the Jacobian, joints x 6.
  ///
  /// Throws LibraryError without damping at singular positions, and for less than six joints.
  void jacobian_inverse(const Numbers & q, const std::string & link, double * result)
  {
    jacobian(q, link, own_.data());
    const std::size_t n = joints.names.size();
    double factor[6][6];  // of Cholesky
    for (std::size_t i = 0; i < 6; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = i == j ? damping_ : 0.0;
        for (std::size_t k = 0; k < n; ++k) {sum += own_[6 * k + i] * own_[6 * k + j];}
        const double product = sum;
        for (std::size_t k = 0; k < j; ++k) {sum -= factor[i][k] * factor[j][k];}
        if (i == j && !(sum > 1e-14 * product)) {
          joints.model->fail("has a singular Jacobian of " + in_quotes(link) + ": use damping");
        }
        factor[i][j] = i == j ? std::sqrt(sum) : sum / factor[j][j];
      }
    }
    for (std::size_t k = 0; k < n; ++k) {
      double * const x = &own_[6 * k];
      for (std::size_t i = 0; i < 6; ++i) {
        for (std::size_t j = 0; j < i; ++j) {x[i] -= factor[i][j] * x[j];}
        x[i] /= factor[i][i];
      }
      for (std::size_t i = 6; i-- > 0; ) {
        for (std::size_t j = i + 1; j < 6; ++j) {x[i] -= factor[j][i] * x[j];}
        result[n * i + k] = x[i] /= factor[i][i];
      }
    }
  }

  const ModelJoints joints;

private:
  /// Compute both poses.
  const ModelLink & evaluate(const Numbers & q, const std::string & link)
  {
    const auto & found = joints.model->link(link);
    ModelLibrary::for_each_between(base_, found, [&](std::size_t place) {
        const auto & own = joints.places;
        if (std::find(own.begin(), own.end(), place) == own.end()) {
          joints.model->fail(
            "moves " + in_quotes(link) + " by joint " + in_quotes(joints.model->joints()[place]) +
            ", which is not between base and tip");
        }
      });
    joints.write("positions", q, q_);
    found.pose(q_.data(), pose_.data());
    base_.pose(q_.data(), base_pose_.data());
    return found;
  }

  double distance(std::size_t k) const {return pose_[4 * k + 3] - base_pose_[4 * k + 3];}

  void in_base(const double * vector, double * result) const
  {
    for (std::size_t k = 0; k < 3; ++k) {
      result[k] = base_pose_[k] * vector[0] + base_pose_[4 + k] * vector[1] +
        base_pose_[8 + k] * vector[2];
    }
  }

  const ModelLink & base_;
  const double damping_;
  std::vector<double> q_, jacobian_, base_jacobian_, own_;
  std::array<double, 16> pose_, base_pose_;  // row-major, in the root frame
};

/// Velocities (linear, angular) from a pose to another, (x, y, z, qx, qy, qz, qw) each, in the axes
/// of both. Returns false without a positive duration, and without finite poses with a quaternion.
inline bool frame_difference(const double * from, const double * to, double dt, double * result)
{
  const double * const a = from + 3, * const b = to + 3;
  double rotation[3], sine = 0.0;  // b times the inverse of a
  double cosine = a[3] * b[3];
  for (std::size_t k = 0; k < 3; ++k) {
    const std::size_t y = (k + 1) % 3, z = (k + 2) % 3;
    rotation[k] = a[3] * b[k] - b[3] * a[k] - (b[y] * a[z] - b[z] * a[y]);
    cosine += a[k] * b[k];
    sine = std::hypot(sine, rotation[k]);
  }
  const double size = std::hypot(sine, cosine);
  const double angle = 2.0 * std::atan2(cosine < 0.0 ? -sine : sine, std::abs(cosine));
  for (std::size_t k = 0; k < 3; ++k) {
    result[k] = (to[k] - from[k]) / dt;
    result[3 + k] = rotation[k] * (sine > 0.0 ? angle / sine : 0.0) / dt;
  }
  const bool is_finite = std::all_of(result, result + 6, [](double x) {return std::isfinite(x);});
  return dt > 0.0 && size > 0.0 && std::isfinite(size) && is_finite;
}

/// Terms of the equations of motion of some joints while the others rest; for many threads.
///
/// Throws LibraryError for arrays of another size and numbers that are not finite.
class ModelDynamics
{
public:
  ModelDynamics(ModelJoints own, const std::array<double, 3> & gravity)
  : joints(std::move(own)), gravity_(gravity), zero_(joints.rest.size(), 0.0)
  {
    for (const double each : gravity) {
      if (!std::isfinite(each)) {joints.model->fail("got a gravity that is not finite");}
    }
  }

  /// M(q), joints x joints [kg m^2, kg m, kg].
  void mass_matrix(const Numbers & q, double * result) const
  {
    const std::size_t n = zero_.size();
    std::vector<double> all(n * n);
    functions().mass_matrix(positions(q).data(), all.data());
    for (const std::size_t i : joints.places) {
      for (const std::size_t j : joints.places) {*result++ = all[n * i + j];}
    }
  }

  /// C(q, v) v [N m, N].
  void coriolis_torques(const Numbers & q, const Numbers & v, double * result) const
  {
    std::vector<double> all(zero_);
    functions().coriolis_torques(positions(q).data(), velocities(v).data(), all.data());
    select(all, result);
  }

  /// g(q), with the torques of springs [N m, N].
  void gravity_torques(const Numbers & q, double * result) const
  {
    std::vector<double> all(zero_);
    functions().gravity_torques(positions(q).data(), gravity_.data(), all.data());
    select(all, result);
  }

  /// f(v), the torques that compensate friction [N m, N].
  void friction_torques(const Numbers & v, double * result) const
  {
    std::vector<double> all(zero_);
    functions().friction_torques(velocities(v).data(), all.data());
    select(all, result);
  }

  /// M a + C v + g [N m, N], without friction.
  void torques(const Numbers & q, const Numbers & v, const Numbers & a, double * result) const
  {
    std::vector<double> all(zero_);
    functions().inverse_dynamics(
      positions(q).data(), velocities(v).data(), joints.among(zero_, "accelerations", a).data(),
      gravity_.data(), all.data());
    select(all, result);
  }

  const ModelJoints joints;

private:
  const screw_dynamics_model_constants & functions() const {return joints.model->constants();}

  std::vector<double> positions(const Numbers & q) const
  {
    return joints.among(joints.rest, "positions", q);
  }

  std::vector<double> velocities(const Numbers & v) const
  {
    return joints.among(zero_, "velocities", v);
  }

  void select(const std::vector<double> & all, double * result) const
  {
    for (const std::size_t place : joints.places) {*result++ = all[place];}
  }

  const std::array<double, 3> gravity_;
  const std::vector<double> zero_;
};

}  // namespace screw_dynamics_control

#endif  // SCREW_DYNAMICS_CONTROL__MODEL_LIBRARY_HPP_
