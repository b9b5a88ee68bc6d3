#include "trainer/checkpoint/checkpoint.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/bytes_of.h"
#include "base/crc32c.h"
#include "base/io/atomic_file.h"
#include "base/io/file_source.h"
#include "base/status.h"
#include "trainer/checkpoint/checkpoint_json.h"

namespace penstock {
namespace {

constexpr char kMagic[] = "PSTRAIN\n";
constexpr size_t kMagicSize = 8;
constexpr uint32_t kVersion = 5;  // Older versions can be read too.
constexpr uint32_t kMaxJsonSize = 16 << 20;

struct Header {
  char magic[kMagicSize];
  uint32_t version;
  uint32_t json_size;
  uint64_t data_size;
};
static_assert(sizeof(Header) == 24 && std::endian::native == std::endian::little);

// Writes, and computes the CRC of everything written.
class CheckedWriter {
 public:
  explicit CheckedWriter(AtomicFile& file) : file_(file) {}

  absl::Status Write(std::span<const uint8_t> bytes) {
    crc_ = Crc32c(bytes, crc_);
    return file_.Write(bytes);
  }
  absl::Status WriteArena(const ParameterTable& table, const std::vector<float>& arena) {
    for (const Parameter& parameter : table.parameters()) {
      PENSTOCK_RETURN_IF_ERROR(
          Write(BytesOf(arena.data() + parameter.offset, parameter.count * sizeof(float))));
    }
    return absl::OkStatus();
  }
  absl::Status WriteCrc() { return file_.Write(BytesOf(&crc_, sizeof(crc_))); }

 private:
  AtomicFile& file_;
  uint32_t crc_ = 0;
};

// The version of the oldest program that can read the file. A program without attention biases must
// refuse the file, because it would take their numbers for damage. A program without dropout would
// continue without it. A program without pixel statistics would use ImageNet's.
uint32_t VersionOf(const ModelConfig& model) {
  if (model.pixels != PixelStatistics{}) return kVersion;
  if (model.is_image() || model.dropout != 0 || model.head_dropout != 0) return 4;
  return model.attention_bias ? 3 : 2;
}

absl::Status WriteAll(AtomicFile& file, const CheckpointInfo& info, const ParameterTable& table,
                      const TrainState& state) {
  const std::string json = CheckpointInfoToJson(info, table);
  Header header{{},
                VersionOf(info.model),
                static_cast<uint32_t>(json.size()),
                3 * sizeof(float) * table.parameter_count()};
  std::memcpy(header.magic, kMagic, kMagicSize);
  CheckedWriter writer(file);
  PENSTOCK_RETURN_IF_ERROR(writer.Write(BytesOf(&header, sizeof(header))));
  PENSTOCK_RETURN_IF_ERROR(writer.Write(BytesOf(json)));
  PENSTOCK_RETURN_IF_ERROR(writer.WriteArena(table, state.parameters));
  PENSTOCK_RETURN_IF_ERROR(writer.WriteArena(table, state.m));
  PENSTOCK_RETURN_IF_ERROR(writer.WriteArena(table, state.v));
  PENSTOCK_RETURN_IF_ERROR(writer.WriteCrc());
  return file.Commit();
}

// Checks everything that can be checked before memory of the file's size is allocated.
absl::StatusOr<Header> ReadHeader(const FileSource& file) {
  Header header;
  if (file.size() < sizeof(header)) {
    return absl::InvalidArgumentError(absl::StrCat("not a checkpoint: the file has ", file.size(),
                                                   " bytes, less than a header (", sizeof(header),
                                                   " bytes)"));
  }
  PENSTOCK_RETURN_IF_ERROR(file.ReadAt(0, {reinterpret_cast<uint8_t*>(&header), sizeof(header)}));
  if (std::memcmp(header.magic, kMagic, kMagicSize) != 0) {
    return absl::InvalidArgumentError("not a checkpoint: it does not begin with PSTRAIN");
  }
  if (header.version == 0 || header.version > kVersion) {
    return absl::FailedPreconditionError(absl::StrCat("the file has version ", header.version,
                                                      ", but this program reads versions 1 to ",
                                                      kVersion, "; use a newer penstock-train"));
  }
  const uint64_t rest = file.size() - sizeof(header);
  if (header.json_size > kMaxJsonSize || header.data_size > rest ||
      rest - header.data_size != header.json_size + sizeof(uint32_t)) {
    return absl::DataLossError(absl::StrFormat(
        "the file has %d bytes, but its header says %d + %d + %d + 4: it is truncated or damaged",
        file.size(), sizeof(header), header.json_size, header.data_size));
  }
  return header;
}

// Checks the CRC of the whole file, in blocks.
absl::Status CheckCrc(const FileSource& file) {
  const uint64_t body = file.size() - sizeof(uint32_t);
  std::vector<uint8_t> block(std::min<uint64_t>(body, 1 << 20));
  uint32_t computed = 0, stored = 0;
  for (uint64_t at = 0; at < body; at += block.size()) {
    const std::span<uint8_t> next(block.data(), std::min<uint64_t>(block.size(), body - at));
    PENSTOCK_RETURN_IF_ERROR(file.ReadAt(at, next));
    computed = Crc32c(next, computed);
  }
  PENSTOCK_RETURN_IF_ERROR(
      file.ReadAt(body, {reinterpret_cast<uint8_t*>(&stored), sizeof(stored)}));
  if (computed == stored) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrFormat("CRC-32C computed %08x, stored %08x: the file is damaged", computed, stored));
}

std::string DescribeImages(const ModelConfig& model) {
  if (!model.is_image()) return "";
  return absl::StrCat(", images of ", model.side, " pixels in patches of ", model.patch, ", ",
                      model.classes, " classes");
}

std::string Describe(const ModelConfig& model) {
  return absl::StrCat("\"", model.name, "\" (", model.layers, " layers, dim ", model.dim, ", ",
                      model.heads, " heads, hidden ", model.hidden,
                      model.attention_bias ? ", with attention bias" : "", DescribeImages(model),
                      ")");
}

// Reads the numbers of one arena from offset `at`, and advances `at`.
absl::Status ReadArena(const FileSource& file, const ParameterTable& table, uint64_t& at,
                       std::vector<float>& arena) {
  for (const Parameter& parameter : table.parameters()) {
    const std::span<float> numbers(arena.data() + parameter.offset, parameter.count);
    PENSTOCK_RETURN_IF_ERROR(
        file.ReadAt(at, {reinterpret_cast<uint8_t*>(numbers.data()), numbers.size_bytes()}));
    at += numbers.size_bytes();
  }
  return absl::OkStatus();
}

// The sizes of a model are bounded, so the table may be made before the file's size is checked.
absl::StatusOr<ParameterTable> TableFor(const ModelConfig& model, uint64_t data_size) {
  ParameterTable table = ParameterTable::For(model);
  if (data_size == 3 * sizeof(float) * table.parameter_count()) return table;
  return absl::DataLossError(absl::StrCat("its ", data_size,
                                          " bytes of weights and moments do not fit its ", "model ",
                                          Describe(model), ": the file is damaged"));
}

// Allocates memory of the file's size only once the file is known to be a checkpoint of that size.
absl::StatusOr<Checkpoint> Read(const FileSource& file, const ModelConfig* model) {
  PENSTOCK_ASSIGN_OR_RETURN(const Header header, ReadHeader(file));
  std::string json(header.json_size, '\0');
  PENSTOCK_RETURN_IF_ERROR(
      file.ReadAt(sizeof(header), {reinterpret_cast<uint8_t*>(json.data()), json.size()}));
  Checkpoint checkpoint;
  PENSTOCK_ASSIGN_OR_RETURN(checkpoint.info, CheckpointInfoFromJson(json));
  PENSTOCK_ASSIGN_OR_RETURN(const ParameterTable table,
                            TableFor(checkpoint.info.model, header.data_size));
  PENSTOCK_RETURN_IF_ERROR(CheckCrc(file));
  if (model != nullptr) PENSTOCK_RETURN_IF_ERROR(CheckModel(checkpoint.info.model, *model));
  checkpoint.state = TrainState(table.arena_size());
  checkpoint.state.step = checkpoint.info.step;
  uint64_t at = sizeof(header) + header.json_size;
  PENSTOCK_RETURN_IF_ERROR(ReadArena(file, table, at, checkpoint.state.parameters));
  PENSTOCK_RETURN_IF_ERROR(ReadArena(file, table, at, checkpoint.state.m));
  PENSTOCK_RETURN_IF_ERROR(ReadArena(file, table, at, checkpoint.state.v));
  return checkpoint;
}

absl::StatusOr<Checkpoint> Load(const std::string& path, const ModelConfig* model) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<FileSource> file, FileSource::Open(path));
  absl::StatusOr<Checkpoint> checkpoint = Read(*file, model);
  if (!checkpoint.ok()) return Annotate(checkpoint.status(), absl::StrCat("checkpoint ", path));
  return checkpoint;
}

std::string PixelOptions(const PixelStatistics& pixels) {
  return absl::StrCat("--image-mean ", ChannelsText(pixels.mean), " --image-std ",
                      ChannelsText(pixels.deviation));
}

bool OnlyPixelsDiffer(const ModelConfig& found, ModelConfig wanted) {
  wanted.pixels = found.pixels;
  return found.SameParameters(wanted);
}

absl::Status OtherPixels(const PixelStatistics& found, const PixelStatistics& wanted) {
  return absl::FailedPreconditionError(
      absl::StrCat("it was trained with other pixel statistics than ", PixelOptions(wanted),
                   "; give ", PixelOptions(found)));
}

}  // namespace

absl::Status CheckModel(const ModelConfig& found, const ModelConfig& wanted) {
  if (found.SameParameters(wanted)) return absl::OkStatus();
  if (OnlyPixelsDiffer(found, wanted)) return OtherPixels(found.pixels, wanted.pixels);
  std::string advice;
  if (found.name != wanted.name) {
    advice = absl::StrCat("; give --model ", found.name, ", or another --checkpoint-dir or file");
  }
  if (found.attention_bias != wanted.attention_bias) {
    absl::StrAppend(
        &advice, found.attention_bias ? "; give --attention-bias" : "; leave --attention-bias out");
  }
  if (found.name == wanted.name && found.classes != wanted.classes) {
    absl::StrAppend(&advice, "; give --classes ", found.classes);
  }
  if (found.name == wanted.name && found.pixels != wanted.pixels) {
    absl::StrAppend(&advice, "; give ", PixelOptions(found.pixels));
  }
  return absl::FailedPreconditionError(absl::StrCat("the file has model ", Describe(found),
                                                    ", but this training uses ", Describe(wanted),
                                                    advice));
}

absl::Status SaveCheckpoint(const std::string& path, const CheckpointInfo& info,
                            const ParameterTable& table, const TrainState& state) {
  PENSTOCK_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  return Annotate(WriteAll(file, info, table, state), "saving a checkpoint");
}

absl::StatusOr<Checkpoint> LoadCheckpoint(const std::string& path, const ModelConfig& model) {
  return Load(path, &model);
}

absl::StatusOr<Checkpoint> LoadCheckpoint(const std::string& path) { return Load(path, nullptr); }

}  // namespace penstock
