// Records that are frames in files, found by a pass over the input.
#ifndef PENSTOCK_CLI_PACK_LOCATED_RECORDS_H_
#define PENSTOCK_CLI_PACK_LOCATED_RECORDS_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/io/file_source.h"
#include "cli/pack/record_source.h"
#include "records/format/tfrecord.h"

namespace penstock {

// Keeps 16 bytes per record in memory. Payloads are read on demand, and their checksums are
// verified again. Thread-safe once everything is added.
class LocatedRecords : public RecordSource {
 public:
  // The payload of the longest record that an index accepts (ScanOptions::max_raw_chunk_bytes).
  static constexpr uint64_t kMaxPayloadBytes = (uint64_t{64} << 20) - kFrameOverhead;
  // The order of records has a 32-bit number for each.
  static constexpr uint64_t kMaxRecords = ~uint32_t{0};

  // Adds a file, which is opened whenever it is needed and must not change. Returns its number.
  uint32_t AddFile(const std::string& path, const FileIdentity& identity);
  // Replaces the file of this number by an open one.
  void SetOpenFile(uint32_t file, std::unique_ptr<FileSource> source);

  // Appends the record whose frame is at `offset` of a file. kResourceExhausted: there are already
  // kMaxRecords.
  absl::Status Add(uint32_t file, uint64_t offset, uint64_t payload_bytes);

  // Removes all records but the first `size`. REQUIRES: size <= size().
  void Truncate(uint64_t size);

  void set_key(std::string key) { key_ = std::move(key); }

  uint64_t size() const override { return places_.size(); }
  uint64_t estimated_bytes() const override { return bytes_; }
  std::string key() const override { return key_; }
  std::string Name(uint64_t index) const override;
  std::unique_ptr<RecordMaker> NewMaker() const override;

 private:
  class Maker;

  struct Place {
    uint64_t offset;
    uint32_t frame_bytes;
    uint32_t file;
  };
  struct File {
    std::string path;
    FileIdentity identity;
    std::unique_ptr<FileSource> source;  // Null until it is needed.
  };

  std::vector<File> files_;
  std::deque<Place> places_;
  uint64_t bytes_ = 0;
  std::string key_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_LOCATED_RECORDS_H_
