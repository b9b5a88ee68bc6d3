// The records of an input file of `penstock pack`, read from its beginning to its end.
#ifndef PENSTOCK_CLI_PACK_INPUT_RECORDS_H_
#define PENSTOCK_CLI_PACK_INPUT_RECORDS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace penstock {

struct InputRecord {
  std::span<const uint8_t> payload;  // Valid until the next call of Next().
  // The place of the record's frame, if the file has it as a TFRecord frame without compression.
  std::optional<uint64_t> frame_offset = {};
  // Why there is no such record: a fact about the file. Names file and place.
  absl::Status invalid = absl::OkStatus();
};

// Whether the error says something about a file, and not about reading it.
inline bool IsOfFile(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsResourceExhausted(status) ||
         absl::IsInvalidArgument(status);
}

// The same error, of an invalid record behind which nothing can be read.
inline absl::Status ReadNoFurther(const absl::Status& why) {
  return absl::Status(why.code(),
                      absl::StrCat(why.message(), "; the file cannot be read from there on"));
}

// Not thread-safe.
class InputRecords {
 public:
  virtual ~InputRecords() = default;

  // True: `record` is filled; it may be an invalid one. False: the end. An error is one of reading:
  // the file may be a good one.
  virtual absl::StatusOr<bool> Next(InputRecord& record) = 0;

  // The place of the last record, for people: "FILE: record 3 at offset 57".
  virtual std::string Place() const = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_INPUT_RECORDS_H_
