// The members of one WebDataset sample, as an Example.
#ifndef PENSTOCK_RECORDS_CONTAINER_SAMPLE_H_
#define PENSTOCK_RECORDS_CONTAINER_SAMPLE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "records/container/sample_name.h"
#include "records/container/tar_reader.h"
#include "records/format/example_writer.h"

namespace penstock {

// The feature that has a sample's key.
inline constexpr absl::string_view kSampleKey = "__key__";

// The Example has the feature kSampleKey with the key, then a feature for each member, ordered by
// name. A feature is named after the extension in lower case (ASCII) and has the member's bytes.
// Where the extension's last part is cls, cls2, class, count, index, inx or id, and the text is a
// whole decimal number of 64 bits with white space around it at most, the feature is that int64:
// so decodes basichandlers() of webdataset/autodecode.py.
//
// Recycles its memory. Not thread-safe.
class Sample {
 public:
  void Clear();
  bool empty() const { return parts_.empty(); }

  // REQUIRES: not empty().
  absl::string_view key() const { return absl::string_view(names_).substr(0, key_size_); }
  // Where the last member ends, in the bytes that the members count from.
  uint64_t end() const { return end_; }

  // Adds a member. REQUIRES: empty(), or name.key == key().
  void Add(const SampleName& name, const TarMember& member);

  // The serialized Example, valid until the next call; copies each member once from `bytes`.
  // kDataLoss: two members have the same extension. REQUIRES: not empty().
  absl::StatusOr<std::span<const uint8_t>> Build(std::span<const uint8_t> bytes);

 private:
  struct Part {
    size_t name, name_size;  // The extension in names_.
    uint64_t data, size;
  };
  absl::string_view NameOf(const Part& part) const {
    return absl::string_view(names_).substr(part.name, part.name_size);
  }
  absl::Status CheckNames() const;

  std::string names_;  // The key, then the extensions in lower case.
  size_t key_size_ = 0;
  std::vector<Part> parts_;
  uint64_t end_ = 0;
  ExampleBuilder example_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_CONTAINER_SAMPLE_H_
