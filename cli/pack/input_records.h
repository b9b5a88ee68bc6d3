// Reads the records of an input file of `penstock pack` from beginning to end.
#ifndef PENSTOCK_CLI_PACK_INPUT_RECORDS_H_
#define PENSTOCK_CLI_PACK_INPUT_RECORDS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status.h"

namespace penstock {

struct InputRecord {
  std::span<const uint8_t> payload;  // Valid until the next call of Next().
  // The place of the record's frame, if the file has it as an uncompressed TFRecord frame.
  std::optional<uint64_t> frame_offset = {};
  // If it is not OK, the record is invalid because of the file's content. The message names file
  // and place.
  absl::Status invalid = absl::OkStatus();
  // If it is invalid: so are all records of the file before it, because one checksum covers them.
  bool all_invalid = false;
};

// Whether the error is about the file's content, and not about reading it.
inline bool IsOfFile(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsResourceExhausted(status) ||
         absl::IsInvalidArgument(status);
}

// Returns the same error, marked as that of an invalid record after which nothing can be read.
inline absl::Status ReadNoFurther(const absl::Status& why) {
  return absl::Status(why.code(),
                      absl::StrCat(why.message(), "; the file cannot be read from there on"));
}

// Puts the place before the message, unless that begins with the file's name, as of an error in
// reading it.
inline absl::Status AtPlace(const absl::Status& status, absl::string_view file,
                            absl::string_view place) {
  return absl::StartsWith(status.message(), file) ? status : Annotate(status, place);
}

// Not thread-safe.
class InputRecords {
 public:
  virtual ~InputRecords() = default;

  // Returns true if `record` is filled; it may be an invalid one. Returns false at the end. It is
  // an error if reading fails; the file may be good.
  virtual absl::StatusOr<bool> Next(InputRecord& record) = 0;

  // Returns the place of the last record for messages: "FILE: record 3 at offset 57".
  virtual std::string Place() const = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_INPUT_RECORDS_H_
