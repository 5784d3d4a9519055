// Copyright 2026 The screw_dynamics_ros authors
// SPDX-License-Identifier: Apache-2.0

/// \file
/// A control law of screw_dynamics_ros as a controller of ros2_control; see
/// doc/how_to/law_controller.md. What it computes is in `LawRunner`.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "controller_interface/chainable_controller_interface.hpp"
#include "diagnostic_msgs/msg/diagnostic_array.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "rclcpp/rclcpp.hpp"
#include "std_msgs/msg/float64_multi_array.hpp"

#include "screw_dynamics_control/law_compiler.hpp"
#include "screw_dynamics_control/law_runner.hpp"

namespace screw_dynamics_control
{

using controller_interface::CallbackReturn;
using controller_interface::InterfaceConfiguration;
using controller_interface::interface_configuration_type;
using controller_interface::return_type;
using rcl_interfaces::msg::SetParametersResult;
using Names = std::vector<std::string>;

// --- differences between distributions ---------------------------------------------------------

/// Humble: states always have a value, setting always succeeds, and there is no description.
template<typename Interface>
auto value_of(const Interface & interface, int) -> decltype(interface.get_optional())
{
  return interface.get_optional();
}
template<typename Interface>
std::optional<double> value_of(const Interface & interface, long)  // NOLINT(runtime/int)
{
  return interface.get_value();
}
template<typename Interface>
void write(Interface & interface, double value)
{
  if constexpr (std::is_void_v<decltype(interface.set_value(value))>) {
    interface.set_value(value);
  } else {
    // One that fails is written in the next cycle.
    static_cast<void>(interface.set_value(value));
  }
}
template<typename Controller>
auto description_of(const Controller & controller, int)
-> decltype(controller.get_robot_description())
{
  return controller.get_robot_description();
}
template<typename Controller>
std::string description_of(const Controller &, long) {return "";}  // NOLINT(runtime/int)

// --- the controller ----------------------------------------------------------------------------

class LawController : public controller_interface::ChainableControllerInterface
{
public:
  CallbackReturn on_init() override
  {
    return guarded("init", [this] {declare_parameters();});
  }

  CallbackReturn on_configure(const rclcpp_lifecycle::State &) override
  {
    return guarded("configure", [this] {configure_law();});
  }

  InterfaceConfiguration command_interface_configuration() const override
  {
    Names names;
    for (const auto & joint : settings_.joints) {names.push_back(joint + "/effort");}
    return {interface_configuration_type::INDIVIDUAL, names};
  }

  InterfaceConfiguration state_interface_configuration() const override
  {
    return {interface_configuration_type::INDIVIDUAL, state_names()};
  }

  CallbackReturn on_activate(const rclcpp_lifecycle::State &) override
  {
    return guarded(
      "activate", [this] {
        state_places_ = places(state_names(), state_interfaces_);
        command_places_ = places(command_interface_configuration().names, command_interfaces_);
        std::fill(reference_interfaces_.begin(), reference_interfaces_.end(), not_given);
        runner_->restart();
        now_ = 0.0;
        state_time_ = -std::numeric_limits<double>::infinity();
        outcome_ = Outcome::keep;
        last_given_ = given_.current();
      });
  }

  CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) override
  {
    for (auto & each : command_interfaces_) {write(each, 0.0);}
    return CallbackReturn::SUCCESS;
  }

  return_type update_and_write_commands(
    const rclcpp::Time &, const rclcpp::Duration & period) override
  {
    now_ += std::max(0.0, period.seconds());
    bool is_complete = true, is_other = !requires_change_;
    for (std::size_t k = 0; k < states_.size(); ++k) {
      const auto value = value_of(state_interfaces_[state_places_[k]], 0);
      is_complete = is_complete && value.has_value();
      is_other = is_other || value != states_[k];
      states_[k] = value.value_or(states_[k]);
    }
    if (is_complete && is_other) {state_time_ = now_;}
    const std::size_t n = settings_.joints.size();
    const double * const effort = states_.data() + 2 * n;
    const double * const wrench = effort + (settings_.has_efforts ? n : 0);
    outcome_ = runner_->update(
      {states_.data(), states_.data() + n, effort, wrench, reference_interfaces_.data(), now_,
        state_time_});
    std::fill(reference_interfaces_.begin(), reference_interfaces_.end(), not_given);
    if (outcome_ == Outcome::keep) {return return_type::OK;}
    if (outcome_ != Outcome::command) {return return_type::ERROR;}
    for (std::size_t k = 0; k < n; ++k) {
      write(command_interfaces_[command_places_[k]], runner_->command()[k]);
    }
    return return_type::OK;
  }

  // Of humble and of later distributions; one of them overrides.
  return_type update_reference_from_subscribers() {return adopt_message();}
  return_type update_reference_from_subscribers(const rclcpp::Time &, const rclcpp::Duration &)
  {
    return adopt_message();
  }

protected:
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // the only one that all have
  std::vector<hardware_interface::CommandInterface> on_export_reference_interfaces() override
  {
    std::vector<hardware_interface::CommandInterface> interfaces;
    const auto names = reference_interfaces(settings_.references, settings_.joints);
    reference_interfaces_.assign(names.size(), not_given);
    for (std::size_t k = 0; k < names.size(); ++k) {
      interfaces.emplace_back(get_node()->get_name(), names[k], &reference_interfaces_[k]);
    }
    return interfaces;
  }
#pragma GCC diagnostic pop

private:
  static constexpr double not_given = std::numeric_limits<double>::quiet_NaN();

  // --- parameters ------------------------------------------------------------------------------

  void declare_parameters()
  {
    declare("robot_description", std::string(), "URDF; empty: that of controller_manager.");
    declare("joints", Names(), "Joints with states and effort commands.");
    declare("fixed_joints", Names(), "Joints of the robot without states here.");
    declare("fixed_positions", std::vector<double>(), "Of fixed_joints [rad, m].");
    declare("law", std::string("gravity_compensation"), "Law as of compile --law.");
    declare("law_options", Names{""}, "Constants of the law, as link=tool0.");
    declare("law_file", std::string(), "Compiled law, instead of 'law'.");
    declare("compile_timeout", 60.0, "Longest time to compile a law [s].");
    declare("references", Names(), "Fields of further laws: q, v, a, tau, pose, twist, wrench.");
    declare("wrench_sensor", std::string(), "Sensor of the wrench that the law reads.");
    declare("effort_limit_factor", 1.0, "Limit of torques, as a fraction of those of the robot.");
    declare("effort_limits", std::vector<double>(), "Instead, for each of joints [N m, N].");
    declare("effort_rate_factor", 10.0, "Limit of rates, as a multiple of that of torques [1/s].");
    declare("blend_time", 0.2, "In which another law and other gains take effect [s].");
    declare("ramp_time", 0.5, "In which torques begin [s].");
    declare("age_limit", 0.1, "Of the last complete state, beyond which on_loss acts [s].");
    declare("states_must_change", false, "Whether states that are repeated are old.");
    declare("on_loss", std::string("ramp_to_zero"), "hold, ramp_to_zero or stop.");
    on_set_ = get_node()->add_on_set_parameters_callback(
      [this](const std::vector<rclcpp::Parameter> & given) {return changed(given);});
  }

  /// Declare a parameter, unless controller_manager has declared it from its file.
  template<typename Value>
  void declare(const std::string & name, const Value & value, const std::string & text)
  {
    rcl_interfaces::msg::ParameterDescriptor descriptor;
    descriptor.description = text;
    if (!get_node()->has_parameter(name)) {
      get_node()->declare_parameter(name, rclcpp::ParameterValue(value), descriptor);
    }
    own_.push_back(name);
  }

  template<typename Value>
  Value get(const std::string & name) const
  {
    return get_node()->get_parameter(name).template get_value<Value>();
  }

  /// Accept other gains and other laws of the library; the rest comes from who starts the process.
  SetParametersResult changed(const std::vector<rclcpp::Parameter> & given)
  {
    const std::lock_guard<std::recursive_mutex> lock(configuring_);
    SetParametersResult result;
    try {
      Gains gains;
      LawRequest request = requested();
      bool is_other = false;
      for (const auto & each : given) {
        const auto & name = each.get_name();
        if (name.rfind(prefix, 0) == 0) {
          gains[name.substr(prefix.size())] = numbers(each);
        } else if (name == "law_options") {  // of the law that is set with them or later
          request.options = each.as_string_array();
        } else if (name == "law") {
          request.law = each.as_string();
          is_other = true;
        } else {
          require(std::find(own_.begin(), own_.end(), name) == own_.end(), name + ": read-only");
        }
      }
      if (is_other) {
        // Files are code.
        const char * const letters = "abcdefghijklmnopqrstuvwxyz_+";
        const bool is_of_library = request.law.find_first_not_of(letters) == std::string::npos;
        require(is_of_library, "law: only those of the library, not " + in_quotes(request.law));
        if (runner_) {
          runner_->install(CompiledLaw(request).path(), gains);
          is_new_ = true;
        }
      } else if (runner_ && !is_declaring_ && !gains.empty()) {
        runner_->set_gains(gains);
      }
      result.successful = true;
    } catch (const std::exception & error) {
      result.successful = false;
      result.reason = error.what();
    }
    return result;
  }

  static std::vector<double> numbers(const rclcpp::Parameter & parameter)
  {
    if (parameter.get_type() == rclcpp::ParameterType::PARAMETER_DOUBLE) {
      return {parameter.as_double()};
    }
    return parameter.as_double_array();
  }

  LawRequest requested() const
  {
    LawRequest request;
    request.description = get<std::string>("robot_description");
    if (request.description.empty()) {request.description = description_of(*this, 0);}
    request.law = get<std::string>("law");
    request.options = get<Names>("law_options");
    request.time_limit = get<double>("compile_timeout");
    return request;
  }

  // --- configuration ---------------------------------------------------------------------------

  void configure_law()
  {
    const std::lock_guard<std::recursive_mutex> lock(configuring_);
    runner_.reset();
    const auto file = get<std::string>("law_file");
    if (!file.empty()) {
      load(file);
    } else {
      load(CompiledLaw(requested()).path());
    }
    const auto size = reference_interfaces(settings_.references, settings_.joints).size();
    subscription_ = get_node()->create_subscription<std_msgs::msg::Float64MultiArray>(
      "~/reference", rclcpp::SystemDefaultsQoS(),
      [this, size](const std_msgs::msg::Float64MultiArray & message) {
        if (message.data.size() == size) {
          given_.install(std::make_unique<std::vector<double>>(message.data));
        } else {
          ++refused_messages_;
        }
      });
    diagnostics_ = rclcpp::create_publisher<diagnostic_msgs::msg::DiagnosticArray>(
      get_node(), "/diagnostics", rclcpp::SystemDefaultsQoS());
    timer_ = get_node()->create_wall_timer(std::chrono::seconds(1), [this] {report();});
  }

  /// Read what the law needs, and install it.
  void load(const std::string & path)
  {
    ControlLawExpectation any;
    any.state = {"dt", "tau", "wrench"};
    for (const auto & each : reference_table()) {any.reference.push_back(each.name);}
    const ControlLaw law(path, any);
    const auto & constants = law.constants();
    settings_ = RunnerSettings();
    settings_.joints = get<Names>("joints");
    settings_.robot_description = requested().description;
    const auto fixed = get<Names>("fixed_joints");
    const auto positions = get<std::vector<double>>("fixed_positions");
    require(fixed.size() == positions.size(), "fixed_positions: give one for each of fixed_joints");
    for (std::size_t k = 0; k < fixed.size(); ++k) {
      settings_.fixed_positions[fixed[k]] = positions[k];
    }
    settings_.references = get<Names>("references");
    for (std::size_t k = 0; k < constants.reference.count; ++k) {
      settings_.references.push_back(constants.reference.fields[k].name);
    }
    sensor_ = get<std::string>("wrench_sensor");
    settings_.has_wrench = !sensor_.empty();
    for (std::size_t k = 0; k < constants.state.count; ++k) {
      const std::string name = constants.state.fields[k].name;
      settings_.has_efforts = settings_.has_efforts || name == "tau";
      require(name != "wrench" || settings_.has_wrench, "wrench_sensor: the law reads its wrench");
    }
    settings_.commands = command_settings(constants);
    auto runner = std::make_unique<LawRunner>(settings_);
    runner->install(path, declared_gains(constants));
    states_.assign(state_names().size(), not_given);
    requires_change_ = get<bool>("states_must_change");
    runner_ = std::move(runner);
  }

  CommandSettings command_settings(const screw_dynamics_law_constants & constants) const
  {
    const std::size_t n = settings_.joints.size();
    const double infinity = std::numeric_limits<double>::infinity();
    CommandSettings commands;
    commands.limits = get<std::vector<double>>("effort_limits");
    if (commands.limits.empty()) {
      commands.limits.assign(n, infinity);
      for (std::size_t k = 0; k < constants.v.count; ++k) {
        const auto & joints = settings_.joints;
        const auto found = std::find(joints.begin(), joints.end(), constants.v.fields[k].name);
        if (found != joints.end()) {
          commands.limits[static_cast<std::size_t>(found - joints.begin())] =
            get<double>("effort_limit_factor") * constants.effort_limits[k];
        }
      }
    }
    require(commands.limits.size() == n, "effort_limits: give one for each of joints");
    for (const double limit : commands.limits) {
      commands.rates.push_back(limit > 0.0 ? get<double>("effort_rate_factor") * limit : infinity);
    }
    commands.blend_time = get<double>("blend_time");
    commands.ramp_time = get<double>("ramp_time");
    commands.age_limit = get<double>("age_limit");
    const auto on_loss = get<std::string>("on_loss");
    const bool is_known = on_loss == "hold" || on_loss == "ramp_to_zero" || on_loss == "stop";
    require(is_known, "on_loss must be hold, ramp_to_zero or stop");
    commands.on_loss = on_loss == "hold" ? Phase::holding :
      on_loss == "stop" ? Phase::silent : Phase::to_zero;
    return commands;
  }

  /// Declare a parameter for each parameter of the law; return their values.
  Gains declared_gains(const screw_dynamics_law_constants & constants)
  {
    is_declaring_ = true;
    Gains gains;
    for (std::size_t k = 0; k < constants.parameters.count; ++k) {
      const auto & field = constants.parameters.fields[k];
      const std::string name = prefix + field.name;
      const std::string text = std::string(field.text) + " [" + field.unit + "]";
      if (field.size == 1) {declare(name, field.value, text);} else {
        declare(name, std::vector<double>{field.value}, text);
      }
      gains[field.name] = numbers(get_node()->get_parameter(name));
    }
    is_declaring_ = false;
    return gains;
  }

  // --- interfaces ------------------------------------------------------------------------------

  Names state_names() const
  {
    return state_interfaces(settings_.joints, settings_.has_efforts, sensor_);
  }

  template<typename Interfaces>
  static std::vector<std::size_t> places(const Names & names, const Interfaces & interfaces)
  {
    std::vector<std::size_t> found;
    for (const auto & name : names) {
      const auto at = std::find_if(
        interfaces.begin(), interfaces.end(),
        [&name](const auto & each) {return each.get_name() == name;});
      require(at != interfaces.end(), "interface " + in_quotes(name) + " is missing");
      found.push_back(static_cast<std::size_t>(at - interfaces.begin()));
    }
    return found;
  }

  return_type adopt_message() noexcept
  {
    const std::vector<double> * const given = given_.current();
    if (given != last_given_) {
      last_given_ = given;
      std::copy(given->begin(), given->end(), reference_interfaces_.begin());
    }
    return return_type::OK;
  }

  // --- reports ---------------------------------------------------------------------------------

  void report()
  {
    static const char * const reasons[] = {
      "follows the law", "follows the law", "has no law", "a number of the state is not finite",
      "states were lost"};
    static const char * const losses[] = {
      "none", "the last state is older than age_limit", "the torques of the law are impossible",
      "no cycle for longer than age_limit"};
    const std::lock_guard<std::recursive_mutex> lock(configuring_);
    if (!runner_) {return;}
    if (std::exchange(is_new_, false)) {runner_->set_gains(declared_gains(runner_->constants()));}
    const Outcome outcome = outcome_;
    const auto & counts = runner_->report();
    diagnostic_msgs::msg::DiagnosticStatus status;
    status.name = std::string(get_node()->get_fully_qualified_name()) + ": law";
    status.hardware_id = get_node()->get_name();
    const bool is_fault = outcome != Outcome::command && outcome != Outcome::keep;
    status.level = is_fault ? status.ERROR : status.OK;
    status.message = reasons[static_cast<int>(outcome)];
    const std::pair<const char *, std::string> values[] = {
      {"losses", std::to_string(counts.losses)},
      {"last loss", losses[static_cast<int>(counts.loss.load())]},
      {"limits that acted", std::to_string(counts.limited)},
      {"poses without a quaternion", std::to_string(counts.refused)},
      {"messages of another size on ~/reference", std::to_string(refused_messages_)}};
    for (const auto & [key, value] : values) {
      diagnostic_msgs::msg::KeyValue entry;
      entry.key = key;
      entry.value = value;
      status.values.push_back(entry);
    }
    diagnostic_msgs::msg::DiagnosticArray message;
    message.header.stamp = get_node()->now();
    message.status.push_back(status);
    diagnostics_->publish(message);
  }

  static void require(bool is_met, const std::string & text)
  {
    if (!is_met) {throw std::invalid_argument(text);}
  }

  template<typename Action>
  CallbackReturn guarded(const char * what, Action && action)
  {
    try {
      action();
      return CallbackReturn::SUCCESS;
    } catch (const std::exception & error) {
      RCLCPP_ERROR(get_node()->get_logger(), "cannot %s: %s", what, error.what());
      return CallbackReturn::ERROR;
    }
  }

  const std::string prefix = "gains.";
  RunnerSettings settings_;
  std::string sensor_;
  std::unique_ptr<LawRunner> runner_;
  std::recursive_mutex configuring_;
  Names own_;  // parameters
  bool is_declaring_ = false, is_new_ = false, requires_change_ = false;
  std::vector<double> states_;
  std::vector<std::size_t> state_places_, command_places_;
  double now_ = 0.0, state_time_ = 0.0;
  std::atomic<Outcome> outcome_{Outcome::keep};
  Switch<std::vector<double>> given_;  // messages
  const std::vector<double> * last_given_ = nullptr;
  std::atomic<std::size_t> refused_messages_{0};
  rclcpp::node_interfaces::OnSetParametersCallbackHandle::SharedPtr on_set_;
  rclcpp::Subscription<std_msgs::msg::Float64MultiArray>::SharedPtr subscription_;
  rclcpp::Publisher<diagnostic_msgs::msg::DiagnosticArray>::SharedPtr diagnostics_;
  rclcpp::TimerBase::SharedPtr timer_;
};

}  // namespace screw_dynamics_control

PLUGINLIB_EXPORT_CLASS(
  screw_dynamics_control::LawController, controller_interface::ChainableControllerInterface)
