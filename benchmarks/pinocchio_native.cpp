// Copyright 2026 The screw_dynamics_ros authors
// SPDX-License-Identifier: Apache-2.0

// Pinocchio called from C++, timed in turns with its calls from Python in the same process.
// native_peer.py compiles this against the headers of the installed wheel, and loads it.

#include <pinocchio/multibody.hpp>
//
#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/center-of-mass.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/energy.hpp>
#include <pinocchio/algorithm/frames.hpp>
#include <pinocchio/algorithm/regressor.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea-second-order-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include <chrono>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace {

namespace pin = pinocchio;
using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;
using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Clock = std::chrono::steady_clock;

struct Peer {
  pin::Model model, weightless;
  std::vector<pin::Data> data;  // one for each thread
  pin::FrameIndex frame = 0;
  Matrix jacobian;
};

enum Function {
  inverse_dynamics,
  forward_dynamics,
  mass_matrix,
  gravity,
  frames,
  jacobian,
  coriolis_torques,
  kinetic_energy,
  potential_energy,
  center_of_mass,
  inverse_derivatives,
  forward_derivatives,
  regressor,
  coriolis_matrix,
  inverse_mass_matrix,
  inverse_second_derivatives
};

// What the call leaves behind is kept in `data`, as a C++ program would use it: nothing is copied.
void call(Peer& peer, int function, pin::Data& data, const Vector& q, const Vector& v,
          const Vector& a) {
  const pin::Model& model = peer.model;
  switch (function) {
    case inverse_dynamics:
      pin::rnea(model, data, q, v, a);
      break;
    case forward_dynamics:
      pin::aba(model, data, q, v, a, pin::Convention::LOCAL);
      break;
    case mass_matrix:
      pin::crba(model, data, q, pin::Convention::LOCAL);
      break;
    case gravity:
      pin::computeGeneralizedGravity(model, data, q);
      break;
    case frames:
      pin::framesForwardKinematics(model, data, q);
      break;
    case jacobian:
      peer.jacobian.setZero();
      pin::computeFrameJacobian(model, data, q, peer.frame, pin::LOCAL_WORLD_ALIGNED,
                                peer.jacobian);
      break;
    case coriolis_torques:
      pin::nonLinearEffects(peer.weightless, data, q, v);
      break;
    case kinetic_energy:
      pin::computeKineticEnergy(model, data, q, v);
      break;
    case potential_energy:
      pin::computePotentialEnergy(model, data, q);
      break;
    case center_of_mass:
      pin::centerOfMass(model, data, q);
      break;
    case inverse_derivatives:
      pin::computeRNEADerivatives(model, data, q, v, a);
      break;
    case forward_derivatives:
      pin::computeABADerivatives(model, data, q, v, a);
      break;
    case regressor:
      pin::computeJointTorqueRegressor(model, data, q, v, a);
      break;
    case coriolis_matrix:
      pin::computeCoriolisMatrix(model, data, q, v);
      break;
    case inverse_mass_matrix:
      pin::computeMinverse(model, data, q);
      break;
    case inverse_second_derivatives:
      pin::ComputeRNEASecondOrderDerivatives(model, data, q, v, a);
      break;
  }
}

// Copies what a call has left in `data` to `out`; returns how many numbers that are.
long copy_results(int function, const pin::Data& data, double* out) {
  double* place = out;
  const auto append = [&place](const auto& result) {
    std::memcpy(place, result.data(), result.size() * sizeof(double));
    place += result.size();
  };
  switch (function) {
    case inverse_dynamics:
      append(data.tau);
      break;
    case forward_dynamics:
      append(data.ddq);
      break;
    case gravity:
      append(data.g);
      break;
    case mass_matrix:
      append(data.M);
      break;
    case inverse_derivatives:
      append(data.dtau_dq);
      append(data.dtau_dv);
      append(data.M);
      break;
    case forward_derivatives:
      append(data.ddq_dq);
      append(data.ddq_dv);
      append(data.Minv);
      break;
    case regressor:
      append(data.jointTorqueRegressor);
      break;
  }
  return place - out;
}

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void* peer_new() { return new Peer; }

// `inertia`: mass, center of mass (3), rotational inertia about it (9). Returns the index, or -1.
int peer_joint(void* handle, int parent, const char* type, const double* axis,
               const double* rotation, const double* translation, const double* inertia) {
  pin::Model& model = static_cast<Peer*>(handle)->model;
  using Row = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
  const pin::SE3 placement(Eigen::Map<const Row>(rotation),
                           Eigen::Vector3d(translation[0], translation[1], translation[2]));
  const pin::Inertia body(inertia[0], Eigen::Vector3d(inertia[1], inertia[2], inertia[3]),
                          Eigen::Map<const Row>(inertia + 4));
  const Eigen::Vector3d unit(axis[0], axis[1], axis[2]);
  const std::string kind(type), name = "joint_" + std::to_string(model.njoints);
  pin::JointModel joint;
  if (kind == "JointModelRX") joint = pin::JointModelRX();
  else if (kind == "JointModelRY") joint = pin::JointModelRY();
  else if (kind == "JointModelRZ") joint = pin::JointModelRZ();
  else if (kind == "JointModelPX") joint = pin::JointModelPX();
  else if (kind == "JointModelPY") joint = pin::JointModelPY();
  else if (kind == "JointModelPZ") joint = pin::JointModelPZ();
  else if (kind == "JointModelRevoluteUnaligned") joint = pin::JointModelRevoluteUnaligned(unit);
  else if (kind == "JointModelPrismaticUnaligned") joint = pin::JointModelPrismaticUnaligned(unit);
  else return -1;
  const auto index = model.addJoint(parent, joint, placement, name);
  model.appendBodyToJoint(index, body, pin::SE3::Identity());
  return static_cast<int>(index);
}

// `tip`: this is the frame of the Jacobian.
void peer_frame(void* handle, int parent, const double* rotation, const double* translation,
                int tip) {
  Peer& peer = *static_cast<Peer*>(handle);
  using Row = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
  const pin::SE3 placement(Eigen::Map<const Row>(rotation),
                           Eigen::Vector3d(translation[0], translation[1], translation[2]));
  const auto index = peer.model.addFrame(pin::Frame(
      "frame_" + std::to_string(peer.model.nframes), parent, 0, placement, pin::OP_FRAME));
  if (tip) peer.frame = index;
}

void peer_ready(void* handle, int threads) {
  Peer& peer = *static_cast<Peer*>(handle);
  peer.weightless = peer.model;
  peer.weightless.gravity.setZero();
  peer.data.assign(threads, pin::Data(peer.model));
  peer.jacobian.setZero(6, peer.model.nv);
}

// Seconds for n calls.
double peer_run(void* handle, int function, long n, const double* q, const double* v,
                const double* a) {
  Peer& peer = *static_cast<Peer*>(handle);
  const int size = peer.model.nv;
  const Vector Q = Eigen::Map<const Vector>(q, size), V = Eigen::Map<const Vector>(v, size),
               A = Eigen::Map<const Vector>(a, size);
  const auto start = Clock::now();
  for (long k = 0; k < n; ++k) call(peer, function, peer.data[0], Q, V, A);
  return seconds(Clock::now() - start);
}

// Seconds of each of n calls, by a clock that is read before and after.
void peer_each(void* handle, int function, long n, const double* q, const double* v,
               const double* a, double* times) {
  Peer& peer = *static_cast<Peer*>(handle);
  const int size = peer.model.nv;
  const Vector Q = Eigen::Map<const Vector>(q, size), V = Eigen::Map<const Vector>(v, size),
               A = Eigen::Map<const Vector>(a, size);
  for (long k = 0; k < n; ++k) {
    const auto start = Clock::now();
    call(peer, function, peer.data[0], Q, V, A);
    times[k] = seconds(Clock::now() - start);
  }
}

// Seconds for n passes over a stack (samples, nv), on several threads; `out` holds for each sample
// `width` numbers, the results one after the other, matrices as Pinocchio stores them, of M and Minv the
// upper triangle counts. Rows are copied into vectors: that is less than 1 % of the time, and half
// of the compile time.
double peer_stack(void* handle, int function, long n, int threads, long samples, long width,
                  const double* q, const double* v, const double* a, double* out) {
  Peer& peer = *static_cast<Peer*>(handle);
  const int size = peer.model.nv;
  const auto start = Clock::now();
  for (long k = 0; k < n; ++k) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int thread = 0; thread < threads; ++thread) {
      pin::Data& data = peer.data[thread];
      Vector Q(size), V(size), A(size);
      const long end = samples * (thread + 1) / threads;
      for (long i = samples * thread / threads; i < end; ++i) {
        std::memcpy(Q.data(), q + i * size, size * sizeof(double));
        std::memcpy(V.data(), v + i * size, size * sizeof(double));
        std::memcpy(A.data(), a + i * size, size * sizeof(double));
        call(peer, function, data, Q, V, A);
        copy_results(function, data, out + i * width);
      }
    }
  }
  return seconds(Clock::now() - start);
}

// The last result, to compare: (nv), (nv, nv) or (4, nv, nv, nv), row by row.
void peer_result(void* handle, int function, double* out) {
  Peer& peer = *static_cast<Peer*>(handle);
  const pin::Data& data = peer.data[0];
  const int size = peer.model.nv;
  Eigen::Map<Vector> vector(out, size);
  Eigen::Map<Rows> square(out, size, size);
  switch (function) {
    case coriolis_torques:
      vector = data.nle;
      break;
    case inverse_dynamics:
      vector = data.tau;
      break;
    case forward_dynamics:
      vector = data.ddq;
      break;
    case gravity:
      vector = data.g;
      break;
    case jacobian:
      Eigen::Map<Rows>(out, 6, size) = peer.jacobian;
      break;
    case mass_matrix:
      square = data.M.selfadjointView<Eigen::Upper>();
      break;
    case inverse_derivatives:
      square = data.dtau_dq;
      break;
    case forward_derivatives:
      square = data.ddq_dq;
      break;
    case inverse_second_derivatives:
      for (const auto* tensor :
           {&data.d2tau_dqdq, &data.d2tau_dvdv, &data.d2tau_dqdv, &data.d2tau_dadq})
        for (int i = 0; i < size; ++i)
          for (int j = 0; j < size; ++j)
            for (int k = 0; k < size; ++k) *out++ = (*tensor)(i, j, k);
      break;
  }
}
}
#pragma GCC visibility pop
