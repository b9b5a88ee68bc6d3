// penstock index: writes the manifest of shards.
#include <google/protobuf/text_format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <system_error>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/byte_size.h"
#include "base/flags/json_flag.h"
#include "base/flags/number_flags.h"
#include "base/flags/path_flags.h"
#include "base/json_text.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/data/dataset_argument.h"
#include "cli/data/image_features.h"
#include "cli/data/spec_check.h"
#include "cli/data/statistics_text.h"
#include "client/loader/dataset_spec.h"
#include "client/loader/sample_names.h"
#include "client/loader/unread_features.h"
#include "nlohmann/json.hpp"
#include "records/dataset/kept_manifests.h"
#include "records/decode/program.h"
#include "records/decode/spec.h"

namespace penstock {
namespace {

// Servers accept chunks of at most 64 MiB, and one record can make a chunk larger than its target.
constexpr uint64_t kMaxChunkTarget = uint64_t{32} << 20;
// This is the default for the smallest data. A smaller number probably lacks its unit.
constexpr uint64_t kMinChunkTarget = uint64_t{4} << 10;

// With this value of --spec the manifest stores no spec.
constexpr absl::string_view kNoSpec = "none";

struct IndexFlags {
  std::vector<std::string> inputs;
  std::string holdout;
  std::string holdout_feature;
  std::string format;
  uint64_t record_bytes = 0;
  std::string spec;
  std::string chunk_size;
  std::string json;
  bool prune = false;
  IndexOptions index;
};

// Matches the fixed-size records in a folder, unless --glob names other files.
constexpr absl::string_view kFixedGlob = "*.bin";

absl::Status SetFormat(IndexFlags& flags) {
  IndexOptions& index = flags.index;
  const bool fixed = flags.format == "fixed";
  if (fixed != (flags.record_bytes > 0)) {
    return UsageError(fixed ? "--format fixed needs --record-bytes, the bytes of each record"
                            : "--record-bytes needs --format fixed");
  }
  if (flags.format == "image-folder" && !index.listing.glob.empty()) {
    return UsageError(
        "--glob cannot be used with --format image-folder, which reads *.jpg, *.jpeg and *.png");
  }
  if (flags.format.empty()) return absl::OkStatus();
  const bool raw = fixed || flags.format == "raw";
  index.format = raw ? RecordFormat::kRaw : RecordFormat::kExample;
  if (flags.format == "webdataset") index.stored = {.container = Container::kWebDataset};
  if (flags.format == "image-folder") index.stored = {.container = Container::kImageFile};
  if (!fixed) return absl::OkStatus();
  index.stored = {.container = Container::kFixed, .record_bytes = flags.record_bytes};
  if (index.listing.glob.empty()) index.listing.glob = std::string(kFixedGlob);
  return absl::OkStatus();
}

absl::Status SetOptions(IndexFlags& flags) {
  IndexOptions& index = flags.index;
  for (const std::string& input : flags.inputs) {
    PENSTOCK_RETURN_IF_ERROR(CheckExists("INPUTS", input, "give shards, or folders of shards"));
    if (access(input.c_str(), F_OK) != 0) return ErrnoToStatus(errno, input);
  }
  if (index.output.empty()) {
    std::error_code ignored;
    if (flags.inputs.size() != 1 || !std::filesystem::is_directory(flags.inputs[0], ignored)) {
      return UsageError("-o is required unless the input is one folder");
    }
    index.output = (std::filesystem::path(flags.inputs[0]) / kManifestName).string();
  } else if (std::error_code ignored; !std::filesystem::is_directory(index.output, ignored)) {
    PENSTOCK_RETURN_IF_ERROR(CheckWritable("-o", index.output));
  }
  if (!flags.holdout.empty()) {
    absl::StatusOr<uint32_t> threshold = ParseHoldoutThreshold(flags.holdout);
    if (!threshold.ok()) return UsageError(threshold.status().message());
    index.holdout =
        *threshold == 0 ? HoldoutInfo{} : HoldoutInfo{flags.holdout_feature, *threshold};
    index.default_holdout_feature = *threshold > 0 && flags.holdout_feature.empty();
  }
  PENSTOCK_RETURN_IF_ERROR(SetFormat(flags));
  if (!flags.chunk_size.empty()) {
    absl::StatusOr<uint64_t> bytes = ParseByteSizeFrom(flags.chunk_size, kMinChunkTarget);
    if (!bytes.ok()) return UsageError(absl::StrCat("--chunk-size: ", bytes.status().message()));
    if (*bytes > kMaxChunkTarget) {
      return UsageError(absl::StrCat("--chunk-size: ", flags.chunk_size, " is more than ",
                                     FormatByteSize(kMaxChunkTarget),
                                     "; usual sizes are 256KiB to 4MiB"));
    }
    index.chunk_bytes = *bytes;
  }
  return absl::OkStatus();
}

// Returns "340763 bytes (332.8 KiB) with at least 1 record".
std::string Describe(const DamageLoss& loss) {
  return absl::StrCat(loss.bytes, " bytes (", FormatByteSize(loss.bytes), ") with ",
                      loss.all_counted ? "" : "at least ",
                      Counted(loss.records, "record", "records"));
}

void PrintDamage(const DamagedRange& damage) {
  PrintEscaped(stdout, "%s: record %d at offset %d: %s; unreadable: %s, %s\n", damage.file,
               damage.record, damage.offset, damage.reason,
               Describe({1, damage.bytes, damage.records, damage.all_counted}),
               damage.to_end ? "to the end of the file"
                             : absl::StrCat("up to offset ", damage.offset + damage.bytes));
}

struct Extent {
  size_t lost_shards = 0;  // Number of shards that have no chunk left.
  uint64_t bytes = 0;      // Total size of all shards.
};

Extent ExtentOf(const Manifest& manifest) {
  Extent extent;
  for (size_t i = 0; i < manifest.shards().size(); ++i) {
    const auto [begin, end] = manifest.shard_chunks(i);
    extent.lost_shards += begin == end && manifest.shards()[i].excluded_records > 0;
    extent.bytes += manifest.shards()[i].size;
  }
  return extent;
}

// Returns "all of 1 of 4 shards, 25 % of the bytes". It is shown because one damaged byte of a
// compressed shard can lose the whole shard.
std::string ShareLost(const IndexResult& result) {
  const Extent extent = ExtentOf(result.manifest);
  std::string whole;
  if (extent.lost_shards > 0) {
    whole = absl::StrCat("all of ", extent.lost_shards, " of ",
                         Counted(result.manifest.shards().size(), "shard", "shards"), ", ");
  }
  const double share = 100.0 * static_cast<double>(result.damage.loss().bytes) /
                       static_cast<double>(std::max<uint64_t>(extent.bytes, 1));
  return absl::StrFormat("%s%.3g %% of the bytes", whole, share);
}

std::string DescribeAll(const IndexResult& result) {
  return absl::StrCat(Counted(result.damage.loss().places, "damaged place", "damaged places"), ": ",
                      Describe(result.damage.loss()), " = ", ShareLost(result));
}

uint64_t NumNotListed(const DamageList& damage) {
  return damage.loss().places - damage.listed().size();
}

void PrintText(const IndexResult& result, const std::string& output) {
  const Manifest& manifest = result.manifest;
  for (const DamagedRange& damage : result.damage.listed()) PrintDamage(damage);
  if (const uint64_t more = NumNotListed(result.damage); more > 0) {
    PrintEscaped(stdout, "and %s that %s not listed\n",
                 Counted(more, "damaged place", "damaged places"), more == 1 ? "is" : "are");
  }
  PrintEscaped(stdout, "%s%s: %s, %s", result.saved ? "" : "not saved: ", output,
               Counted(manifest.shards().size(), "shard", "shards"),
               Counted(manifest.num_records(Split::kAll), "record", "records"));
  if (manifest.holdout().threshold > 0) {
    PrintEscaped(stdout, " (%s held out by %s%s)", Grouped(manifest.num_records(Split::kHoldout)),
                 manifest.holdout().Decider(),
                 result.kept_holdout ? ", as before; --holdout 0 removes the split" : "");
  }
  PrintEscaped(stdout, ", %s in %s; read %s, reused %s\n", FormatByteSize(manifest.num_bytes()),
               Counted(manifest.num_chunks(), "chunk", "chunks"),
               Counted(result.read_shards, "shard", "shards"), Grouped(result.reused_shards));
  if (const std::string noted = Describe(result.images); !noted.empty()) {
    PrintEscaped(stdout, "images    %s\n", noted);
  }
  if (!result.saved) return;
  if (!result.damage.empty()) PrintEscaped(stdout, "left out  %s\n", DescribeAll(result));
  PrintStatistics(manifest);
}

std::string ToJson(const IndexResult& result, const std::string& output) {
  const Manifest& manifest = result.manifest;
  nlohmann::json damage = nlohmann::json::array();
  for (const DamagedRange& range : result.damage.listed()) {
    damage.push_back({{"file", range.file},
                      {"offset", range.offset},
                      {"bytes", range.bytes},
                      {"record", range.record},
                      {"records", range.records},
                      {"all_records_counted", range.all_counted},
                      {"to_end_of_file", range.to_end},
                      {"reason", range.reason}});
  }
  const DamageLoss& loss = result.damage.loss();
  const Extent extent = ExtentOf(manifest);
  const nlohmann::json summary = {
      {"manifest", output},
      {"kept_manifest", result.kept_manifest},
      {"saved", result.saved},
      {"shards", manifest.shards().size()},
      {"read_shards", result.read_shards},
      {"reused_shards", result.reused_shards},
      {"records", manifest.num_records(Split::kAll)},
      {"holdout_records", manifest.num_records(Split::kHoldout)},
      {"chunks", manifest.num_chunks()},
      {"bytes", manifest.num_bytes()},
      {"classes", manifest.class_names().size()},
      {"statistics", StatisticsToJson(manifest)},
      {"content", absl::StrFormat("%016x", manifest.content_fingerprint())},
      {"damaged_places", loss.places},
      {"damaged_bytes", loss.bytes},
      {"shard_bytes", extent.bytes},
      {"lost_shards", extent.lost_shards},
      {"damaged_records", loss.records},
      {"all_damaged_records_counted", loss.all_counted},
      {"unread", result.unread},
      {"truncated_images", result.images.truncated},
      {"image_warnings", result.images.warnings},
      {"damage", damage}};
  return JsonText(summary, 2);
}

// Warns of empty shards. They are no error, because a writer may have had nothing to write.
void WarnOfEmptyShards(const Manifest& manifest) {
  std::vector<std::string> empty;
  for (size_t i = 0; i < manifest.shards().size(); ++i) {
    if (manifest.shards()[i].size == 0) empty.push_back(manifest.ShardPath(i));
  }
  if (empty.empty()) return;
  PrintEscaped(stderr, "penstock: %s is empty%s\n", empty[0],
               empty.size() == 1 ? ""
                                 : absl::StrCat(", as are ", empty.size() - 1, " more of ",
                                                manifest.shards().size(), " shards"));
}

std::string TextOf(const v1::DecodeSpec& spec) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(spec, &text);
  return text;
}

// Checks the spec and makes the index check that the first records fit it. The manifest stores the
// spec as a textproto.
absl::Status SetSpec(IndexFlags& flags) {
  if (flags.spec.empty()) return absl::OkStatus();
  if (flags.spec == kNoSpec) {
    flags.index.spec = "";
    return absl::OkStatus();
  }
  PENSTOCK_ASSIGN_OR_RETURN(const v1::DecodeSpec spec, LoadSpec(flags.spec));
  PENSTOCK_RETURN_IF_ERROR(Program::Compile(spec, WireDtype::kF32).status());
  flags.index.spec = TextOf(spec);
  flags.index.fit_spec = [spec](const FeatureSummary& features) {
    return TextOf(WithSampleNames(spec, features));
  };
  flags.index.check_features = [spec, name = flags.spec](const FeatureSummary& features,
                                                         RecordFormat format) {
    return Annotate(CheckSpecFits(WithSampleNames(spec, features), features, format),
                    absl::StrCat("--spec ", name));
  };
  return absl::OkStatus();
}

// Warns that readers will be refused because rows of the default spec are too large. A spec of
// --spec was checked before.
void TellTooLarge(const SpecChoice& choice, const Manifest& manifest) {
  const absl::Status fits = CheckSpecFits(choice.spec, manifest.features(), manifest.format());
  if (fits.ok()) return;
  PrintEscaped(stderr, "penstock: %s: %s\n", choice.name, fits.message());
}

void TellUnread(const IndexResult& result) {
  for (const std::string& unread : result.unread) {
    PrintEscaped(stderr, "penstock: records have %s, which Penstock ignores\n", unread);
  }
  const absl::StatusOr<SpecChoice> choice = ChooseSpec({}, result.manifest);
  if (!choice.ok()) return;  // Reading the data reports the error.
  for (const std::string& note : {UnreadNote(choice->spec, result.manifest.features()),
                                  ClippedNote(choice->spec, result.manifest.features())}) {
    if (!note.empty()) PrintEscaped(stderr, "penstock: %s\n", note);
  }
  TellTooLarge(*choice, result.manifest);
}

// Warns that the holdout split is empty, because users would expect records in it.
void TellEmptyHoldout(const Manifest& manifest) {
  const bool none = manifest.holdout().threshold > 0 && manifest.num_records(Split::kAll) > 0 &&
                    manifest.num_records(Split::kHoldout) == 0;
  if (!none) return;
  PrintEscaped(
      stderr,
      "penstock: the holdout split is empty: the hash of %s decides, and records with equal "
      "values stay together; try a larger --holdout or another --holdout-feature\n",
      manifest.holdout().Decider());
}

// Tells users who look for damage which shards were not read.
void TellKept(const IndexOptions& index, const IndexResult& result) {
  const bool looks = index.update && index.exclude_corrupt && !index.verify;
  if (!looks || result.reused_shards == 0) return;
  PrintEscaped(stderr,
               "penstock: %s not read again, because size and time are unchanged and no damage was "
               "listed; --verify reads them too\n",
               absl::StrCat(Counted(result.reused_shards, "shard was", "shards were")));
}

// Checkpoints and cursors of running trainings belong to the manifest that was replaced.
void TellKeptManifest(const IndexResult& result) {
  if (result.kept_manifest.empty()) return;
  PrintEscaped(stderr,
               "penstock: the order of records changed, so the replaced manifest is kept as %s: "
               "trainings that began with it resume from it; --prune removes such manifests\n",
               result.kept_manifest);
}

absl::Status Prune(const std::string& output) {
  PENSTOCK_ASSIGN_OR_RETURN(const size_t removed, RemoveKeptManifests(output));
  PrintEscaped(stderr, "penstock: removed %s that --update had kept\n",
               Counted(removed, "manifest", "manifests"));
  return absl::OkStatus();
}

absl::Status Index(IndexFlags flags) {
  PENSTOCK_RETURN_IF_ERROR(SetOptions(flags));
  PENSTOCK_RETURN_IF_ERROR(SetSpec(flags));
  PENSTOCK_RETURN_IF_ERROR(CheckJsonFlag(flags.json));
  flags.index.find_images = [](const FeatureSummary& features, const std::string& spec) {
    return ImageFeaturesOfStored(spec, features);
  };
  flags.index.find_check = [verify = flags.index.verify](const std::string& spec) {
    return SpecCheckMaker(spec, verify);
  };
  PENSTOCK_ASSIGN_OR_RETURN(const IndexResult result,
                            BuildIndexWithProgress(flags.inputs, flags.index));
  WarnOfEmptyShards(result.manifest);
  TellUnread(result);
  TellEmptyHoldout(result.manifest);
  TellKept(flags.index, result);
  if (flags.prune && result.saved) {
    PENSTOCK_RETURN_IF_ERROR(Prune(flags.index.output));
  } else {
    TellKeptManifest(result);
  }
  if (flags.json != kStandardOutput) PrintText(result, flags.index.output);
  if (!flags.json.empty()) {
    PENSTOCK_RETURN_IF_ERROR(WriteJson(flags.json, ToJson(result, flags.index.output)));
  }
  if (result.saved) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(DescribeAll(result), flags.index.exclude_corrupt
                                            ? "; no record would be left, so nothing is saved"
                                            : "; run the same command with --exclude-corrupt "
                                              "to leave them out; it reads only damaged shards "
                                              "again"));
}

}  // namespace

void AddIndexCommand(CLI::App& app, absl::Status& outcome) {
  CLI::App& command = AddCommand(
      app, "index",
      "Write the manifest of a dataset. It lists the chunks, counts and checksums of TFRecords, "
      "WebDataset tars, files of fixed-size records or a folder of images. Lengths and CRCs of all "
      "records are checked. If it was interrupted or stopped at damage, the next run does not read "
      "the finished shards again.",
      "penstock index data --holdout 5%\n"
      "penstock index data/*.tfrecord --verify --exclude-corrupt\n"
      "penstock index photos --format image-folder\n"
      "penstock index cifar-10-batches-bin --format fixed --record-bytes 3073",
      "Exit codes:\n"
      "  1: It failed; with --verify or --statistics also if there is damage.\n\n"
      "Files:\n"
      "  DATASET/manifest.pb: The manifest, unless --output names another file.");
  command.group("Make data");
  auto flags = std::make_shared<IndexFlags>();
  IndexOptions& index = flags->index;
  command
      .add_option("inputs", flags->inputs,
                  "Shards, or folders to search for shards; gzip, zstd and tar are recognised")
      ->required()
      ->default_str("");
  command
      .add_option("-o,--output", index.output,
                  "Manifest to write; empty: manifest.pb in the one folder given")
      ->type_name("FILE");
  command
      .add_option("--holdout", flags->holdout,
                  "Share of records to hold out, such as 5% or 0.05; 0: none; empty: as in the "
                  "existing manifest")
      ->type_name("RATIO");
  command.add_flag("--update", index.update,
                   "Read only shards that are new, changed or were found damaged. If the order "
                   "changes, keep the replaced manifest as FILE.FINGERPRINT");
  command.add_flag("--prune", flags->prune,
                   "Remove the manifests that --update kept for trainings that began before it");
  command.add_flag("--verify", index.verify,
                   "Also parse every record and decode every image; list all damage, and fail if "
                   "there is any");
  command.add_flag("--exclude-corrupt", index.exclude_corrupt,
                   "List damage and leave it out of the manifest");
  command.option_defaults()->group("Data");
  command
      .add_option("--format", flags->format,
                  "Format of the records; empty: as in the existing manifest, else example")
      ->check(CLI::IsMember({"example", "raw", "webdataset", "fixed", "image-folder"}))
      ->type_name("FORMAT");
  command
      .add_option("--record-bytes", flags->record_bytes,
                  "Size of each record of --format fixed, in bytes")
      ->check(WholeNumber(0, kMaxChunkTarget))
      ->type_name("BYTES");
  command
      .add_option("--glob", index.listing.glob,
                  "Names of the shards in folders, such as '*.bin'; empty: the usual names of the "
                  "format")
      ->type_name("PATTERN");
  command
      .add_option(
          "--holdout-feature", flags->holdout_feature,
          "Feature whose hash decides the split; empty: d of chess's records, image/encoded "
          "of images, else the whole record")
      ->type_name("FEATURE");
  command.add_flag("--mixed-features", index.mixed_features, "Accept shards whose features differ");
  command.option_defaults()->group("Decoding");
  command
      .add_option("--spec", flags->spec,
                  "Decode spec to store, built-in or a textproto file, for readers that name none; "
                  "none: store none; empty: as in the existing manifest")
      ->type_name("SPEC");
  command.add_flag("--statistics", index.statistics,
                   "Store the mean and standard deviation of the training split's pixels, for "
                   "penstock-train --image-mean auto");
  command.option_defaults()->group("Output");
  command.add_flag("--absolute", index.absolute,
                   "Name shards by absolute paths; readers then need --data-root /");
  AddJsonFlag(command, flags->json, "Write the result");
  command.option_defaults()->group("Tuning");
  command.add_option("--threads", index.threads, "Shards to read in parallel; 0: one per core")
      ->check(WholeNumber(0, 1024));
  command
      .add_option("--chunk-size", flags->chunk_size,
                  "Size of a chunk, which is read at once, such as 256KiB; empty: chosen from the "
                  "data")
      ->type_name("SIZE");
  OnRun(command, outcome, [flags] { return Index(*flags); });
}

}  // namespace penstock
