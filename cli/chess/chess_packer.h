// Makes records from lines FEN<TAB>score.
#ifndef PENSTOCK_CLI_CHESS_CHESS_PACKER_H_
#define PENSTOCK_CLI_CHESS_CHESS_PACKER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/pack/record_source.h"
#include "records/chess/tsv_line.h"

namespace penstock {

// Stores positions in blocks, so that growing never copies them. Not thread-safe.
class PositionStore {
 public:
  void Add(const chess::PackedPosition& position);
  // REQUIRES: index < size().
  const chess::PackedPosition& operator[](uint64_t index) const {
    return blocks_[index / kBlock][index % kBlock];
  }
  uint64_t size() const { return size_; }

 private:
  static constexpr uint64_t kBlock = 4096;
  std::vector<std::vector<chess::PackedPosition>> blocks_;
  uint64_t size_ = 0;
};

struct ReadPositionsResult {
  PositionStore positions;
  uint64_t num_skipped = 0;
  std::string first_skipped;  // "FILE:LINE: reason"; empty if no line was skipped.
};

// Reads all `inputs` in order ("-" is standard input). Calls `on_bytes` with the number of bytes of
// each read. kInvalidArgument, unless `skip_invalid`: a line is invalid; the message has the file,
// line and reason of the first one.
absl::StatusOr<ReadPositionsResult> ReadPositions(const std::vector<std::string>& inputs,
                                                  bool skip_invalid,
                                                  const std::function<void(uint64_t)>& on_bytes);

// Makes records from positions, which must outlive it.
class PositionRecords : public RecordSource {
 public:
  explicit PositionRecords(const PositionStore& positions) : positions_(positions) {}

  uint64_t size() const override { return positions_.size(); }
  // Returns an upper bound.
  uint64_t estimated_bytes() const override;
  std::string Name(uint64_t index) const override;
  std::unique_ptr<RecordMaker> NewMaker() const override;

 private:
  const PositionStore& positions_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_CHESS_CHESS_PACKER_H_
