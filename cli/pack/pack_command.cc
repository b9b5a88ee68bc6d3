// penstock pack: writes records of other files as shards.
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/flags/json_flag.h"
#include "base/flags/number_flags.h"
#include "base/flags/path_flags.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/pack/pack_inputs.h"
#include "cli/pack/pack_options.h"
#include "records/dataset/list_shards.h"

namespace penstock {
namespace {

constexpr absl::string_view kKinds[] = {"npy", "npz", "csv", "jsonl"};

// Returns the kind that the first input's name suggests.
std::string KindOf(const PackOptions& options) {
  const std::string& input = options.inputs[0];
  std::error_code ignored;  // After an error, opening the folder fails too.
  if (options.inputs.size() == 1 && std::filesystem::is_directory(input, ignored)) return "folder";
  if (IsShardName(input)) return "tfrecord";
  absl::string_view name = input;
  if (!absl::ConsumeSuffix(&name, ".gz")) absl::ConsumeSuffix(&name, ".zst");
  for (const absl::string_view kind : kKinds) {
    if (absl::EndsWith(name, absl::StrCat(".", kind))) return std::string(kind);
  }
  return "chess-tsv";
}

absl::Status CheckOptions(const PackOptions& options, bool shrinks) {
  if (shrinks && options.from != "folder") {
    return UsageError("--max-side and --quality need --from folder");
  }
  const bool gathered = options.from != "folder" && options.from != "chess-tsv";
  if (!options.filter_missing.empty() && !gathered) {
    return UsageError("--filter-missing cannot be used with --from folder or chess-tsv");
  }
  if (!options.columns.empty() && (!gathered || options.from == "tfrecord")) {
    return UsageError("--columns needs --from csv, jsonl, npy or npz");
  }
  if (!options.glob.empty() && options.from != "tfrecord") {
    return UsageError("--glob needs --from tfrecord");
  }
  return absl::OkStatus();
}

absl::Status CheckInputs(const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    if (input == "-") continue;
    PENSTOCK_RETURN_IF_ERROR(
        CheckExists("INPUTS", input, "give files, or one folder of images or shards"));
  }
  return absl::OkStatus();
}

absl::Status Pack(PackOptions options, bool shrinks) {
  if (options.from.empty()) options.from = KindOf(options);
  PENSTOCK_RETURN_IF_ERROR(CheckOptions(options, shrinks));
  PENSTOCK_RETURN_IF_ERROR(CheckInputs(options.inputs));
  if (options.from == "folder") return PackFolder(std::move(options));
  if (options.from == "tfrecord") return PackShards(std::move(options));
  if (options.from == "csv" || options.from == "jsonl") return PackTables(std::move(options));
  if (options.from == "npy" || options.from == "npz") return PackArrays(std::move(options));
  return PackPositions(std::move(options));
}

// If the run fails, removes the folder that it made, if that is empty.
absl::Status PackOrRemoveFolder(const PackOptions& options, bool shrinks) {
  std::error_code ignored;  // A folder that is not visible cannot be removed either.
  const bool was_there = std::filesystem::exists(options.shards.folder, ignored);
  const absl::Status status = Pack(options, shrinks);
  if (!status.ok() && !was_there) std::filesystem::remove(options.shards.folder, ignored);
  return status;
}

}  // namespace

void AddPackCommand(CLI::App& app, absl::Status& outcome) {
  CLI::App& command = AddCommand(
      app, "pack",
      "Write shards from images, tables, arrays or positions. The shards are named "
      "DIR/NAME-00000-of-00004.tfrecord, and get these names only when all are complete. The same "
      "command continues where a run was stopped, except from chess-tsv. "
      "docs/reference/commands.md describes each kind of input.",
      "penstock pack photos -o data --seed 1 --max-side 256\n"
      "penstock pack --from tfrecord old/*.gz -o data --compression zstd\n"
      "penstock pack products.csv -o data --columns id:int64,price:float,name\n"
      "penstock pack images.npy labels.npy -o data --name train\n"
      "penstock pack --from chess-tsv positions.tsv -o data --seed 1",
      "Files:\n"
      "  DIR/NAME-00000-of-00004.tfrecord: A shard; --compression adds .gz or .zst.\n"
      "  DIR/manifest.pb: Their manifest.");
  command.group("Make data");
  auto options = std::make_shared<PackOptions>();
  ShardOptions& shards = options->shards;
  command
      .add_option(
          "inputs", options->inputs,
          "Files to read, or one folder (folder, tfrecord); - is standard input (chess-tsv)")
      ->required()
      ->default_str("");
  command.add_option("-o,--output", shards.folder, "Folder to write to, made if need be")
      ->type_name("DIR")
      ->required();
  command
      .add_option(
          "--from", options->from,
          "Kind of input; empty: folder for a folder, else by the ending of the first file, "
          "else chess-tsv")
      ->check(CLI::IsMember({"chess-tsv", "csv", "folder", "jsonl", "npy", "npz", "tfrecord"}))
      ->type_name("KIND");
  command.add_option("--name", shards.name, "NAME of the shards; empty: the first input's")
      ->type_name("NAME");
  command.add_option("--seed", shards.seed,
                     "Shuffle all records by this seed; absent: keep the order of the input");
  command.add_flag("--skip-invalid", shards.skip_invalid,
                   "Leave out, count and list invalid lines, images or records instead of stopping "
                   "at the first");
  command.add_flag("--force", shards.force, "Replace existing shards of this name");
  command.option_defaults()->group("Data");
  command
      .add_option("--filter-missing", options->filter_missing,
                  "Leave out and count records without this feature; repeat it for more (not "
                  "folder, chess-tsv)")
      ->allow_extra_args(false)
      ->type_name("FEATURE")
      ->default_str("");
  command
      .add_option(
          "--columns", options->columns,
          "Columns, keys or arrays to pack, NAME or NAME:TYPE,... with TYPE int64, float or "
          "bytes; empty: all (csv, jsonl, npy, npz)")
      ->type_name("LIST");
  command
      .add_option(
          "--glob", options->glob,
          "Pattern of the shards' names in folders, such as '*.bin'; empty: *.tfrecord*, or "
          "*.tar, or part-00000 (tfrecord)")
      ->type_name("PATTERN");
  command.option_defaults()->group("Images");
  CLI::Option* max_side =
      command
          .add_option("--max-side", options->shrink.max_side,
                      "Store larger images as JPEG with this longer side; 0: all as they are")
          ->check(WholeNumber(0, ShrinkOptions::kMostSide))
          ->type_name("PIXELS");
  CLI::Option* quality =
      command
          .add_option("--quality", options->shrink.quality, "Quality of the JPEGs of --max-side")
          ->check(WholeNumber(1, 100));
  command.option_defaults()->group("Output");
  command
      .add_option("--compression", options->compression,
                  "Compression of each chunk by itself, so that ranges can be read; encoded images "
                  "get no smaller")
      ->check(CLI::IsMember({"none", "gzip", "zstd"}))
      ->type_name("FORMAT");
  AddJsonFlag(command, options->json, "Write the result");
  command.option_defaults()->group("Tuning");
  command
      .add_option("--records-per-shard", shards.records_per_shard,
                  "Records of a shard; 0: at most 1048576 and about 256 MiB, and at least 4 shards "
                  "unless there is little data")
      ->check(WholeNumber());
  command
      .add_option("--threads", shards.threads,
                  "Number of shards to write at the same time, without effect on their content; "
                  "0: one per core")
      ->check(WholeNumber(0, 1024));
  OnRun(command, outcome, [options, max_side, quality] {
    return PackOrRemoveFolder(*options, max_side->count() + quality->count() > 0);
  });
}

}  // namespace penstock
