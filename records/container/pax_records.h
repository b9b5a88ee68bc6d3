// The records of a pax extended header: "LENGTH KEY=VALUE\n" each, where LENGTH is a decimal number
// and counts the whole record.
#ifndef PENSTOCK_RECORDS_CONTAINER_PAX_RECORDS_H_
#define PENSTOCK_RECORDS_CONTAINER_PAX_RECORDS_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace penstock {

struct PaxRecord {
  absl::string_view key;
  absl::string_view value;
};

// False unless `text` is decimal digits alone and the number has at most 64 bits.
bool ParsePaxNumber(absl::string_view text, uint64_t& number);

// Not thread-safe.
class PaxRecords {
 public:
  // `text` must outlive the reader and what it returns.
  explicit PaxRecords(absl::string_view text) : left_(text) {}

  // False at the end, and where a record is malformed: then failed() is true.
  bool Next(PaxRecord& record);
  bool failed() const { return failed_; }

 private:
  bool Fail() {
    failed_ = true;
    return false;
  }

  absl::string_view left_;
  bool failed_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_CONTAINER_PAX_RECORDS_H_
