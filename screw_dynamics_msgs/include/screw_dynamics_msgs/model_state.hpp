// Copyright 2026 The screw_dynamics_ros authors
// SPDX-License-Identifier: Apache-2.0

/// \file
/// The parts of messages on ~/model_state by name, without copies.
///
///     ModelStateReader reader(layout);  // for each message on ~/model_state_layout
///     const auto torque = reader.part("external_torque");
///     if (const auto state = reader.read(message)) {  // for each message on ~/model_state
///       if (state->is_valid(torque)) {
///         use(state->array(torque).data(), state->array(torque).size());
///       }
///     }
///
/// The constructor and `part` allocate memory; the other functions do not, unless they throw.

#ifndef SCREW_DYNAMICS_MSGS__MODEL_STATE_HPP_
#define SCREW_DYNAMICS_MSGS__MODEL_STATE_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "builtin_interfaces/msg/time.hpp"
#include "screw_dynamics_msgs/msg/model_state.hpp"
#include "screw_dynamics_msgs/msg/model_state_layout.hpp"
#include "screw_dynamics_msgs/msg/model_state_part.hpp"

namespace screw_dynamics_msgs
{

/// A part of the states with one layout, from `ModelStateReader::part`.
class ModelStateHandle
{
  friend class ModelStateReader;
  friend class ModelStateView;
  ModelStateHandle(std::uint32_t layout_id, std::size_t number)
  : layout_id_(layout_id), number_(number) {}

  std::uint32_t layout_id_;
  std::size_t number_;
};

/// The numbers of a part, in row-major order, in the memory of the message.
class ModelStateArray
{
public:
  const double * data() const noexcept {return data_;}
  std::size_t size() const noexcept {return size_;}
  const double * begin() const noexcept {return data_;}
  const double * end() const noexcept {return data_ + size_;}
  double operator[](std::size_t k) const noexcept {return data_[k];}

  /// Length of each dimension, in the memory of the reader.
  const std::vector<std::uint32_t> & shape() const noexcept {return *shape_;}

private:
  friend class ModelStateView;
  ModelStateArray(
    const double * data, std::size_t size, const std::vector<std::uint32_t> & shape) noexcept
  : data_(data), size_(size), shape_(&shape) {}

  const double * data_;
  std::size_t size_;
  const std::vector<std::uint32_t> * shape_;
};

/// One message, read with its layout. Message and reader must outlive it and not change.
class ModelStateView
{
public:
  /// Stamp of the joint state.
  const builtin_interfaces::msg::Time & stamp() const noexcept {return message_->header.stamp;}

  /// Whether the numbers of a part can be used; otherwise they are NaN.
  ///
  /// This and the next functions throw std::invalid_argument if the part is of another layout.
  bool is_valid(ModelStateHandle part) const {return message_->valid[number(part)];}

  /// Time since the joint state from which a part was computed [s].
  double age(ModelStateHandle part) const {return message_->age[number(part)];}

  /// The numbers of a part.
  ModelStateArray array(ModelStateHandle part) const
  {
    const std::size_t k = number(part);
    const std::size_t first = layout_->parts[k].offset;
    const std::size_t end =
      k + 1 < layout_->parts.size() ? layout_->parts[k + 1].offset : layout_->size;
    return {message_->data.data() + first, end - first, layout_->parts[k].shape};
  }

private:
  friend class ModelStateReader;
  ModelStateView(const msg::ModelState & message, const msg::ModelStateLayout & layout) noexcept
  : message_(&message), layout_(&layout) {}

  std::size_t number(ModelStateHandle part) const
  {
    if (part.layout_id_ != layout_->id || part.number_ >= layout_->parts.size()) {
      throw std::invalid_argument(
              "the part is of another layout: ask the reader of this layout for it");
    }
    return part.number_;
  }

  const msg::ModelState * message_;
  const msg::ModelStateLayout * layout_;
};

/// Reads the messages with one layout.
class ModelStateReader
{
public:
  /// Throws std::invalid_argument if the parts of the layout do not fit together.
  explicit ModelStateReader(msg::ModelStateLayout layout)
  : layout_(std::move(layout)) {check();}

  const msg::ModelStateLayout & layout() const noexcept {return layout_;}

  /// The part with a name, or nothing: it depends on the robot and on the parameter model_state.
  std::optional<ModelStateHandle> find(std::string_view name) const noexcept
  {
    const auto found = std::find_if(
      layout_.parts.begin(), layout_.parts.end(),
      [&](const msg::ModelStatePart & part) {return part.name == name;});
    if (found == layout_.parts.end()) {
      return std::nullopt;
    }
    return ModelStateHandle(layout_.id, static_cast<std::size_t>(found - layout_.parts.begin()));
  }

  /// The part with a name; throws std::out_of_range if there is none.
  ModelStateHandle part(std::string_view name) const
  {
    if (const auto found = find(name)) {
      return *found;
    }
    std::string text = "the model state has no part '" + std::string(name) + "'; it has";
    for (const auto & each : layout_.parts) {
      text += " " + each.name;
    }
    throw std::out_of_range(text + ": see the parameter model_state");
  }

  /// The message, or nothing if it has another layout.
  ///
  /// Throws std::invalid_argument if it does not have the numbers of its layout.
  std::optional<ModelStateView> read(const msg::ModelState & message) const
  {
    if (message.layout_id != layout_.id) {
      return std::nullopt;
    }
    if (message.valid.size() != layout_.parts.size() ||
      message.age.size() != layout_.parts.size() || message.data.size() != layout_.size)
    {
      throw std::invalid_argument("the message does not have the numbers of its layout");
    }
    return ModelStateView(message, layout_);
  }

  /// A temporary message would not outlive the result.
  std::optional<ModelStateView> read(msg::ModelState &&) const = delete;

private:
  void check() const
  {
    std::uint64_t end = 0;
    std::vector<std::string_view> names;
    for (const auto & part : layout_.parts) {
      const std::uint64_t size = checked_size(part);
      if (part.offset != end || end + size > layout_.size) {
        throw std::invalid_argument(part.name + ": the parts do not follow one another");
      }
      end += size;
      names.push_back(part.name);
    }
    if (end != layout_.size) {
      throw std::invalid_argument("the parts of the layout are smaller than its size");
    }
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) {
      throw std::invalid_argument(std::string(*twice) + ": several parts have this name");
    }
  }

  std::uint64_t checked_size(const msg::ModelStatePart & part) const
  {
    if (part.labels.size() != part.shape.size()) {
      throw std::invalid_argument(part.name + ": shape and labels have different dimensions");
    }
    const std::uint64_t too_large = std::uint64_t{1} + layout_.size;
    std::uint64_t size = 1;
    for (std::size_t k = 0; k < part.shape.size(); ++k) {
      if (part.shape[k] != number_of_labels(part.labels[k])) {
        throw std::invalid_argument(part.name + ": shape and labels have different lengths");
      }
      size = std::min(size * part.shape[k], too_large);  // does not overflow
    }
    return size;
  }

  static std::uint64_t number_of_labels(const std::string & labels)
  {
    return labels.empty() ?
           0 : 1 + static_cast<std::uint64_t>(std::count(labels.begin(), labels.end(), ','));
  }

  msg::ModelStateLayout layout_;
};

}  // namespace screw_dynamics_msgs

#endif  // SCREW_DYNAMICS_MSGS__MODEL_STATE_HPP_
