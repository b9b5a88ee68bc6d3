#include "cli/chess/chess_packer.h"

#include <span>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "cli/chess/line_reader.h"
#include "cli/terminal/interrupt.h"
#include "records/chess/fen.h"
#include "records/format/example_writer.h"
#include "records/format/tfrecord.h"

namespace penstock {
namespace {

using chess::PackedPosition;

// A kind of file that is not chess-tsv, and what to do with it.
struct OtherKind {
  absl::string_view magic;  // The first bytes of the file.
  absl::string_view name;
  absl::string_view advice;
};

constexpr absl::string_view kReadInPython =
    "read it in Python, and give its rows to penstock.pack()";
constexpr absl::string_view kGiveFolder =
    "give the folder that has a subfolder with the images of each class";
constexpr OtherKind kOtherKinds[] = {
    {"PAR1", "Parquet", kReadInPython},
    {"ARROW1", "Arrow", kReadInPython},
    {"\x89HDF\r", "HDF5", kReadInPython},
    {"SQLite format 3", "an SQLite database", kReadInPython},
    {"\xff\xd8\xff", "a JPEG", kGiveFolder},
    {"\x89PNG\r", "a PNG", kGiveFolder},
    {"PK\x03\x04", "a zip archive", "unpack it; penstock pack reads only arrays as .npz"},
    {"\x1f\x8b", "gzip", "name the kind that is compressed, such as --from csv"},
    {"\x28\xb5\x2f\xfd", "zstd", "name the kind that is compressed, such as --from csv"},
    {"{", "JSON", "--from jsonl reads one object on each line"},
    {"[Event ", "PGN", "write a line FEN<TAB>score for each position of its games"},
};

// Whether the line is a position in EPD: the first four fields of a FEN, and then operations.
bool IsEpd(absl::string_view line) {
  const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(' ', 4));
  if (fields.size() < 5) return false;
  const std::string fen =
      absl::StrCat(fields[0], " ", fields[1], " ", fields[2], " ", fields[3], " 0 1");
  return chess::ParseFen(fen).ok() && !chess::ParseFen(line).ok();
}

// A file whose first line is no position probably holds something else.
absl::Status WithKind(const absl::Status& invalid, absl::string_view line, uint64_t line_number) {
  if (line_number > 1) return invalid;
  const auto is = [](absl::string_view name, absl::string_view advice) {
    return absl::InvalidArgumentError(absl::StrCat("this is ", name, ": ", advice));
  };
  for (const OtherKind& kind : kOtherKinds) {
    if (absl::StartsWith(line, kind.magic)) return is(kind.name, kind.advice);
  }
  if (IsEpd(line)) return is("EPD", "write a line FEN<TAB>score for each position");
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
    if (!skip_invalid)
      return Annotate(WithKind(position.status(), line, reader.line_number()), place);
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
