#include "cli/pack/pack_output.h"

#include <cstdio>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/byte_size.h"
#include "base/flags/json_flag.h"
#include "base/flags/path_flags.h"
#include "base/json_text.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/terminal/progress.h"
#include "nlohmann/json.hpp"

namespace penstock {
namespace {

// Returns "as data/a-00000-of-00002.tfrecord to data/a-00001-of-00002.tfrecord, 1.5 MiB".
std::string Placed(const WrittenShards& written) {
  std::string text = absl::StrCat("as ", written.paths.front());
  if (written.paths.size() > 1) absl::StrAppend(&text, " to ", written.paths.back());
  return absl::StrCat(text, ", ", FormatByteSize(written.bytes));
}

}  // namespace

absl::Status PrepareOutput(const std::string& default_name, PackOptions& options) {
  ShardOptions& shards = options.shards;
  if (shards.name.empty()) shards.name = default_name;
  if (shards.name.empty() || shards.name[0] == '.' || absl::StrContains(shards.name, "/")) {
    return UsageError(absl::StrCat("--name '", shards.name,
                                   "' is not a plain file name; choose one such as 'train'"));
  }
  PENSTOCK_ASSIGN_OR_RETURN(shards.compression, ParseCompression(options.compression));
  PENSTOCK_RETURN_IF_ERROR(CheckFolderWritable("-o", shards.folder));
  PENSTOCK_RETURN_IF_ERROR(CheckOutput(shards));
  // Last, because the file may be in the folder of the shards, which CheckOutput() has made.
  return CheckJsonFlag(options.json);
}

absl::StatusOr<WrittenShards> WriteWithProgress(
    const RecordSource& source, const PackOptions& options, const std::string& unit,
    const std::function<absl::Status()>& before_naming) {
  std::optional<Progress> progress;
  PackCallbacks callbacks;
  callbacks.on_discarded = [] {
    PrintEscaped(
        stderr,
        "penstock: removed the finished shards of an earlier, stopped run, which had other "
        "input or options\n");
  };
  callbacks.on_finished = [&](uint64_t shards, uint64_t records) {
    if (shards > 0) {
      PrintEscaped(stderr, "penstock: continuing an earlier run, which finished %s\n",
                   Counted(shards, "shard", "shards"));
    }
    progress.emplace(
        ProgressOptions{.label = "packing", .unit = unit, .total = source.size() - records});
  };
  callbacks.on_records = [&](uint64_t count) { progress->Add(count); };
  callbacks.before_naming = before_naming;
  PENSTOCK_ASSIGN_OR_RETURN(const WrittenShards written,
                            WriteShards(source, options.shards, callbacks));
  progress->Finish(Placed(written));
  return written;
}

absl::Status WriteSummary(const WrittenShards& written, const PackOptions& options,
                          const nlohmann::json& more) {
  if (options.json.empty()) return absl::OkStatus();
  nlohmann::json summary = {{"records", written.records},
                            {"bytes", written.bytes},
                            {"compression", options.compression},
                            {"shards", written.paths}};
  if (written.chunk_bytes > 0) summary["chunk_bytes"] = written.chunk_bytes;
  summary.update(more);
  return WriteJson(options.json, JsonText(summary, 2));
}

}  // namespace penstock
