#include "records/format/example_writer.h"

#include "records/format/wire.h"

namespace penstock {
namespace {

constexpr uint8_t LengthDelimited(uint32_t field) { return static_cast<uint8_t>(field << 3 | 2); }

// Appends the tag and the length of a field of `size` bytes.
void AppendHeader(uint32_t field, size_t size, std::vector<uint8_t>& out) {
  out.push_back(LengthDelimited(field));
  AppendVarint(size, out);
}

size_t FieldSize(size_t size) { return 1 + VarintSize(size) + size; }

}  // namespace

void ExampleBuilder::AddBytes(absl::string_view name, std::span<const uint8_t> value) {
  BeginFeature(name, 1, FieldSize(value.size()));
  AppendHeader(1, value.size(), bytes_);
  bytes_.insert(bytes_.end(), value.begin(), value.end());
}

void ExampleBuilder::AddBytesList(absl::string_view name,
                                  std::span<const absl::string_view> values) {
  size_t size = 0;
  for (const absl::string_view value : values) size += FieldSize(value.size());
  BeginFeature(name, 1, size);
  for (const absl::string_view value : values) {
    AppendHeader(1, value.size(), bytes_);
    bytes_.insert(bytes_.end(), value.begin(), value.end());
  }
}

// The host is little-endian, like the format.
void ExampleBuilder::AddFloat(absl::string_view name, std::span<const float> values) {
  BeginFeature(name, 2, values.empty() ? 0 : FieldSize(values.size_bytes()));
  if (values.empty()) return;
  AppendHeader(1, values.size_bytes(), bytes_);
  const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
  bytes_.insert(bytes_.end(), bytes, bytes + values.size_bytes());
}

void ExampleBuilder::AddInt64(absl::string_view name, std::span<const int64_t> values) {
  size_t size = 0;
  for (int64_t value : values) size += VarintSize(static_cast<uint64_t>(value));
  BeginFeature(name, 3, size > 0 ? FieldSize(size) : 0);
  if (size > 0) AppendHeader(1, size, bytes_);
  for (int64_t value : values) AppendVarint(static_cast<uint64_t>(value), bytes_);
}

void ExampleBuilder::BeginFeature(absl::string_view name, uint32_t kind, size_t list_size) {
  const size_t feature_size = FieldSize(list_size);
  AppendHeader(1, FieldSize(name.size()) + FieldSize(feature_size), bytes_);
  AppendHeader(1, name.size(), bytes_);
  bytes_.insert(bytes_.end(), name.begin(), name.end());
  AppendHeader(2, feature_size, bytes_);
  AppendHeader(kind, list_size, bytes_);
}

std::span<const uint8_t> ExampleBuilder::Serialize() {
  const size_t features = bytes_.size() - kHeaderRoom;
  const size_t begin = kHeaderRoom - 1 - VarintSize(features);
  bytes_[begin] = LengthDelimited(1);
  WriteVarint(features, bytes_.data() + begin + 1);
  return std::span(bytes_).subspan(begin);
}

}  // namespace penstock
