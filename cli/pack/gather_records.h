// The first pass over input that has no index of its records: finds where each record is.
#ifndef PENSTOCK_CLI_PACK_GATHER_RECORDS_H_
#define PENSTOCK_CLI_PACK_GATHER_RECORDS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/io/byte_source.h"
#include "cli/pack/input_records.h"
#include "cli/pack/located_records.h"

namespace penstock {

struct GatherOptions {
  std::string folder;                  // Folder for a temporary file.
  bool skip_invalid = false;           // If it is false, the first invalid record ends the pass.
  std::vector<std::string> must_have;  // Names of features. Records that lack one are left out.
  std::string kind;  // Describes everything else that determines the records. Part of the key.
};

struct GatheredRecords {
  LocatedRecords records;
  uint64_t num_lacking = 0;  // Number of records left out because of must_have.
  uint64_t num_skipped = 0;  // Number of invalid records.
  // The first invalid records, each with file, place and reason.
  static constexpr size_t kMaxListed = 1000;
  std::vector<std::string> skipped;
};

// Files whose records are made together, usually one.
using InputFiles = std::vector<std::string>;

// Makes the records of the open files of one InputFiles.
using OpenRecords = std::function<absl::StatusOr<std::unique_ptr<InputRecords>>(
    std::vector<std::unique_ptr<ByteSource>>)>;

// Reads all files once, in their order. Frames that a file has stay where they are; all other
// records are copied to a temporary file (RecordSpool). The key covers path, size and time of each
// file. Calls `on_bytes` with the number of bytes of each read.
//
// Fails on an invalid record, unless `skip_invalid`. kCancelled: an InterruptGuard took a signal.
absl::StatusOr<std::unique_ptr<GatheredRecords>> GatherRecords(
    const std::vector<InputFiles>& inputs, const OpenRecords& open, const GatherOptions& options,
    const std::function<void(uint64_t)>& on_bytes);

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_GATHER_RECORDS_H_
