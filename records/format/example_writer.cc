#include "records/format/example_writer.h"

#include "records/format/wire.h"

namespace penstock {
namespace {

constexpr uint8_t LengthDelimited(uint32_t field) { return static_cast<uint8_t>(field << 3 | 2); }

// The tag and length of a field of `size` bytes.
void AppendHeader(uint32_t field, size_t size, std::vector<uint8_t>& out) {
  out.push_back(LengthDelimited(field));
  AppendVarint(size, out);
}

size_t FieldSize(size_t size) { return 1 + VarintSize(size) + size; }

}  // namespace

void ExampleBuilder::AddBytes(absl::string_view name, std::span<const uint8_t> value) {
  list_.clear();
  AppendHeader(1, value.size(), list_);
  list_.insert(list_.end(), value.begin(), value.end());
  AddFeature(name, 1);
}

void ExampleBuilder::AddInt64(absl::string_view name, std::span<const int64_t> values) {
  list_.clear();
  size_t size = 0;
  for (int64_t value : values) size += VarintSize(static_cast<uint64_t>(value));
  if (size > 0) AppendHeader(1, size, list_);
  for (int64_t value : values) AppendVarint(static_cast<uint64_t>(value), list_);
  AddFeature(name, 3);
}

void ExampleBuilder::AddFeature(absl::string_view name, uint32_t kind) {
  const size_t feature_size = FieldSize(list_.size());
  AppendHeader(1, FieldSize(name.size()) + FieldSize(feature_size), features_);
  AppendHeader(1, name.size(), features_);
  features_.insert(features_.end(), name.begin(), name.end());
  AppendHeader(2, feature_size, features_);
  AppendHeader(kind, list_.size(), features_);
  features_.insert(features_.end(), list_.begin(), list_.end());
}

std::span<const uint8_t> ExampleBuilder::Serialize() {
  example_.clear();
  AppendHeader(1, features_.size(), example_);
  example_.insert(example_.end(), features_.begin(), features_.end());
  return example_;
}

}  // namespace penstock
