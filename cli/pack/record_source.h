// The records of an input of `penstock pack`, whatever kind it is.
#ifndef PENSTOCK_CLI_PACK_RECORD_SOURCE_H_
#define PENSTOCK_CLI_PACK_RECORD_SOURCE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"

namespace penstock {

// Makes records for one thread.
class RecordMaker {
 public:
  struct Made {
    std::span<const uint8_t> payload;  // Valid until the next call.
    absl::Status invalid;              // Why there is no such record: a fact about the input.
  };

  virtual ~RecordMaker() = default;

  // Makes record `index`. An error is one of reading: the record may be a good one.
  virtual absl::Status Make(uint64_t index, Made& made) = 0;
};

// Records by number, in the order of the input. Thread-safe.
class RecordSource {
 public:
  virtual ~RecordSource() = default;

  virtual uint64_t size() const = 0;
  // About the bytes of all records in shards. Shards and chunks follow it: what is packed again
  // alike must have the same.
  virtual uint64_t estimated_bytes() const = 0;
  // Stands for all that decides the records: with an equal key a run goes on where another was
  // stopped. Empty: every run begins anew.
  virtual std::string key() const { return ""; }
  // How people know record `index`.
  virtual std::string Name(uint64_t index) const = 0;
  // The maker borrows this source.
  virtual std::unique_ptr<RecordMaker> NewMaker() const = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_RECORD_SOURCE_H_
