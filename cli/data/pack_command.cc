// penstock pack: positions as text to shards of chess records.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/byte_size.h"
#include "base/flags/number_flags.h"
#include "base/json_text.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "cli/chess/chess_packer.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"
#include "nlohmann/json.hpp"

namespace penstock {
namespace {

struct PackOptions {
  std::string from = "chess-tsv";
  std::vector<std::string> inputs;
  std::string compression = "none";
  ShardOptions shards;
  bool skip_invalid = false;
  bool json = false;
};

std::string DefaultName(const std::string& input) {
  return input == "-" ? "positions" : std::filesystem::path(input).stem().string();
}

// 0, that is unknown, if any input has no size (a pipe).
uint64_t TotalBytes(const std::vector<std::string>& inputs) {
  uint64_t total = 0;
  for (const std::string& input : inputs) {
    std::error_code error;
    if (input == "-" || !std::filesystem::is_regular_file(input, error)) return 0;
    total += std::filesystem::file_size(input, error);
    if (error) return 0;
  }
  return total;
}

void PrintJson(const ReadPositionsResult& read, const WrittenShards& written,
               const PackOptions& options) {
  nlohmann::json summary = {{"records", read.positions.size()},
                            {"skipped", read.num_skipped},
                            {"bytes", written.bytes},
                            {"compression", options.compression},
                            {"shards", written.paths}};
  if (written.chunk_bytes > 0) summary["chunk_bytes"] = written.chunk_bytes;
  PrintEscaped(stdout, "%s\n", Multiline(JsonText(summary, 2)));
}

std::string Summary(const WrittenShards& written) {
  std::string text = absl::StrCat("as ", written.paths.front());
  if (written.paths.size() > 1) absl::StrAppend(&text, " to ", written.paths.back());
  return absl::StrCat(text, ", ", FormatByteSize(written.bytes));
}

absl::StatusOr<ReadPositionsResult> Read(const PackOptions& options) {
  Progress progress({.label = "reading", .unit = "bytes", .total = TotalBytes(options.inputs)});
  PENSTOCK_ASSIGN_OR_RETURN(ReadPositionsResult read,
                            ReadPositions(options.inputs, options.skip_invalid,
                                          [&](uint64_t bytes) { progress.Add(bytes); }));
  progress.Finish(absl::StrCat(read.positions.size(), " positions"));
  return read;
}

absl::Status Pack(PackOptions options) {
  ShardOptions& shards = options.shards;
  if (shards.name.empty()) shards.name = DefaultName(options.inputs[0]);
  if (shards.name.empty() || shards.name[0] == '.' || absl::StrContains(shards.name, "/")) {
    return UsageError(absl::StrCat("--name '", shards.name,
                                   "' is not a plain file name; choose one such as 'chess'"));
  }
  PENSTOCK_ASSIGN_OR_RETURN(shards.compression, ParseCompression(options.compression));

  PENSTOCK_RETURN_IF_ERROR(CheckOutput(shards));
  InterruptGuard interrupts;
  PENSTOCK_ASSIGN_OR_RETURN(const ReadPositionsResult read, Read(options));
  if (read.num_skipped > 0) {
    PrintEscaped(stderr, "penstock: skipped %s invalid lines, the first at %s\n",
                 absl::StrCat(read.num_skipped), read.first_skipped);
  }
  if (read.positions.size() == 0) {
    return absl::InvalidArgumentError("no position to pack: the input is empty");
  }
  Progress progress({.label = "packing", .total = read.positions.size()});
  PENSTOCK_ASSIGN_OR_RETURN(
      const WrittenShards written,
      WriteShards(read.positions, shards, [&](uint64_t count) { progress.Add(count); }));
  progress.Finish(Summary(written));
  if (options.json) PrintJson(read, written, options);
  return absl::OkStatus();
}

}  // namespace

void AddPackCommand(CLI::App& app, absl::Status& outcome) {
  CLI::App& command = AddCommand(
      app, "pack",
      "Write TFRecord shards DIR/NAME-00000-of-00004.tfrecord of chess records from lines of\n"
      "FEN<TAB>score: +36, -68, 0 are centipawns from White's view; #+5, #-3 mate in 5 by White,\n"
      "in 3 by Black; #+0, #-0 mate on the board. All positions are held in memory, 212 bytes\n"
      "each. Shards get their names only when all are complete.",
      "penstock pack --from chess-tsv positions.tsv -o data --compression zstd --seed 1");
  auto options = std::make_shared<PackOptions>();
  ShardOptions& shards = options->shards;
  command.add_option("--from", options->from, "Format of the input")
      ->check(CLI::IsMember({"chess-tsv"}));
  command.add_option("inputs", options->inputs, "Files to read; - is standard input")
      ->required()
      ->default_str("");
  command.add_option("-o,--output", shards.folder, "Folder to write to, made if need be")
      ->required();
  command.add_option("--name", shards.name, "NAME of the shards; empty: the first input's");
  command
      .add_option("--records-per-shard", shards.records_per_shard,
                  "0: at most 1048576, and at least 4 shards unless there is little")
      ->check(WholeNumber());
  command
      .add_option("--compression", options->compression,
                  "One gzip member or zstd frame a chunk, so that ranges can be read")
      ->check(CLI::IsMember({"none", "gzip", "zstd"}));
  command.add_option("--seed", shards.seed,
                     "Shuffle all records by this seed; absent: input order");
  command.add_flag("--skip-invalid", options->skip_invalid,
                   "Leave invalid lines out and count them, instead of stopping at the first");
  command.add_flag("--force", shards.force, "Replace existing shards of this name");
  command.add_flag("--json", options->json, "Print a summary as JSON to standard output");
  OnRun(command, outcome, [options] { return Pack(*options); });
}

}  // namespace penstock
