// Parses the records of a pax extended header. A record is "LENGTH KEY=VALUE\n", where LENGTH is a
// decimal number: the bytes of the whole record.
#ifndef PENSTOCK_RECORDS_CONTAINER_PAX_RECORDS_H_
#define PENSTOCK_RECORDS_CONTAINER_PAX_RECORDS_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace penstock {

struct PaxRecord {
  absl::string_view key;
  absl::string_view value;
};

// True if `text` is decimal digits only and the number fits into 64 bits; `number` is then set.
bool ParsePaxNumber(absl::string_view text, uint64_t& number);

// Not thread-safe.
class PaxRecords {
 public:
  // `text` must outlive this object and the records that it returns.
  explicit PaxRecords(absl::string_view text) : left_(text) {}

  // Reads the next record. Returns false at the end, or if a record is malformed; failed() is then
  // true.
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
