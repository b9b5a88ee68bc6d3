// penstock decode: writes a shard as NumPy arrays.
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/io/file_source.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/data/record_decoder.h"
#include "cli/data/record_sample.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"
#include "client/loader/dataset_spec.h"
#include "client/plan/epoch_order.h"
#include "records/dataset/feature_survey.h"
#include "records/dataset/manifest.h"
#include "records/dataset/record_check.h"
#include "records/decode/npy.h"
#include "records/decode/program.h"
#include "records/decode/spec.h"
#include "records/format/tfrecord_reader.h"

namespace penstock {
namespace {

struct DecodeFlags {
  std::string input;
  std::string output;
  std::string spec;
  std::string dtype = "i8";
  uint64_t seed = 0;
  bool force = false;
};

// Returns the path of the array of a tensor: NAME.npy in the output folder.
absl::StatusOr<std::string> ArrayFile(const DecodeFlags& flags, const std::string& tensor) {
  if (absl::StrContains(tensor, "/") || tensor.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor '", tensor, "' cannot be a file's name"));
  }
  std::string path = absl::StrCat(flags.output, "/", tensor, ".npy");
  PENSTOCK_RETURN_IF_ERROR(CheckReplaces(path, flags.force));
  return path;
}

// Returns a manifest that has only the format and the features of the shard's first records.
absl::StatusOr<Manifest> SurveyShard(const ByteSource& shard, uint64_t max_records) {
  TfRecordReader reader(shard);
  Record record;
  std::optional<FeatureSurvey> survey;
  ManifestBuilder builder;
  for (uint64_t i = 0; i < max_records; ++i) {
    PENSTOCK_RETURN_IF_ERROR(InterruptGuard::Check());
    const absl::StatusOr<bool> more = reader.Next(record);
    if (!more.ok() || !*more) break;  // Decoding reports the damage.
    if (!survey.has_value()) {
      const RecordFormat format = FormatOf(record.payload);
      survey.emplace(format);
      builder.SetFormat(format);
    }
    survey->Add(record.payload).IgnoreError();  // Decoding reports it.
  }
  if (survey.has_value()) builder.SetFeatures(survey->Summary());
  return builder.Build();
}

absl::StatusOr<v1::DecodeSpec> SpecFor(const ByteSource& shard, const std::string& name) {
  PENSTOCK_ASSIGN_OR_RETURN(v1::DecodeSpec named, LoadNamedSpec(name));
  // A named spec is only checked against the records; a spec is made from all of them.
  const uint64_t max_records =
      name.empty() ? std::numeric_limits<uint64_t>::max() : RecordCheck::kSurveyedRecords;
  PENSTOCK_ASSIGN_OR_RETURN(const Manifest manifest, SurveyShard(shard, max_records));
  absl::StatusOr<SpecChoice> choice = ChooseSpec(std::move(named), manifest);
  if (!choice.ok()) return Annotate(choice.status(), shard.name());
  if (!choice->note.empty()) PrintEscaped(stderr, "penstock: %s\n", choice->note);
  return std::move(choice->spec);
}

// Decodes records in blocks and writes an array for each tensor.
class ArrayWriter {
 public:
  static absl::StatusOr<ArrayWriter> Create(const Program& program, const DecodeFlags& flags) {
    PENSTOCK_ASSIGN_OR_RETURN(RecordDecoder decoder,
                              RecordDecoder::Create(program, AugmentationKeyOf(flags.seed, 0)));
    ArrayWriter writer(std::move(decoder));
    for (const TensorInfo& tensor : program.tensors()) {
      PENSTOCK_ASSIGN_OR_RETURN(const std::string path, ArrayFile(flags, tensor.name));
      PENSTOCK_ASSIGN_OR_RETURN(NpyWriter file,
                                NpyWriter::Create(path, tensor.dtype, tensor.shape));
      writer.files_.push_back(std::move(file));
    }
    return writer;
  }

  absl::Status Add(std::span<const uint8_t> payload) {
    PENSTOCK_RETURN_IF_ERROR(decoder_.Add(payload));
    return decoder_.pending() == kBlockRows ? Flush() : absl::OkStatus();
  }

  absl::Status Finish() {
    PENSTOCK_RETURN_IF_ERROR(Flush());
    for (NpyWriter& file : files_) PENSTOCK_RETURN_IF_ERROR(file.Finish());
    return absl::OkStatus();
  }

  const DecodeCounters& counters() const { return decoder_.counters(); }

 private:
  static constexpr size_t kBlockRows = 1024;

  explicit ArrayWriter(RecordDecoder decoder) : decoder_(std::move(decoder)) {}

  absl::Status Flush() {
    PENSTOCK_RETURN_IF_ERROR(decoder_.Decode());
    for (size_t i = 0; i < files_.size(); ++i) {
      PENSTOCK_RETURN_IF_ERROR(files_[i].Append(decoder_.blocks()[i]));
    }
    return absl::OkStatus();
  }

  RecordDecoder decoder_;
  std::vector<NpyWriter> files_;  // There is one for each tensor.
};

absl::Status Decode(const DecodeFlags& flags) {
  PENSTOCK_ASSIGN_OR_RETURN(WireDtype dtype, ParseWireDtype(flags.dtype));
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source, FileSource::Open(flags.input));
  InterruptGuard interrupts;
  PENSTOCK_ASSIGN_OR_RETURN(v1::DecodeSpec spec, SpecFor(*source, flags.spec));
  PENSTOCK_ASSIGN_OR_RETURN(Program program, Program::Compile(spec, dtype));
  std::error_code error;
  std::filesystem::create_directories(flags.output, error);
  if (error) return ErrnoToStatus(error.value(), flags.output);
  PENSTOCK_ASSIGN_OR_RETURN(ArrayWriter writer, ArrayWriter::Create(program, flags));

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
  command.add_option(
      "--spec", flags->spec,
      "A built-in decode spec or a textproto file; empty: chess for chess's features, else one "
      "made from the features of the shard");
  command.add_option("--dtype", flags->dtype, "What planes and flags become")
      ->check(CLI::IsMember({"packed", "i8", "f32", "f64"}));
  command.add_option("--seed", flags->seed,
                     "The seed of random image operations, which are those of epoch 0");
  command.add_flag("--force", flags->force, "Replace existing arrays of these names");
  OnRun(command, outcome, [flags] { return Decode(*flags); });
}

}  // namespace penstock
