// penstock decode: a shard to NumPy arrays.
#include <cstdio>
#include <filesystem>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/io/file_source.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/data/record_sample.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"
#include "records/decode/npy.h"
#include "records/decode/program.h"
#include "records/decode/spec.h"
#include "records/format/feature_finder.h"

namespace penstock {
namespace {

struct DecodeFlags {
  std::string input;
  std::string output;
  std::string spec = "chess";
  std::string dtype = "i8";
  bool force = false;
};

// NAME.npy of a tensor in the folder.
absl::StatusOr<std::string> ArrayFile(const DecodeFlags& flags, const std::string& tensor) {
  if (absl::StrContains(tensor, "/") || tensor.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor '", tensor, "' cannot be a file's name"));
  }
  std::string path = absl::StrCat(flags.output, "/", tensor, ".npy");
  PENSTOCK_RETURN_IF_ERROR(CheckReplaces(path, flags.force));
  return path;
}

// Collects rows of features, and decodes and writes them in blocks.
class ArrayWriter {
 public:
  static absl::StatusOr<ArrayWriter> Create(const Program& program, const DecodeFlags& flags) {
    std::vector<FeatureUse> specs;
    for (const FeatureUse& use : program.features()) {
      specs.push_back({use.name, use.type, use.count});
    }
    PENSTOCK_ASSIGN_OR_RETURN(FeatureFinder finder, FeatureFinder::Create(std::move(specs)));
    ArrayWriter writer(program, std::move(finder));
    for (const TensorInfo& tensor : program.tensors()) {
      PENSTOCK_ASSIGN_OR_RETURN(const std::string path, ArrayFile(flags, tensor.name));
      PENSTOCK_ASSIGN_OR_RETURN(NpyWriter file,
                                NpyWriter::Create(path, tensor.dtype, tensor.shape));
      writer.files_.push_back(std::move(file));
    }
    return writer;
  }

  absl::Status Add(std::span<const uint8_t> payload) {
    PENSTOCK_RETURN_IF_ERROR(finder_.Find(payload, found_));
    for (size_t i = 0; i < columns_.size(); ++i) Append(i);
    ++rows_;
    return ++pending_ == kBlockRows ? Flush() : absl::OkStatus();
  }

  absl::Status Finish() {
    PENSTOCK_RETURN_IF_ERROR(Flush());
    for (NpyWriter& file : files_) PENSTOCK_RETURN_IF_ERROR(file.Finish());
    return absl::OkStatus();
  }

  uint64_t rows() const { return rows_; }
  const DecodeCounters& counters() const { return counters_; }

 private:
  static constexpr size_t kBlockRows = 1024;

  ArrayWriter(const Program& program, FeatureFinder finder)
      : program_(program),
        finder_(std::move(finder)),
        found_(finder_.MakeFound()),
        columns_(program.features().size()) {}

  // Copies feature i of the record just found: it points into a buffer that moves on.
  void Append(size_t i) {
    const FeatureUse& use = program_.features()[i];
    const void* value = nullptr;
    if (use.type == FeatureType::kBytes) value = found_.bytes[finder_.slot(i)].data();
    if (use.type == FeatureType::kInt64) value = found_.ints.data() + finder_.slot(i);
    if (use.type == FeatureType::kFloat) value = found_.floats.data() + finder_.slot(i);
    const auto* bytes = static_cast<const uint8_t*>(value);
    columns_[i].insert(columns_[i].end(), bytes, bytes + use.row_bytes());
  }

  absl::Status Flush() {
    std::vector<std::vector<const uint8_t*>> rows(columns_.size());
    std::vector<FeatureColumn> columns;
    for (size_t i = 0; i < columns_.size(); ++i) {
      for (size_t row = 0; row < pending_; ++row) {
        rows[i].push_back(columns_[i].data() + row * program_.features()[i].row_bytes());
      }
      columns.push_back(rows[i].data());
    }
    std::vector<std::vector<uint8_t>> blocks;
    std::vector<uint8_t*> outputs;
    for (const TensorInfo& tensor : program_.tensors()) {
      blocks.emplace_back(pending_ * tensor.row_bytes);
      outputs.push_back(blocks.back().data());
    }
    counters_ += program_.DecodeRows(columns, pending_, outputs).counters;
    for (size_t i = 0; i < files_.size(); ++i) {
      PENSTOCK_RETURN_IF_ERROR(files_[i].Append(blocks[i]));
    }
    for (std::vector<uint8_t>& column : columns_) column.clear();
    pending_ = 0;
    return absl::OkStatus();
  }

  Program program_;
  FeatureFinder finder_;
  FoundFeatures found_;
  std::vector<NpyWriter> files_;               // One a tensor.
  std::vector<std::vector<uint8_t>> columns_;  // One a feature, `pending_` rows.
  size_t pending_ = 0;
  uint64_t rows_ = 0;
  DecodeCounters counters_;
};

absl::Status Decode(const DecodeFlags& flags) {
  PENSTOCK_ASSIGN_OR_RETURN(WireDtype dtype, ParseWireDtype(flags.dtype));
  PENSTOCK_ASSIGN_OR_RETURN(v1::DecodeSpec spec, LoadSpec(flags.spec));
  PENSTOCK_ASSIGN_OR_RETURN(Program program, Program::Compile(spec, dtype));
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source, FileSource::Open(flags.input));
  std::error_code error;
  std::filesystem::create_directories(flags.output, error);
  if (error) return ErrnoToStatus(error.value(), flags.output);
  PENSTOCK_ASSIGN_OR_RETURN(ArrayWriter writer, ArrayWriter::Create(program, flags));

  InterruptGuard interrupts;
  Progress progress({.label = "decoding"});
  PENSTOCK_RETURN_IF_ERROR(ForEachRecord(*source, [&](const Record& record) {
    progress.Add(1);
    return Annotate(
        writer.Add(record.payload),
        absl::StrCat(flags.input, ": record ", record.number, " at offset ", record.offset));
  }));
  PENSTOCK_RETURN_IF_ERROR(writer.Finish());
  progress.Finish(absl::StrCat("arrays in ", flags.output));
  if (uint64_t mates = writer.counters().mates_without_sign; mates > 0) {
    PrintEscaped(stderr, "penstock: %s mates are stored as 0: their score is a draw's\n",
                 absl::StrCat(mates));
  }
  return absl::OkStatus();
}

}  // namespace

void AddDecodeCommand(CLI::App& app, absl::Status& outcome) {
  CLI::App& command = AddCommand(
      app, "decode",
      "Decode all records of a shard to one NumPy file a tensor: planes.npy, flags.npy and\n"
      "score.npy of chess records; as packed the features' own bytes, d.npy and s.npy.",
      "penstock decode data/chess-00000-of-00004.tfrecord --spec chess --dtype f32 -o arrays");
  auto flags = std::make_shared<DecodeFlags>();
  command.add_option("input", flags->input, "SHARD: a TFRecord file, gzip and zstd too")
      ->required()
      ->default_str("");
  command.add_option("-o,--output", flags->output, "Folder to write to, made if need be")
      ->required();
  command.add_option("--spec", flags->spec, "A built-in decode spec or a textproto file");
  command.add_option("--dtype", flags->dtype, "What planes and flags become")
      ->check(CLI::IsMember({"packed", "i8", "f32", "f64"}));
  command.add_flag("--force", flags->force, "Replace existing arrays of these names");
  OnRun(command, outcome, [flags] { return Decode(*flags); });
}

}  // namespace penstock
