// penstock inspect: what a manifest or a shard holds.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/byte_size.h"
#include "base/io/file_source.h"
#include "base/json_text.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/chess/score_histogram.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/data/board_text.h"
#include "cli/data/dataset_argument.h"
#include "cli/data/record_sample.h"
#include "cli/terminal/interrupt.h"
#include "nlohmann/json.hpp"
#include "records/chess/planes.h"
#include "records/dataset/record_check.h"
#include "records/format/feature_finder.h"

namespace penstock {
namespace {

struct InspectFlags {
  std::string input;
  uint64_t records = 100'000;
  bool json = false;
};

// What was learnt from the records themselves.
class RecordFacts {
 public:
  RecordFacts()
      : check_(*RecordCheck::Create({}, /*parse_records=*/false)),
        finder_(*FeatureFinder::Create(
            {{"d", FeatureType::kBytes, chess::kPlaneBytes}, {"s", FeatureType::kInt64, 1}})),
        found_(finder_.MakeFound()) {}

  absl::Status Add(const std::string& shard, const Record& record) {
    const bool chess = finder_.Find(record.payload, found_).ok();
    if (count_++ == 0) PENSTOCK_RETURN_IF_ERROR(DescribeFirst(shard, record, chess));
    bool held;
    PENSTOCK_RETURN_IF_ERROR(check_.Check(record.payload, held));
    if (chess) scores_.Add(found_.bytes[0], found_.ints[0]);
    return absl::OkStatus();
  }

  uint64_t count() const { return count_; }
  const std::string& first() const { return first_; }
  const ScoreHistogram& scores() const { return scores_; }
  std::vector<FeatureInfo> TakeFeatures() { return check_.TakeFeatures(); }

 private:
  absl::Status DescribeFirst(const std::string& shard, const Record& record, bool chess) {
    first_ = absl::StrCat(Escaped(shard), ", record ", record.number, ", ", record.payload.size(),
                          " bytes\n");
    if (!chess) return absl::OkStatus();
    PENSTOCK_ASSIGN_OR_RETURN(std::string board, DrawBoard(found_.bytes[0], found_.ints[0]));
    first_ += board;
    return absl::OkStatus();
  }

  RecordCheck check_;
  FeatureFinder finder_;
  FoundFeatures found_;
  uint64_t count_ = 0;
  std::string first_;
  ScoreHistogram scores_;
};

struct Report {
  std::string path;
  std::optional<Manifest> manifest;              // Else a shard.
  Compression compression = Compression::kNone;  // Of the shard.
  uint64_t bytes = 0;
  uint64_t records = 0;
  std::vector<FeatureInfo> features;
  RecordFacts facts;
};

std::string Lengths(const FeatureInfo& feature) {
  std::string range = absl::StrCat(feature.min_length);
  if (feature.max_length != feature.min_length) absl::StrAppend(&range, "-", feature.max_length);
  return range;
}

std::string CompressionsOf(const Manifest& manifest) {
  std::vector<std::string> names;
  for (Compression value : {Compression::kNone, Compression::kGzip, Compression::kZstd}) {
    const auto count =
        std::count_if(manifest.shards().begin(), manifest.shards().end(),
                      [value](const ShardInfo& shard) { return shard.compression == value; });
    if (count > 0) names.push_back(absl::StrCat(CompressionName(value), " ", count));
  }
  return names.empty() ? "none 0" : absl::StrJoin(names, ", ");
}

// What --exclude-corrupt left out.
struct Excluded {
  uint64_t records = 0;  // At least.
  uint64_t bytes = 0;
};

Excluded ExcludedFrom(const Manifest& manifest) {
  Excluded excluded;
  for (const ShardInfo& shard : manifest.shards()) {
    excluded.records += shard.excluded_records;
    if (shard.excluded_records > 0) excluded.bytes += shard.size;
  }
  for (size_t i = 0; i < manifest.num_chunks(); ++i) {
    const ChunkInfo chunk = manifest.chunk(i);
    if (manifest.shards()[chunk.shard].excluded_records > 0) excluded.bytes -= chunk.size;
  }
  return excluded;
}

void PrintManifest(const Manifest& manifest) {
  uint32_t smallest = ~0u, largest = 0;
  for (size_t i = 0; i < manifest.num_chunks(); ++i) {
    smallest = std::min(smallest, manifest.chunk_bytes(i));
    largest = std::max(largest, manifest.chunk_bytes(i));
  }
  PrintEscaped(stdout, "shards    %d (compression: %s)\n", manifest.shards().size(),
               CompressionsOf(manifest));
  if (manifest.num_chunks() > 0) {
    PrintEscaped(stdout, "chunks    %d of %s to %s\n", manifest.num_chunks(),
                 FormatByteSize(smallest), FormatByteSize(largest));
  }
  if (manifest.holdout().threshold > 0) {
    PrintEscaped(stdout, "holdout   %d records by the hash of '%s', %.4g %% asked for\n",
                 manifest.num_records(Split::kHoldout), manifest.holdout().feature,
                 100 * static_cast<double>(manifest.holdout().threshold) * 0x1p-32);
  }
  if (const Excluded excluded = ExcludedFrom(manifest); excluded.records > 0) {
    PrintEscaped(stdout, "excluded  %d damaged bytes (%s) with at least %s\n", excluded.bytes,
                 FormatByteSize(excluded.bytes), Counted(excluded.records, "record", "records"));
  }
  PrintEscaped(stdout, "content   %016x\n", manifest.content_fingerprint());
}

void PrintText(const Report& report) {
  PrintEscaped(stdout, "%s: %s\n", report.path,
               report.manifest ? "manifest"
                               : absl::StrCat("TFRecord shard, compression ",
                                              CompressionName(report.compression)));
  PrintEscaped(stdout, "records   %d\nbytes     %d (%s)\n", report.records, report.bytes,
               FormatByteSize(report.bytes));
  if (report.manifest) PrintManifest(*report.manifest);
  for (const FeatureInfo& feature : report.features) {
    PrintEscaped(stdout, "feature   %s: %s, %s %s\n", feature.name, feature.type,
                 feature.type == "bytes" ? "length" : "values", Lengths(feature));
  }
  if (report.facts.count() > 0)
    PrintEscaped(stdout, "\nfirst     %s", Multiline(report.facts.first()));
  const ScoreHistogram& scores = report.facts.scores();
  if (scores.total() == 0) return;
  PrintEscaped(stdout, "\nscores of %d of %d records\n%s", scores.total(), report.records,
               Multiline(scores.ToText()));
}

void PrintJson(const Report& report) {
  nlohmann::json out = {{"path", report.path},
                        {"kind", report.manifest ? "manifest" : "shard"},
                        {"records", report.records},
                        {"bytes", report.bytes},
                        {"first_record", report.facts.first()}};
  out["features"] = nlohmann::json::array();
  for (const FeatureInfo& feature : report.features) {
    out["features"].push_back({{"name", feature.name},
                               {"type", feature.type},
                               {"min_length", feature.min_length},
                               {"max_length", feature.max_length}});
  }
  if (report.manifest) {
    const Manifest& manifest = *report.manifest;
    out["shards"] = manifest.shards().size();
    out["chunks"] = manifest.num_chunks();
    out["holdout_records"] = manifest.num_records(Split::kHoldout);
    const Excluded excluded = ExcludedFrom(manifest);
    out["excluded_records"] = excluded.records;
    out["excluded_bytes"] = excluded.bytes;
    out["content"] = absl::StrFormat("%016x", manifest.content_fingerprint());
  } else {
    out["compression"] = std::string(CompressionName(report.compression));
  }
  if (const ScoreHistogram& scores = report.facts.scores(); scores.total() > 0) {
    nlohmann::json rows = nlohmann::json::array();
    for (const auto& row : scores.rows())
      rows.push_back({{"score", row.label}, {"count", row.count}});
    out["scores"] = {{"records", scores.total()},
                     {"mates_stored_as_zero", scores.mates_stored_as_zero()},
                     {"histogram", rows}};
  }
  PrintEscaped(stdout, "%s\n", Multiline(JsonText(out, 2)));
}

absl::Status InspectManifest(uint64_t limit, Report& report) {
  IndexOptions index;
  index.in_memory = true;
  PENSTOCK_ASSIGN_OR_RETURN(OpenedDataset dataset, OpenDatasetArgument(report.path, index));
  if (!dataset.indexed) report.path = dataset.manifest_path;
  report.manifest = std::move(dataset.manifest);
  const Manifest& manifest = *report.manifest;
  report.records = manifest.num_records(Split::kAll);
  report.bytes = manifest.num_bytes();
  report.features = {manifest.features().begin(), manifest.features().end()};
  InterruptGuard interrupts;
  return SampleRecords(manifest, limit, [&](const ChunkInfo& chunk, const Record& record) {
    return report.facts.Add(manifest.shards()[chunk.shard].path, record);
  });
}

absl::Status InspectShard(const FileSource& source, Report& report) {
  InterruptGuard interrupts;
  report.bytes = source.size();
  uint8_t head[kFrameHeaderBytes];
  const size_t size = std::min<uint64_t>(sizeof(head), source.size());
  PENSTOCK_RETURN_IF_ERROR(source.ReadAt(0, std::span(head, size)));
  report.compression = DetectCompression(std::span<const uint8_t>(head, size));
  PENSTOCK_RETURN_IF_ERROR(ForEachRecord(
      source, [&](const Record& record) { return report.facts.Add(report.path, record); }));
  report.records = report.facts.count();
  report.features = report.facts.TakeFeatures();
  return absl::OkStatus();
}

absl::Status Inspect(const InspectFlags& flags) {
  Report report;
  report.path = flags.input;
  std::error_code ignored;  // Then it cannot be opened either.
  if (std::filesystem::is_directory(flags.input, ignored)) {
    PENSTOCK_RETURN_IF_ERROR(InspectManifest(flags.records, report));
  } else {
    PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source, FileSource::Open(flags.input));
    PENSTOCK_ASSIGN_OR_RETURN(bool manifest, IsManifestFile(*source));
    PENSTOCK_RETURN_IF_ERROR(manifest ? InspectManifest(flags.records, report)
                                      : InspectShard(*source, report));
  }
  flags.json ? PrintJson(report) : PrintText(report);
  return absl::OkStatus();
}

}  // namespace

void AddInspectCommand(CLI::App& app, absl::Status& outcome) {
  CLI::App& command = AddCommand(
      app, "inspect",
      "Show what a manifest, a folder of shards or one shard holds: counts, features, the first\n"
      "record and, for chess records, a histogram of the scores. Nothing is written: a folder\n"
      "without a manifest is read whole each time.",
      "penstock inspect data\n"
      "penstock inspect data/chess-00000-of-00004.tfrecord --json");
  auto flags = std::make_shared<InspectFlags>();
  command.add_option("input", flags->input, "MANIFEST, DIR or SHARD")->required()->default_str("");
  command.add_option("--records", flags->records,
                     "Of a manifest, read this many records from evenly spaced chunks");
  command.add_flag("--json", flags->json, "Print JSON to standard output");
  OnRun(command, outcome, [flags] { return Inspect(*flags); });
}

}  // namespace penstock
