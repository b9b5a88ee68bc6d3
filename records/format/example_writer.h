// Serializes tf.train.Example.
#ifndef PENSTOCK_RECORDS_FORMAT_EXAMPLE_WRITER_H_
#define PENSTOCK_RECORDS_FORMAT_EXAMPLE_WRITER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/strings/string_view.h"

namespace penstock {

// Writes features in the order of the calls, and packs lists of numbers, so the bytes are those
// that protobuf would write. Copies each value once. Reuses its memory. Not thread-safe.
class ExampleBuilder {
 public:
  ExampleBuilder() { Clear(); }

  // Removes all features.
  void Clear() { bytes_.resize(kHeaderRoom); }

  // Adds a bytes list with one value.
  void AddBytes(absl::string_view name, std::span<const uint8_t> value);
  void AddBytesList(absl::string_view name, std::span<const absl::string_view> values);
  void AddInt64(absl::string_view name, std::span<const int64_t> values);
  void AddFloat(absl::string_view name, std::span<const float> values);

  // Returns the serialized Example, valid until the next call of any other method.
  std::span<const uint8_t> Serialize();

 private:
  // Room for the tag and the length of Features.
  static constexpr size_t kHeaderRoom = 11;

  // Appends a map entry up to its list, which is field `kind` of a Feature and has `list_size`
  // bytes.
  void BeginFeature(absl::string_view name, uint32_t kind, size_t list_size);

  std::vector<uint8_t> bytes_;  // kHeaderRoom bytes, then the fields of Features.
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_EXAMPLE_WRITER_H_
