// penstock pack --from chess-tsv.
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/chess/chess_packer.h"
#include "cli/pack/pack_inputs.h"
#include "cli/pack/pack_output.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"
#include "nlohmann/json.hpp"

namespace penstock {
namespace {

std::string InputName(const std::string& input) {
  return input == "-" ? "positions" : std::filesystem::path(input).stem().string();
}

// Returns 0, which means unknown, if any input has no size (a pipe).
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

absl::StatusOr<ReadPositionsResult> Read(const PackOptions& options) {
  Progress progress({.label = "reading", .unit = "bytes", .total = TotalBytes(options.inputs)});
  PENSTOCK_ASSIGN_OR_RETURN(ReadPositionsResult read,
                            ReadPositions(options.inputs, options.shards.skip_invalid,
                                          [&](uint64_t bytes) { progress.Add(bytes); }));
  progress.Finish(Counted(read.positions.size(), "position", "positions"));
  return read;
}

}  // namespace

absl::Status PackPositions(PackOptions options) {
  PENSTOCK_RETURN_IF_ERROR(PrepareOutput(InputName(options.inputs[0]), options));
  InterruptGuard interrupts;
  PENSTOCK_ASSIGN_OR_RETURN(const ReadPositionsResult read, Read(options));
  if (read.num_skipped > 0) {
    PrintEscaped(stderr, "penstock: skipped %s, the first at %s\n",
                 Counted(read.num_skipped, "invalid line", "invalid lines"), read.first_skipped);
  }
  if (read.positions.size() == 0) {
    return absl::InvalidArgumentError("no position to pack: the input is empty");
  }
  PENSTOCK_ASSIGN_OR_RETURN(const WrittenShards written,
                            WriteWithProgress(PositionRecords(read.positions), options, "records"));
  return WriteSummary(written, options, {{"skipped", read.num_skipped}});
}

}  // namespace penstock
