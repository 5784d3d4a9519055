// Copyright 2026 The screw_dynamics_ros authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PLUGIN_PARAMETERS_HPP_
#define PLUGIN_PARAMETERS_HPP_

#include <memory>
#include <stdexcept>
#include <string>

#include "rclcpp/node_interfaces/node_parameters_interface.hpp"
#include "screw_dynamics_control/model_library.hpp"

namespace screw_dynamics_control
{

/// The parameters of a plugin, declared by its node or not.
class PluginParameters
{
public:
  PluginParameters(
    const rclcpp::node_interfaces::NodeParametersInterface & node, const std::string & name_space)
  : node_(node), prefix_(name_space.empty() ? "" : name_space + ".") {}

  /// A parameter, or a default; throws for a value of another type.
  template<typename Value>
  Value get(const std::string & name, const Value & otherwise) const
  {
    rclcpp::Parameter found;
    if (node_.get_parameter(prefix_ + name, found)) {return found.get_value<Value>();}
    const auto & overrides = node_.get_parameter_overrides();
    const auto given = overrides.find(prefix_ + name);
    return given == overrides.end() ? otherwise : given->second.template get<Value>();
  }

  /// The model of the parameter model_library; throws if it is not for this robot.
  ModelPointer model(const std::string & robot_description) const
  {
    const auto path = get<std::string>("model_library", "");
    if (path.empty()) {
      throw std::invalid_argument(
              "parameter " + prefix_ + "model_library is not set: give the shared object of "
              "screw-dynamics compile --model-library");
    }
    rclcpp::Parameter known;
    node_.get_parameter("robot_description", known);
    const bool is_known = known.get_type() == rclcpp::ParameterType::PARAMETER_STRING;
    const std::string description =
      robot_description.empty() && is_known ? known.as_string() : robot_description;
    if (description.empty()) {
      throw std::invalid_argument("no robot_description to compare the model with");
    }
    return std::make_shared<const ModelLibrary>(path, description);
  }

private:
  const rclcpp::node_interfaces::NodeParametersInterface & node_;
  const std::string prefix_;
};

}  // namespace screw_dynamics_control

#endif  // PLUGIN_PARAMETERS_HPP_
