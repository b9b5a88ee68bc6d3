// penstock decode: writes records as NumPy arrays.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/flags/path_flags.h"
#include "base/io/file_source.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/data/array_files.h"
#include "cli/data/dataset_argument.h"
#include "cli/terminal/close_on_interrupt.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"
#include "client/loader/dataset_spec.h"
#include "client/loader/loader_plan.h"
#include "records/container/shard_reader.h"
#include "records/dataset/feature_survey.h"

namespace penstock {
namespace {

struct DecodeFlags {
  std::string input;
  std::string output;
  std::string spec;
  std::string dtype = "i8";
  std::string split = "all";
  std::string records;
  uint64_t seed = 0;
  bool force = false;
};

// Rows [begin, end) of a split in file order.
struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Parses "A:B" as a Python slice, or one number. Either end may be missing. An empty text means all
// rows.
absl::StatusOr<Range> ParseRange(const std::string& text, uint64_t rows) {
  Range range{0, rows};
  if (text.empty()) return range;
  const std::vector<std::string> ends = absl::StrSplit(text, ':');
  const bool one = ends.size() == 1;
  const bool valid = ends.size() <= 2 &&
                     (ends[0].empty() ? !one : absl::SimpleAtoi(ends[0], &range.begin)) &&
                     (one || ends[1].empty() || absl::SimpleAtoi(ends[1], &range.end));
  if (!valid) {
    return UsageError(absl::StrCat("--records ", text,
                                   ": is no range; 100:200 is the records from 100 on and before "
                                   "200, counted from 0"));
  }
  if (one) range.end = range.begin + 1;
  range.end = std::min(range.end, rows);
  if (range.begin < range.end) return range;
  return UsageError(
      absl::StrCat("--records ", text, ": holds none of the ", Counted(rows, "record", "records")));
}

// Lets the spec decide first, because the first record of raw data may be an Example by chance.
absl::StatusOr<RecordFormat> FormatOfShard(const std::string& path, const v1::DecodeSpec& spec) {
  if (spec.records() == v1::DecodeSpec::RAW) return RecordFormat::kRaw;
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<FileSource> source, FileSource::Open(path));
  PENSTOCK_ASSIGN_OR_RETURN(ShardReader reader, ShardReader::Create(*source));
  Record record;
  PENSTOCK_ASSIGN_OR_RETURN(const bool any, reader.Next(record));
  return any ? FormatOf(record.payload) : RecordFormat::kExample;
}

// Indexes the whole shard, because a spec may be made from all of its records.
absl::StatusOr<Manifest> IndexShard(const std::string& path, const v1::DecodeSpec& spec) {
  IndexOptions index;
  PENSTOCK_ASSIGN_OR_RETURN(index.format, FormatOfShard(path, spec));
  index.output = (std::filesystem::path(path).parent_path() / kManifestName).string();
  index.in_memory = true;
  index.verify = true;
  PENSTOCK_ASSIGN_OR_RETURN(IndexResult result, BuildIndexWithProgress({path}, index));
  if (result.damage.empty()) return std::move(result.manifest);
  const DamagedRange& damage = result.damage.listed().front();
  return absl::DataLossError(absl::StrCat(damage.file, ": record ", damage.record, " at offset ",
                                          damage.offset, ": ", damage.reason));
}

absl::StatusOr<std::shared_ptr<const Manifest>> OpenInput(const std::string& path,
                                                          const LoaderOptions& options) {
  PENSTOCK_RETURN_IF_ERROR(CheckFilesExist(path));
  std::error_code ignored;  // After an error, opening the file fails too.
  if (std::filesystem::is_directory(path, ignored)) return OpenManifestArgument(path, options);
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<FileSource> source, FileSource::Open(path));
  PENSTOCK_ASSIGN_OR_RETURN(const bool is_manifest, IsManifestFile(*source));
  if (is_manifest) return OpenManifestArgument(path, options);
  PENSTOCK_ASSIGN_OR_RETURN(Manifest manifest, IndexShard(path, options.spec.message()));
  return std::make_shared<const Manifest>(std::move(manifest));
}

// Returns the number of rows that are decoded at once.
uint64_t BatchRows(std::span<const TensorInfo> tensors) {
  constexpr uint64_t kBatchBytes = uint64_t{8} << 20;
  uint64_t row_bytes = 1;
  for (const TensorInfo& tensor : tensors) row_bytes += tensor.row_bytes;
  return std::clamp<uint64_t>(kBatchBytes / row_bytes, 1, 1024);
}

// Makes the options for reading all records in file order, in this process.
absl::StatusOr<LoaderOptions> MakeLoaderOptions(const DecodeFlags& flags) {
  LoaderOptions options;
  options.messages_name_flags = true;
  PENSTOCK_ASSIGN_OR_RETURN(options.dtype, ParseWireDtype(flags.dtype));
  PENSTOCK_ASSIGN_OR_RETURN(options.plan.split, ParseSplit(flags.split));
  PENSTOCK_ASSIGN_OR_RETURN(options.spec, LoadNamedSpec(flags.spec));
  options.plan.seed = flags.seed;
  options.plan.shuffle = false;
  options.remainder = Remainder::kShort;
  options.report = [](absl::string_view line) { PrintEscaped(stderr, "penstock: %s\n", line); };
  PENSTOCK_ASSIGN_OR_RETURN(options.manifest, OpenInput(flags.input, options));
  PENSTOCK_RETURN_IF_ERROR(ChooseSpecOf(options, flags.dtype));
  return options;
}

absl::Status WriteRows(Loader& loader, uint64_t rows, ArrayFiles& arrays, Progress& progress) {
  Batch batch;
  while (rows > 0) {
    PENSTOCK_ASSIGN_OR_RETURN(const bool more, loader.Next(batch));
    PENSTOCK_RETURN_IF_ERROR(InterruptGuard::Check());
    if (!more) return absl::InternalError("the rows ended early");
    const uint64_t taken = std::min<uint64_t>(rows, batch.rows());
    PENSTOCK_RETURN_IF_ERROR(arrays.Append(batch.tensors(), taken));
    progress.Add(taken);
    rows -= taken;
  }
  return absl::OkStatus();
}

// Refuses an .npy file, which has one array, because a spec can have several tensors.
absl::Status CheckOutput(absl::string_view output) {
  absl::string_view name = output;
  if (!absl::ConsumeSuffix(&name, ".npy")) return absl::OkStatus();
  return UsageError(absl::StrCat("-o ", output, ": a file .npy has one array: give a folder (-o ",
                                 name, ") or one file for all arrays (-o ", name, ".npz)"));
}

absl::Status CheckFlags(const DecodeFlags& flags) {
  PENSTOCK_RETURN_IF_ERROR(CheckFilesArgument(
      flags.input, "decode",
      absl::StrCat("penstock stream ", flags.input,
                   " --servers LIST --npy DIR writes the batches as NumPy arrays")));
  PENSTOCK_RETURN_IF_ERROR(CheckOutput(flags.output));
  return absl::EndsWith(flags.output, ".npz") ? CheckWritable("-o", flags.output)
                                              : CheckFolderWritable("-o", flags.output);
}

absl::Status Decode(const DecodeFlags& flags) {
  PENSTOCK_RETURN_IF_ERROR(CheckFlags(flags));
  PENSTOCK_ASSIGN_OR_RETURN(LoaderOptions options, MakeLoaderOptions(flags));
  PENSTOCK_ASSIGN_OR_RETURN(const Program program,
                            Program::Compile(options.spec.message(), options.dtype));
  const uint64_t all = options.manifest->num_records(options.plan.split);
  PENSTOCK_ASSIGN_OR_RETURN(const Range range, ParseRange(flags.records, all));
  options.global_batch_size = BatchRows(program.tensors());
  if (range.begin > 0) {
    PENSTOCK_ASSIGN_OR_RETURN(const Plan plan, MakePlan(options));
    options.start = Cursor{plan.fingerprint(), 0, range.begin};
  }
  InterruptGuard interrupts;
  PENSTOCK_ASSIGN_OR_RETURN(ArrayFiles arrays,
                            ArrayFiles::Create(flags.output, flags.force, program.tensors()));
  if (range.end > range.begin) {
    PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<Loader> loader, Loader::Open(options));
    PENSTOCK_ASSIGN_OR_RETURN(const auto close, CloseOnInterrupt::Start(*loader));
    Progress progress({.label = "decoding", .total = range.end - range.begin});
    PENSTOCK_RETURN_IF_ERROR(WriteRows(*loader, range.end - range.begin, arrays, progress));
    progress.Finish(absl::StrCat("arrays in ", flags.output));
  }
  return arrays.Finish();
}

}  // namespace

void AddDecodeCommand(CLI::App& app, absl::Status& outcome) {
  CLI::App& command = AddCommand(
      app, "decode",
      "Decode records in file order to NumPy arrays. It writes an array for each tensor: planes, "
      "flags and score of chess records; with --dtype packed the features' own bytes, d and s.",
      "penstock decode data -o arrays\n"
      "penstock decode data --records 0:1000 --split holdout -o holdout.npz\n"
      "penstock decode data/chess-00000-of-00004.tfrecord --spec chess \\\n"
      "    --dtype f32 -o arrays");
  command.group("Look at data");
  auto flags = std::make_shared<DecodeFlags>();
  command
      .add_option("manifest,--manifest", flags->input, "Dataset to read: DIR, MANIFEST or SHARD")
      ->type_name("DATASET")
      ->default_str("");
  command
      .add_option("-o,--output", flags->output,
                  "Folder for NAME.npy of each tensor, made if need be, or one file FILE.npz")
      ->type_name("PATH")
      ->required();
  command.add_option("--split", flags->split, "Split to read")
      ->check(CLI::IsMember({"train", "holdout", "all"}))
      ->type_name("SPLIT");
  command
      .add_option("--records", flags->records,
                  "Records of the split, counted from 0: 7, :10, or 100:200 for 100 to 199; empty: "
                  "all")
      ->type_name("RANGE");
  command.add_flag("--force", flags->force, "Replace existing files");
  command.option_defaults()->group("Decoding");
  command
      .add_option("--spec", flags->spec,
                  "Decode spec: chess, images-train, images-eval or a textproto file; empty: "
                  "chosen from the "
                  "data")
      ->type_name("SPEC");
  command
      .add_option("--dtype", flags->dtype,
                  "Type of expanded bits, such as chess planes; f64 applies to floats too, and "
                  "integers keep their type")
      ->check(CLI::IsMember({"packed", "i8", "f32", "f64"}))
      ->type_name("DTYPE");
  command.add_option("--seed", flags->seed,
                     "Seed of random image operations, which are those of epoch 0");
  OnRun(command, outcome, [flags] { return Decode(*flags); });
}

}  // namespace penstock
