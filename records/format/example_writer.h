// Serializes tf.train.Example.
#ifndef PENSTOCK_RECORDS_FORMAT_EXAMPLE_WRITER_H_
#define PENSTOCK_RECORDS_FORMAT_EXAMPLE_WRITER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/strings/string_view.h"

namespace penstock {

// Features are written in the order of the calls, lists of numbers packed: the bytes that protobuf
// would write. Recycles its memory. Not thread-safe.
class ExampleBuilder {
 public:
  void Clear() { features_.clear(); }

  // One value of a bytes list.
  void AddBytes(absl::string_view name, std::span<const uint8_t> value);
  void AddInt64(absl::string_view name, std::span<const int64_t> values);

  // Valid until the next call of any other function.
  std::span<const uint8_t> Serialize();

 private:
  // Wraps list_ as field `kind` of a Feature in a map entry.
  void AddFeature(absl::string_view name, uint32_t kind);

  std::vector<uint8_t> features_;  // The fields of Features.
  std::vector<uint8_t> list_;      // The fields of one BytesList or Int64List.
  std::vector<uint8_t> example_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_EXAMPLE_WRITER_H_
