// Records that lie as frames in files, found by a pass over the input.
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

// Keeps 16 bytes a record in memory; payloads are read when they are asked for, and their checksums
// are verified again. Thread-safe once all is added.
class LocatedRecords : public RecordSource {
 public:
  // The payload of the longest record that an index accepts (ScanOptions::max_raw_chunk_bytes).
  static constexpr uint64_t kMaxPayloadBytes = (uint64_t{64} << 20) - kFrameOverhead;
  // An order of records has 32 bits for each.
  static constexpr uint64_t kMaxRecords = ~uint32_t{0};

  // Returns the number of a file that is opened whenever it is needed, and must not change.
  uint32_t AddFile(const std::string& path, const FileIdentity& identity);
  // Puts an open file in the place of that with this number.
  void SetOpenFile(uint32_t file, std::unique_ptr<FileSource> source);

  // The frame of `payload_bytes` at `offset` of a file, behind all records so far.
  // kResourceExhausted: there are kMaxRecords.
  absl::Status Add(uint32_t file, uint64_t offset, uint64_t payload_bytes);

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
    std::unique_ptr<FileSource> source;  // Null: opened when it is needed.
  };

  std::vector<File> files_;
  std::deque<Place> places_;
  uint64_t bytes_ = 0;
  std::string key_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_LOCATED_RECORDS_H_
