// Builds an Example from the members of one WebDataset sample.
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

// The feature that holds the key of a sample.
inline constexpr absl::string_view kSampleKey = "__key__";

// The Example has the feature kSampleKey with the key, then one feature for each member, ordered by
// name. A feature is named after the extension in lower case (ASCII) and has the member's bytes.
//
// Exception: if the last part of the extension is cls, cls2, class, count, index, inx or id, and
// the text is a whole decimal number of 64 bits, possibly surrounded by white space, then the
// feature is that int64. This matches basichandlers() of webdataset/autodecode.py.
//
// Reuses its memory. Not thread-safe.
class Sample {
 public:
  // Removes all members.
  void Clear();
  bool empty() const { return parts_.empty(); }

  // REQUIRES: not empty().
  absl::string_view key() const { return absl::string_view(names_).substr(0, key_size_); }
  // The end of the last member, as an offset in the same bytes as the members' offsets.
  uint64_t end() const { return end_; }

  // Adds a member. REQUIRES: empty(), or name.key == key().
  void Add(const SampleName& name, const TarMember& member);

  // Returns the serialized Example, valid until the next call of any method. Copies each member
  // once from `bytes`.
  // kDataLoss: two members have the same extension.
  // REQUIRES: not empty().
  absl::StatusOr<std::span<const uint8_t>> Build(std::span<const uint8_t> bytes);

 private:
  struct Part {
    size_t name, name_size;  // Position of the extension in names_.
    uint64_t data, size;
  };
  absl::string_view NameOf(const Part& part) const {
    return absl::string_view(names_).substr(part.name, part.name_size);
  }
  absl::Status CheckNames() const;

  std::string names_;  // The key, followed by the extensions in lower case.
  size_t key_size_ = 0;
  std::vector<Part> parts_;
  uint64_t end_ = 0;
  ExampleBuilder example_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_CONTAINER_SAMPLE_H_
