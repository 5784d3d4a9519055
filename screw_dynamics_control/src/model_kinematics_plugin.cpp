// Copyright 2026 The screw_dynamics_ros authors
// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "kinematics_interface/kinematics_interface.hpp"
#include "pluginlib/class_list_macros.hpp"

#include "plugin_parameters.hpp"

namespace screw_dynamics_control
{

/// Kinematics of a compiled model for ros2_control; see doc/how_to/control_law_in_cpp.md.
class ModelKinematicsPlugin : public kinematics_interface::KinematicsInterface
{
  using Node = rclcpp::node_interfaces::NodeParametersInterface;
  using Vector = Eigen::VectorXd;
  using Twist = Eigen::Matrix<double, 6, 1>;
  using Pose = Eigen::Matrix<double, 7, 1>;
  using Jacobian = Eigen::Matrix<double, 6, Eigen::Dynamic>;
  using Inverse = Eigen::Matrix<double, Eigen::Dynamic, 6>;

public:
  bool initialize(
    const std::string & robot_description, std::shared_ptr<Node> node,
    const std::string & name_space) override
  {
    return succeeds([&] {
        own_.reset();
        const PluginParameters given(*node, name_space);
        const auto model = given.model(robot_description);
        own_.emplace(
          model, given.get<std::string>("base", ""), given.get<std::string>("tip", ""),
          given.get("alpha", 5e-6));
        jacobian_.resize(6, size());
        inverse_.resize(size(), 6);
      });
  }

  bool convert_cartesian_deltas_to_joint_deltas(
    const Vector & q, const Twist & delta_x, const std::string & link, Vector & delta_q) override
  {
    return calculate_jacobian_inverse(q, link, inverse_) && succeeds([&] {
        expect(delta_q.size() == size() && delta_x.allFinite(), "delta_theta or delta_x");
        delta_q.noalias() = inverse_ * delta_x;
      });
  }

  bool convert_joint_deltas_to_cartesian_deltas(
    const Vector & q, const Vector & delta_q, const std::string & link, Twist & delta_x) override
  {
    return calculate_jacobian(q, link, jacobian_) && succeeds([&] {
        expect(delta_q.size() == size() && delta_q.allFinite(), "delta_theta");
        delta_x.noalias() = jacobian_ * delta_q;
      });
  }

  bool calculate_link_transform(
    const Vector & q, const std::string & link, Eigen::Isometry3d & transform) override
  {
    return succeeds([&] {own().pose(q, link, transform.data());});
  }

  bool calculate_jacobian(const Vector & q, const std::string & link, Jacobian & result) override
  {
    return succeeds([&] {
        own();
        expect(result.cols() == size(), "jacobian");
        own().jacobian(q, link, result.data());
      });
  }

  bool calculate_jacobian_inverse(
    const Vector & q, const std::string & link, Inverse & result) override
  {
    return succeeds([&] {
        own();
        expect(result.rows() == size(), "jacobian_inverse");
        own().jacobian_inverse(q, link, result.data());
      });
  }

  // Without override: the interface has it since version 2, after jazzy.
  bool calculate_frame_difference(Pose & from, Pose & to, double dt, Twist & delta_x)
  {
    return succeeds([&] {
        expect(
          frame_difference(from.data(), to.data(), dt, delta_x.data()), "x_a, x_b or the period");
      });
  }

private:
  ModelKinematics & own()
  {
    if (!own_) {throw std::logic_error("not initialized: call initialize first");}
    return *own_;
  }

  Eigen::Index size() const {return static_cast<Eigen::Index>(own_->joints.names.size());}

  static void expect(bool is_valid, const std::string & what)
  {
    if (!is_valid) {throw std::invalid_argument(what + " is not finite or of another size");}
  }

  template<typename Function>
  static bool succeeds(Function function)
  {
    try {
      function();
    } catch (const std::exception & error) {
      RCLCPP_ERROR(rclcpp::get_logger("screw_dynamics_control"), "%s", error.what());
      return false;
    }
    return true;
  }

  std::optional<ModelKinematics> own_;
  Jacobian jacobian_;
  Inverse inverse_;
};

}  // namespace screw_dynamics_control

PLUGINLIB_EXPORT_CLASS(
  screw_dynamics_control::ModelKinematicsPlugin, kinematics_interface::KinematicsInterface)
