// penstock pack: writes images or positions from other files as shards.
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/flags/json_flag.h"
#include "base/flags/number_flags.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/pack/pack_inputs.h"
#include "cli/pack/pack_options.h"
#include "records/dataset/list_shards.h"

namespace penstock {
namespace {

constexpr absl::string_view kKinds[] = {"npy", "npz", "csv", "jsonl"};

// The kind that the first input's name stands for.
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
    return UsageError("--max-side and --quality are for --from folder");
  }
  const bool gathered = options.from != "folder" && options.from != "chess-tsv";
  if (!options.filter_missing.empty() && !gathered) {
    return UsageError("--filter-missing is not for --from folder and chess-tsv");
  }
  if (!options.columns.empty() && options.from != "csv" && options.from != "jsonl") {
    return UsageError("--columns is for --from csv and jsonl");
  }
  return absl::OkStatus();
}

absl::Status Pack(PackOptions options, bool shrinks) {
  if (options.from.empty()) options.from = KindOf(options);
  PENSTOCK_RETURN_IF_ERROR(CheckOptions(options, shrinks));
  if (options.from == "folder") return PackFolder(std::move(options));
  if (options.from == "tfrecord") return PackShards(std::move(options));
  if (options.from == "csv" || options.from == "jsonl") return PackTables(std::move(options));
  if (options.from == "npy" || options.from == "npz") return PackArrays(std::move(options));
  return PackPositions(std::move(options));
}

// A run that fails removes the folder that it made, if that is empty.
absl::Status PackOrRemoveFolder(const PackOptions& options, bool shrinks) {
  std::error_code ignored;  // A folder that cannot be seen cannot be removed either.
  const bool was_there = std::filesystem::exists(options.shards.folder, ignored);
  const absl::Status status = Pack(options, shrinks);
  if (!status.ok() && !was_there) std::filesystem::remove(options.shards.folder, ignored);
  return status;
}

}  // namespace

void AddPackCommand(CLI::App& app, absl::Status& outcome) {
  CLI::App& command = AddCommand(
      app, "pack",
      "Write TFRecord shards DIR/NAME-00000-of-00004.tfrecord. Shards get their names only when "
      "all\n"
      "are complete. The same command goes on where a run was stopped, except from chess-tsv.\n"
      "--from folder packs images, CLASS/NAME.jpg beneath one folder: the features image/encoded,\n"
      "image/class/label, image/class/text and image/filename, and classes.txt beside the shards.\n"
      "--from tfrecord packs the records of other shards, also of files that index refuses: a "
      "gzip\n"
      "member or zstd frame of any size. It reads the input twice, and holds 20 bytes a record in\n"
      "memory. Compressed files are decompressed to a temporary file in the output folder.\n"
      "--from csv packs rows below a line of names (RFC 4180), --from jsonl a JSON object a line:\n"
      "each column or key is a feature of int64, float or bytes. Empty cells, null and [] are no\n"
      "feature. The first 1,000 rows decide the types, or --columns.\n"
      "--from npz packs the rows of NumPy arrays, each array a feature; --from npy the rows of "
      "files\n"
      "with as many rows each, each file a feature. Rows of uint8 images become bytes.\n"
      "Memory is the same as from tfrecord; all records are copied to the temporary file.\n"
      "--from chess-tsv packs lines of FEN<TAB>score: +36, -68, 0 are centipawns from White's "
      "view;\n"
      "#+5, #-3 mate in 5 by White, in 3 by Black; #+0, #-0 mate on the board. All positions are\n"
      "held in memory, 212 bytes each.",
      "penstock pack photos -o data --seed 1 --max-side 256\n"
      "penstock pack --from tfrecord old/*.tfrecord.gz -o data --compression zstd\n"
      "penstock pack products.csv -o data --columns id:int64,price:float,name --seed 1\n"
      "penstock pack images.npy labels.npy -o data --name train\n"
      "penstock pack --from chess-tsv positions.tsv -o data --compression zstd --seed 1");
  auto options = std::make_shared<PackOptions>();
  ShardOptions& shards = options->shards;
  command
      .add_option(
          "--from", options->from,
          "Kind of input; empty: folder of a folder, of files by the ending of the first, which "
          "may have .gz or .zst behind it, else chess-tsv")
      ->check(CLI::IsMember({"chess-tsv", "csv", "folder", "jsonl", "npy", "npz", "tfrecord"}));
  command
      .add_option("inputs", options->inputs,
                  "Files to read; the folder of the class folders, or of shards; chess-tsv: - is "
                  "standard input")
      ->required()
      ->default_str("");
  command.add_option("-o,--output", shards.folder, "Folder to write to, made if need be")
      ->required();
  command.add_option("--name", shards.name, "NAME of the shards; empty: the first input's");
  command
      .add_option("--records-per-shard", shards.records_per_shard,
                  "0: at most 1048576 and about 256 MiB, and at least 4 shards unless there is "
                  "little")
      ->check(WholeNumber());
  command
      .add_option("--compression", options->compression,
                  "One gzip member or zstd frame a chunk, so that ranges can be read; encoded "
                  "images get no smaller")
      ->check(CLI::IsMember({"none", "gzip", "zstd"}));
  command.add_option("--seed", shards.seed,
                     "Shuffle all records by this seed; absent: input order, of a folder sorted by "
                     "class");
  command
      .add_option("--filter-missing", options->filter_missing,
                  "Leave out records that lack this feature, and count them; given several times, "
                  "those that lack any (not folder, chess-tsv)")
      ->allow_extra_args(false)
      ->default_str("");
  command.add_option("--columns", options->columns,
                     "NAME:TYPE,... of the columns or keys to pack, TYPE int64, float or bytes, or "
                     "without :TYPE by the first rows; empty: all (csv, jsonl)");
  CLI::Option* max_side =
      command
          .add_option("--max-side", options->shrink.max_side,
                      "Store larger images as JPEG whose longer side has this many pixels; 0: all "
                      "as they are")
          ->check(WholeNumber(0, ShrinkOptions::kMostSide));
  CLI::Option* quality =
      command.add_option("--quality", options->shrink.quality, "The quality of those JPEGs")
          ->check(WholeNumber(1, 100));
  command
      .add_option("--threads", shards.threads,
                  "Shards written at a time, which changes none of them; 0: one a core")
      ->check(WholeNumber(0, 1024));
  command.add_flag("--skip-invalid", shards.skip_invalid,
                   "Leave invalid lines, images or records out, count and list them, instead of "
                   "stopping at the first");
  command.add_flag("--force", shards.force, "Replace existing shards of this name");
  AddJsonFlag(command, options->json, "Write a summary");
  OnRun(command, outcome, [options, max_side, quality] {
    return PackOrRemoveFolder(*options, max_side->count() + quality->count() > 0);
  });
}

}  // namespace penstock
