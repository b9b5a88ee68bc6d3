// penstock inspect: shows the contents of a manifest or a shard.
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <system_error>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/byte_size.h"
#include "base/flags/json_flag.h"
#include "base/flags/number_flags.h"
#include "base/flags/path_flags.h"
#include "base/io/file_source.h"
#include "base/json_text.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/data/dataset_argument.h"
#include "cli/data/decoded_rows.h"
#include "cli/data/record_facts.h"
#include "cli/data/record_sample.h"
#include "cli/data/statistics_text.h"
#include "cli/sheet/make_sheet.h"
#include "cli/sheet/sheet_file.h"
#include "cli/terminal/interrupt.h"
#include "client/loader/dataset_spec.h"
#include "client/loader/sample_names.h"
#include "client/loader/unread_features.h"
#include "client/plan/epoch_order.h"
#include "nlohmann/json.hpp"
#include "records/dataset/made_spec.h"
#include "records/decode/spec.h"

namespace penstock {
namespace {

struct InspectFlags {
  std::string input;
  std::string spec;
  uint64_t records = 100'000;
  std::optional<uint64_t> rows;
  std::string contact_sheet;
  uint64_t seed = 0;
  uint64_t epoch = 0;
  bool make_spec = false;
  std::string json;
};

constexpr uint64_t kDecodedRows = 3;
constexpr uint64_t kSheetRows = 36;

struct Report {
  std::string path;
  std::optional<Manifest> manifest;            // Absent for a shard.
  bool without_manifest = false;               // `manifest` was made only for this report.
  Container container = Container::kTfRecord;  // Set for a shard.
  uint64_t bytes = 0;
  uint64_t records = 0;
  RecordFacts facts;
  std::vector<std::string> unread_by_spec;  // Features that the spec does not read.
  std::optional<DecodedRows> decoded;       // Set with --spec.
  std::optional<ContactSheet> sheet;        // Set with --contact-sheet.
  std::string sheet_path;

  // The features of all records, from which readers make a spec. If an older version wrote the
  // manifest, those of the records that were read.
  FeatureSummary Features() const {
    if (!manifest.has_value()) return Canonical(facts.Features());
    return manifest->surveyed() ? manifest->features() : facts.Features();
  }
};

// Returns "TFRecord 4", "TFRecord 2, gzip 1".
std::string ContainersOf(const Manifest& manifest) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < kNumContainers; ++i) {
    const auto value = static_cast<Container>(i);
    const auto count =
        std::count_if(manifest.shards().begin(), manifest.shards().end(),
                      [value](const ShardInfo& shard) { return shard.container == value; });
    if (count > 0) names.push_back(absl::StrCat(ContainerName(value), " ", count));
  }
  return names.empty() ? "none" : absl::StrJoin(names, ", ");
}

// Returns " (1.2 KiB)", for a line that already gives the bytes; empty below 1 KiB.
std::string InUnits(uint64_t bytes) {
  return bytes < 1024 ? "" : absl::StrCat(" (", FormatByteSize(bytes), ")");
}

// Counts the data that --exclude-corrupt left out.
struct Excluded {
  uint64_t records = 0;  // A lower bound of the number of records.
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

// Returns "3: cat, dog, mouse". Long lists are cut.
std::string DescribeClasses(std::span<const std::string> names) {
  constexpr size_t kShown = 10;
  const std::span<const std::string> shown = names.first(std::min(names.size(), kShown));
  return absl::StrCat(names.size(), ": ", absl::StrJoin(shown, ", "),
                      names.size() > kShown ? ", ..." : "");
}

// Prints a line for each tensor.
void PrintStoredSpec(const Manifest& manifest) {
  if (manifest.spec().empty()) return;
  PrintEscaped(stdout, "spec      stored, used where --spec names none\n");
  const absl::StatusOr<v1::DecodeSpec> spec = ParseSpec(manifest.spec(), kManifestSpec);
  if (!spec.ok()) {
    PrintEscaped(stdout, "spec      %s\n", spec.status().message());
    return;
  }
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  for (const v1::TensorSpec& tensor : spec->tensor()) {
    std::string text;
    printer.PrintToString(tensor, &text);
    PrintEscaped(stdout, "tensor    %s\n", absl::StripTrailingAsciiWhitespace(text));
  }
}

void PrintManifest(const Manifest& manifest) {
  uint32_t smallest = ~0u, largest = 0;
  for (size_t i = 0; i < manifest.num_chunks(); ++i) {
    smallest = std::min(smallest, manifest.chunk_bytes(i));
    largest = std::max(largest, manifest.chunk_bytes(i));
  }
  PrintEscaped(stdout, "shards    %s (%s)\n", Grouped(manifest.shards().size()),
               ContainersOf(manifest));
  if (manifest.num_chunks() > 0) {
    const std::string least = FormatByteSize(smallest), most = FormatByteSize(largest);
    PrintEscaped(stdout, "chunks    %s of %s\n", Grouped(manifest.num_chunks()),
                 least == most ? most : absl::StrCat(least, " to ", most));
  }
  if (manifest.holdout().threshold > 0) {
    PrintEscaped(stdout, "holdout   %s by the hash of %s, %.4g %% asked for\n",
                 Counted(manifest.num_records(Split::kHoldout), "record", "records"),
                 manifest.holdout().Decider(),
                 100 * static_cast<double>(manifest.holdout().threshold) * 0x1p-32);
  }
  if (const Excluded excluded = ExcludedFrom(manifest); excluded.records > 0) {
    PrintEscaped(stdout, "excluded  %s%s with at least %s\n",
                 Counted(excluded.bytes, "damaged byte", "damaged bytes"), InUnits(excluded.bytes),
                 Counted(excluded.records, "record", "records"));
  }
  PrintEscaped(stdout, "content   %016x\n", manifest.content_fingerprint());
  if (!manifest.class_names().empty()) {
    PrintEscaped(stdout, "classes   %s\n", DescribeClasses(manifest.class_names()));
  }
  PrintStatistics(manifest);
  PrintStoredSpec(manifest);
}

void PrintFeatures(const Report& report) {
  const RecordFacts& facts = report.facts;
  const FeatureSummary features = report.Features();
  PrintEscaped(stdout, "read      %s of %s\n", Grouped(facts.count()),
               Counted(report.records, "record", "records"));
  if (facts.format() == RecordFormat::kRaw) {
    PrintEscaped(stdout, "format    raw: no tf.train.Examples (penstock index --format raw)\n");
  }
  for (const FeatureInfo& feature : features.features) {
    PrintEscaped(stdout, "feature   %s\n", Describe(feature, features.records));
  }
  for (const ImageFacts& images : facts.Images()) {
    PrintEscaped(stdout, "images    %s\n", Describe(images));
  }
  for (const std::string& unread : facts.Unread()) {
    PrintEscaped(stdout, "unread    %s: nothing reads it\n", unread);
  }
  for (const std::string& unread : report.unread_by_spec) {
    PrintEscaped(stdout, "unread    %s: the spec does not read it\n", unread);
  }
}

std::string KindOf(const Report& report) {
  if (report.without_manifest) return "folder without a manifest";
  if (report.manifest.has_value()) return "manifest";
  const bool compressed =
      report.container == Container::kGzip || report.container == Container::kZstd;
  return absl::StrCat(compressed ? "TFRecord, " : "", ContainerName(report.container), " shard");
}

void PrintText(const Report& report) {
  PrintEscaped(stdout, "%s: %s\n", report.path, KindOf(report));
  PrintEscaped(stdout, "records   %s\nbytes     %s%s\n", Grouped(report.records),
               Grouped(report.bytes), InUnits(report.bytes));
  if (report.manifest) PrintManifest(*report.manifest);
  PrintFeatures(report);
  if (report.facts.count() > 0)
    PrintEscaped(stdout, "\nfirst     %s", Multiline(report.facts.first()));
  if (report.decoded.has_value()) PrintEscaped(stdout, "\n%s", Multiline(ToText(*report.decoded)));
  if (report.sheet.has_value()) {
    PrintEscaped(stdout, "\nsheet     %s: %s\n", report.sheet_path, report.sheet->subtitle);
  }
  const ScoreHistogram& scores = report.facts.scores();
  if (scores.total() == 0) return;
  PrintEscaped(stdout, "\nscores of %s of %s\n%s", Grouped(scores.total()),
               Counted(report.records, "record", "records"), Multiline(scores.ToText()));
}

nlohmann::json ToJson(const FeatureInfo& feature) {
  nlohmann::json out = {{"name", feature.name},
                        {"type", feature.type},
                        {"feature_list", feature.feature_list},
                        {"records", feature.records},
                        {"min_values", feature.values.min},
                        {"max_values", feature.values.max}};
  if (feature.type == "bytes") {
    out["min_bytes"] = feature.bytes.min;
    out["max_bytes"] = feature.bytes.max;
  }
  if (feature.feature_list) {
    out["min_step_values"] = feature.step_values.min;
    out["max_step_values"] = feature.step_values.max;
  }
  return out;
}

std::string ToJson(const Report& report) {
  nlohmann::json out = {{"path", report.path},
                        {"kind", report.manifest ? "manifest" : "shard"},
                        {"records", report.records},
                        {"bytes", report.bytes},
                        {"first_record", report.facts.first()}};
  const FeatureSummary features = report.Features();
  out["read_records"] = report.facts.count();
  out["feature_records"] = features.records;
  out["format"] = report.facts.format() == RecordFormat::kRaw ? "raw" : "example";
  out["features"] = nlohmann::json::array();
  for (const FeatureInfo& feature : features.features) out["features"].push_back(ToJson(feature));
  out["images"] = nlohmann::json::array();
  for (const ImageFacts& images : report.facts.Images()) out["images"].push_back(ToJson(images));
  out["unread"] = report.facts.Unread();
  out["unread_by_spec"] = report.unread_by_spec;
  if (report.decoded.has_value()) out["decoded"] = ToJson(*report.decoded);
  if (report.sheet.has_value()) {
    out["contact_sheet"] = {{"path", report.sheet_path}, {"records", report.sheet->cells.size()}};
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
    out["spec"] = manifest.spec();
    out["statistics"] = StatisticsToJson(manifest);
    out["class_names"] = nlohmann::json::array();
    for (const std::string& name : manifest.class_names()) out["class_names"].push_back(name);
  } else {
    out["container"] = std::string(ContainerName(report.container));
  }
  if (const ScoreHistogram& scores = report.facts.scores(); scores.total() > 0) {
    nlohmann::json rows = nlohmann::json::array();
    for (const auto& row : scores.rows())
      rows.push_back({{"score", row.label}, {"count", row.count}});
    out["scores"] = {{"records", scores.total()},
                     {"mates_stored_as_zero", scores.mates_stored_as_zero()},
                     {"histogram", rows}};
  }
  return JsonText(out, 2);
}

absl::Status InspectManifest(uint64_t limit, Report& report) {
  IndexOptions index;
  index.in_memory = true;
  index.mixed_features = true;  // The report shows the differences.
  PENSTOCK_ASSIGN_OR_RETURN(OpenedDataset dataset, OpenDatasetArgument(report.path, index));
  report.without_manifest = dataset.indexed;
  if (!dataset.indexed) report.path = dataset.manifest_path;
  report.manifest = std::move(dataset.manifest);
  const Manifest& manifest = *report.manifest;
  report.records = manifest.num_records(Split::kAll);
  report.bytes = manifest.num_bytes();
  report.facts.SetFormat(manifest.format());
  InterruptGuard interrupts;
  return SampleRecords(manifest, limit, [&](const ChunkInfo& chunk, const Record& record) {
    return report.facts.Add(manifest.shards()[chunk.shard].path, record);
  });
}

absl::Status InspectShard(const FileSource& source, Report& report) {
  InterruptGuard interrupts;
  report.bytes = source.size();
  PENSTOCK_ASSIGN_OR_RETURN(report.container, DetectContainer(source));
  PENSTOCK_RETURN_IF_ERROR(ForEachRecord(
      source, [&](const Record& record) { return report.facts.Add(report.path, record); }));
  report.records = report.facts.count();
  return absl::OkStatus();
}

absl::Status Read(const InspectFlags& flags, Report& report) {
  PENSTOCK_RETURN_IF_ERROR(CheckFilesExist(flags.input));
  report.path = flags.input;
  std::error_code ignored;  // After an error, opening the file fails too.
  if (std::filesystem::is_directory(flags.input, ignored)) {
    return InspectManifest(flags.records, report);
  }
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source, FileSource::Open(flags.input));
  PENSTOCK_ASSIGN_OR_RETURN(const bool manifest, IsManifestFile(*source));
  return manifest ? InspectManifest(flags.records, report) : InspectShard(*source, report);
}

absl::Status CheckFlags(const InspectFlags& flags) {
  PENSTOCK_RETURN_IF_ERROR(
      CheckFilesArgument(flags.input, "inspect",
                         absl::StrCat("give DIR, MANIFEST or SHARD; penstock stream ", flags.input,
                                      " and penstock bench read from --servers")));
  if (flags.make_spec &&
      (!flags.json.empty() || !flags.spec.empty() || !flags.contact_sheet.empty())) {
    return UsageError(
        "--make-spec prints a spec and nothing else: without --json, --spec and --contact-sheet");
  }
  if (flags.contact_sheet.empty()) return absl::OkStatus();
  const absl::Status named = CheckSheetName(flags.contact_sheet);
  if (!named.ok()) return UsageError(absl::StrCat("--contact-sheet: ", named.message()));
  return CheckWritable("--contact-sheet", flags.contact_sheet);
}

absl::Status AddSheet(const InspectFlags& flags, const v1::DecodeSpec& spec, Report& report) {
  InterruptGuard interrupts;
  SheetOptions options{.title = report.path,
                       .spec = spec,
                       .spec_name = flags.spec,
                       .rows = flags.rows.value_or(kSheetRows),
                       .seed = flags.seed,
                       .epoch = flags.epoch};
  const SheetSource source{.manifest = report.manifest ? &*report.manifest : nullptr,
                           .payloads = report.facts.kept(),
                           .records = report.records,
                           .facts = report.facts};
  if (report.manifest.has_value()) {
    const std::span<const std::string> names = report.manifest->class_names();
    options.class_names.assign(names.begin(), names.end());
  }
  PENSTOCK_ASSIGN_OR_RETURN(report.sheet, MakeSheet(options, source));
  report.sheet_path = flags.contact_sheet;
  return WriteSheet(*report.sheet, report.sheet_path);
}

// Finds the features that the named spec does not read. Without a name, uses the default spec.
void FindUnread(const InspectFlags& flags, const v1::DecodeSpec& named, Report& report) {
  if (!flags.spec.empty()) {
    report.unread_by_spec = UnreadBySpec(named, report.Features());
  } else if (report.manifest.has_value()) {
    const absl::StatusOr<SpecChoice> choice = ChooseSpec({}, *report.manifest);
    if (choice.ok()) report.unread_by_spec = UnreadBySpec(choice->spec, report.Features());
  }
}

// Makes the rows that --spec shows, or the pictures of --contact-sheet.
absl::Status ShowRows(const InspectFlags& flags, const v1::DecodeSpec& spec, Report& report) {
  if (!flags.spec.empty()) {
    PENSTOCK_RETURN_IF_ERROR(Annotate(CheckSpecFits(spec, report.Features(), report.facts.format()),
                                      absl::StrCat("--spec ", flags.spec)));
  }
  if (!flags.contact_sheet.empty()) {
    return Annotate(AddSheet(flags, spec, report), "--contact-sheet");
  }
  if (!flags.spec.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(
        report.decoded,
        DecodeFirst(spec, report.facts.kept(), AugmentationKeyOf(flags.seed, flags.epoch)));
  }
  return absl::OkStatus();
}

// Prints the spec that --make-spec asks for. If its rows are too large, readers will refuse it;
// this is only a note, because the user will edit the spec.
absl::Status PrintMadeSpec(const Report& report) {
  const FeatureSummary features = report.Features();
  const RecordFormat format = report.facts.format();
  const std::string text = MakeSpec(features, format);
  PrintEscaped(stdout, "%s", Multiline(text));
  PENSTOCK_ASSIGN_OR_RETURN(const v1::DecodeSpec spec, ParseSpec(text, "made spec"));
  if (spec.tensor().empty()) return absl::OkStatus();
  const absl::Status fits = CheckSpecFits(spec, features, format);
  if (!fits.ok()) PrintEscaped(stderr, "penstock: the made spec: %s\n", fits.message());
  return absl::OkStatus();
}

absl::Status Inspect(const InspectFlags& flags) {
  PENSTOCK_RETURN_IF_ERROR(CheckFlags(flags));
  PENSTOCK_RETURN_IF_ERROR(CheckJsonFlag(flags.json));
  PENSTOCK_ASSIGN_OR_RETURN(const v1::DecodeSpec named, LoadNamedSpec(flags.spec));
  Report report;
  if (!flags.contact_sheet.empty()) {
    report.facts.KeepFirst(flags.rows.value_or(kSheetRows));
  } else if (!flags.spec.empty()) {
    report.facts.KeepFirst(flags.rows.value_or(kDecodedRows));
  }
  PENSTOCK_RETURN_IF_ERROR(Read(flags, report));
  if (flags.make_spec) return PrintMadeSpec(report);
  const v1::DecodeSpec spec = WithSampleNames(named, report.Features());
  PENSTOCK_RETURN_IF_ERROR(ShowRows(flags, spec, report));
  FindUnread(flags, spec, report);
  if (flags.json != kStandardOutput) PrintText(report);
  return flags.json.empty() ? absl::OkStatus() : WriteJson(flags.json, ToJson(report));
}

}  // namespace

void AddInspectCommand(CLI::App& app, absl::Status& outcome) {
  CLI::App& command = AddCommand(
      app, "inspect",
      "Show what a manifest, a folder of shards or a shard holds. It prints counts, features, the "
      "place of the first record and, for chess records, a board and a histogram of the scores. "
      "Nothing is written: a folder without a manifest is read whole each time.",
      "penstock inspect data\n"
      "penstock inspect data --make-spec > my.textproto\n"
      "penstock inspect data --spec my.textproto\n"
      "penstock inspect data --contact-sheet sheet.png\n"
      "penstock inspect data/chess-00000-of-00004.tfrecord --json -");
  command.group("Look at data");
  auto flags = std::make_shared<InspectFlags>();
  command
      .add_option("manifest,--manifest", flags->input, "Dataset to read: DIR, MANIFEST or SHARD")
      ->type_name("DATASET")
      ->default_str("");
  command.add_option("--records", flags->records,
                     "Records of a manifest to read, from evenly spaced chunks");
  command
      .add_option("--rows", flags->rows,
                  "Records to show; absent: 3 with --spec, 36 on a contact sheet")
      ->check(WholeNumber(1, 1000))
      ->default_str("");
  command.option_defaults()->group("Decoding");
  command
      .add_option("--spec", flags->spec,
                  "Also decode the first records with this spec, built-in or a textproto file")
      ->type_name("SPEC");
  command.add_flag("--make-spec", flags->make_spec,
                   "Print only a decode spec made from the features, as a start for your own");
  command.add_option("--seed", flags->seed, "Seed of random image operations, with --spec");
  command.add_option("--epoch", flags->epoch, "Epoch of random image operations, with --spec");
  command.option_defaults()->group("Output");
  command
      .add_option("--contact-sheet", flags->contact_sheet,
                  "Draw records with their labels to a .png or .html file: the pixels that --spec "
                  "decodes, or the encoded images")
      ->type_name("FILE")
      ->default_str("");
  AddJsonFlag(command, flags->json, "Write the result");
  OnRun(command, outcome, [flags] { return Inspect(*flags); });
}

}  // namespace penstock
