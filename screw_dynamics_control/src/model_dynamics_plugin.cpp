// Copyright 2026 The screw_dynamics_ros authors
// SPDX-License-Identifier: Apache-2.0

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "inverse_dynamics_solver/exceptions.h"
#include "inverse_dynamics_solver/inverse_dynamics_solver.h"
#include "pluginlib/class_list_macros.hpp"

#include "plugin_parameters.hpp"

namespace screw_dynamics_control
{

/// Inverse dynamics of a compiled model; see doc/how_to/control_law_in_cpp.md.
class ModelDynamicsPlugin : public inverse_dynamics_solver::InverseDynamicsSolver
{
  using Vector = Eigen::VectorXd;

public:
  void initialize(
    rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr node,
    const std::string & name_space, const std::string & robot_description) override
  {
    own_.reset();
    if (!node) {
      throw inverse_dynamics_solver::InvalidParameterValueException("no parameters are given");
    }
    const PluginParameters given(*node, name_space);
    const auto model = given.model(robot_description);
    const auto tip = given.get<std::string>("tip", "");
    const auto joints = given.get(
      "joints", tip.empty() ? model->joints() : model->chain(model->base(""), model->link(tip)));
    std::map<std::string, double> resting;
    for (const auto & each : model->joints()) {resting[each] = given.get("positions." + each, 0.0);}
    const auto & own = model->constants().gravity;
    const auto gravity =
      given.get<std::vector<double>>("gravity", {own[0], own[1], own[2]});
    if (gravity.size() != 3) {
      throw inverse_dynamics_solver::InvalidParameterValueException(
              "gravity must have 3 numbers, not " + std::to_string(gravity.size()));
    }
    own_.emplace(ModelJoints(model, joints, resting), std::array{gravity[0], gravity[1], gravity[2]});
  }

  Eigen::MatrixXd getInertiaMatrix(const Vector & q) const override
  {
    const auto n = static_cast<Eigen::Index>(own().joints.names.size());
    Eigen::MatrixXd result(n, n);
    own().mass_matrix(q, result.data());
    return result;
  }

  Vector getCoriolisVector(const Vector & q, const Vector & v) const override
  {
    return vector([&](double * result) {own().coriolis_torques(q, v, result);});
  }

  Vector getGravityVector(const Vector & q) const override
  {
    return vector([&](double * result) {own().gravity_torques(q, result);});
  }

  Vector getFrictionVector(const Vector & v) const override
  {
    return vector([&](double * result) {own().friction_torques(v, result);});
  }

  Vector getTorques(const Vector & q, const Vector & v, const Vector & a) const override
  {
    return vector([&](double * result) {own().torques(q, v, a, result);});
  }

private:
  const ModelDynamics & own() const
  {
    if (!own_) {throw inverse_dynamics_solver::UninitializedException();}
    return *own_;
  }

  template<typename Function>
  Vector vector(Function function) const
  {
    Vector result(static_cast<Eigen::Index>(own().joints.names.size()));
    function(result.data());
    return result;
  }

  std::optional<ModelDynamics> own_;
};

}  // namespace screw_dynamics_control

PLUGINLIB_EXPORT_CLASS(
  screw_dynamics_control::ModelDynamicsPlugin, inverse_dynamics_solver::InverseDynamicsSolver)
