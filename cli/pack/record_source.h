// Gives access to the records of any input of `penstock pack`.
#ifndef PENSTOCK_CLI_PACK_RECORD_SOURCE_H_
#define PENSTOCK_CLI_PACK_RECORD_SOURCE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"

namespace penstock {

// Makes records on one thread.
class RecordMaker {
 public:
  struct Made {
    std::span<const uint8_t> payload;  // Valid until the next call.
    // If it is not OK, the record is invalid because of the input.
    absl::Status invalid;
  };

  virtual ~RecordMaker() = default;

  // Makes record `index`. It is an error if reading fails; the record may be good.
  virtual absl::Status Make(uint64_t index, Made& made) = 0;
};

// Gives access to records by number, in the order of the input. Thread-safe.
class RecordSource {
 public:
  virtual ~RecordSource() = default;

  virtual uint64_t size() const = 0;
  // Returns the approximate size of all records in shards. It determines the number of shards and
  // the size of chunks, so it must be the same whenever the same input is packed again.
  virtual uint64_t estimated_bytes() const = 0;
  // Identifies everything that determines the records. A run continues a stopped run with an equal
  // key. If it is empty, every run starts from the beginning.
  virtual std::string key() const { return ""; }
  // Returns the name of record `index` for messages.
  virtual std::string Name(uint64_t index) const = 0;
  // This source must outlive the maker.
  virtual std::unique_ptr<RecordMaker> NewMaker() const = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_RECORD_SOURCE_H_
