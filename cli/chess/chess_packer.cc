#include "cli/chess/chess_packer.h"

#include <span>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/chess/line_reader.h"
#include "cli/terminal/interrupt.h"
#include "records/format/example_writer.h"
#include "records/format/tfrecord.h"

namespace penstock {
namespace {

using chess::PackedPosition;

// A file whose first line is no position probably holds something else.
absl::Status WithKind(const absl::Status& invalid, uint64_t line_number) {
  if (line_number > 1) return invalid;
  return absl::Status(
      invalid.code(),
      absl::StrCat(
          invalid.message(),
          "; if the file does not hold chess positions, name its kind, such as --from csv"));
}

absl::Status ReadFile(const std::string& path, bool skip_invalid,
                      const std::function<void(uint64_t)>& on_bytes, ReadPositionsResult& result) {
  PENSTOCK_ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(path));
  absl::string_view line;
  uint64_t reported = 0;
  while (true) {
    PENSTOCK_ASSIGN_OR_RETURN(const bool more, reader.Next(line));
    if (!more || reader.line_number() % 1024 == 0) {
      PENSTOCK_RETURN_IF_ERROR(InterruptGuard::Check());
      on_bytes(reader.bytes_read() - reported);
      reported = reader.bytes_read();
    }
    if (!more) return absl::OkStatus();
    const absl::StatusOr<PackedPosition> position = chess::ParseTsvLine(line);
    if (position.ok()) {
      result.positions.Add(*position);
      continue;
    }
    const std::string place = absl::StrCat(path, ":", reader.line_number());
    if (!skip_invalid) return Annotate(WithKind(position.status(), reader.line_number()), place);
    if (result.num_skipped++ == 0) {
      result.first_skipped = absl::StrCat(place, ": ", position.status().message());
    }
  }
}

std::span<const uint8_t> BuildExample(const PackedPosition& position, ExampleBuilder& builder) {
  builder.Clear();
  builder.AddBytes("d", position.d);
  builder.AddInt64("s", std::span(&position.s, 1));
  return builder.Serialize();
}

class PositionMaker : public RecordMaker {
 public:
  explicit PositionMaker(const PositionStore& positions) : positions_(positions) {}

  absl::Status Make(uint64_t index, Made& made) override {
    made.payload = BuildExample(positions_[index], builder_);
    return absl::OkStatus();
  }

 private:
  const PositionStore& positions_;
  ExampleBuilder builder_;
};

}  // namespace

void PositionStore::Add(const PackedPosition& position) {
  if (size_ % kBlock == 0) blocks_.emplace_back().reserve(kBlock);
  blocks_.back().push_back(position);
  ++size_;
}

absl::StatusOr<ReadPositionsResult> ReadPositions(const std::vector<std::string>& inputs,
                                                  bool skip_invalid,
                                                  const std::function<void(uint64_t)>& on_bytes) {
  ReadPositionsResult result;
  for (const std::string& path : inputs) {
    PENSTOCK_RETURN_IF_ERROR(ReadFile(path, skip_invalid, on_bytes, result));
  }
  return result;
}

// A negative score takes ten bytes; no score takes more.
uint64_t PositionRecords::estimated_bytes() const {
  ExampleBuilder builder;
  const size_t payload = BuildExample({chess::PlaneBytes{}, -1}, builder).size();
  return positions_.size() * (kFrameOverhead + payload);
}

std::string PositionRecords::Name(uint64_t index) const { return absl::StrCat("position ", index); }

std::unique_ptr<RecordMaker> PositionRecords::NewMaker() const {
  return std::make_unique<PositionMaker>(positions_);
}

}  // namespace penstock
