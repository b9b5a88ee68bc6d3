#include "trainer/app/commands.h"

#include <filesystem>
#include <map>
#include <system_error>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/flags/path_flags.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "base/text.h"
#include "trainer/app/restore.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/safetensors.h"

namespace penstock {
namespace {

std::map<std::string, std::string> Metadata(const CheckpointInfo& info) {
  std::map<std::string, std::string> metadata = {
      {"format", "pt"},  // Readers of PyTorch's weights look for this.
      {"model", info.model.name},
      {"layers", absl::StrCat(info.model.layers)},
      {"dim", absl::StrCat(info.model.dim)},
      {"heads", absl::StrCat(info.model.heads)},
      {"hidden", absl::StrCat(info.model.hidden)},
      {"step", absl::StrCat(info.step)},
      {"penstock", info.version}};
  if (info.model.attention_bias) metadata["attention_bias"] = "true";
  if (!info.model.is_image()) return metadata;
  metadata["side"] = absl::StrCat(info.model.side);
  metadata["patch"] = absl::StrCat(info.model.patch);
  metadata["classes"] = absl::StrCat(info.model.classes);
  metadata["mean"] = ChannelsText(info.model.pixels.mean);
  metadata["std"] = ChannelsText(info.model.pixels.deviation);
  return metadata;
}

// Refuses to overwrite files that trainings write, so that a typing error cannot destroy one.
absl::Status CheckTarget(const ExportOptions& options) {
  std::error_code none;
  if (!absl::EndsWith(options.output, ".ckpt") &&
      !std::filesystem::equivalent(options.checkpoint, options.output, none)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("-o ", options.output,
                   " names a checkpoint; give a file of weights, such as weights.safetensors"));
}

}  // namespace

void AddExportOptions(CLI::App& app, ExportOptions& options) {
  app.add_option("--checkpoint", options.checkpoint, "Checkpoint to read")
      ->type_name("FILE")
      ->required();
  app.add_option("-o,--output", options.output, "Safetensors file to write")
      ->type_name("FILE")
      ->required();
  app.footer(
      "Example:\n"
      "  penstock-train export --checkpoint checkpoints/best.ckpt \\\n"
      "      -o weights.safetensors");
}

absl::Status RunExport(const ExportOptions& options) {
  PENSTOCK_RETURN_IF_ERROR(CheckTarget(options));
  PENSTOCK_RETURN_IF_ERROR(CheckWritable("-o", options.output));
  PENSTOCK_ASSIGN_OR_RETURN(const Checkpoint checkpoint, LoadNamedCheckpoint(options.checkpoint));
  const ParameterTable table = ParameterTable::For(checkpoint.info.model);
  PENSTOCK_RETURN_IF_ERROR(WriteSafetensors(options.output, table, checkpoint.state.parameters,
                                            Metadata(checkpoint.info)));
  PrintEscaped(stdout, "%s: model %s after step %d, %s parameters in %d tensors\n", options.output,
               checkpoint.info.model.name, checkpoint.info.step, Grouped(table.parameter_count()),
               table.parameters().size());
  return absl::OkStatus();
}

}  // namespace penstock
