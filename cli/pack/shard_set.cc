#include "cli/pack/shard_set.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr char kSuffix[] = ".tfrecord";
constexpr uint64_t kMaxShardRecords = uint64_t{1} << 20;
constexpr uint64_t kMaxShardBytes = uint64_t{256} << 20;
constexpr uint64_t kMinShardRecords = 64;
constexpr uint64_t kUsualShards = 4;

uint64_t CeilDiv(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

// Returns whether `file` is NAME-DDDDD-of-DDDDD.tfrecord, with any number of digits.
bool IsShardOf(absl::string_view name, absl::string_view file) {
  const auto skip_digits = [&file] {
    const size_t before = file.size();
    while (!file.empty() && IsDigit(file[0])) file.remove_prefix(1);
    return file.size() < before;
  };
  return absl::ConsumePrefix(&file, name) && absl::ConsumePrefix(&file, "-") && skip_digits() &&
         absl::ConsumePrefix(&file, "-of-") && skip_digits() && file == kSuffix;
}

}  // namespace

uint64_t NumShards(uint64_t records, uint64_t bytes, uint64_t records_per_shard) {
  if (records_per_shard > 0) return CeilDiv(records, records_per_shard);
  const uint64_t for_all =
      std::max(CeilDiv(records, kMaxShardRecords), CeilDiv(bytes, kMaxShardBytes));
  const uint64_t usual = std::min(kUsualShards, records / kMinShardRecords);
  return std::max({std::min(for_all, records), usual, uint64_t{1}});
}

std::string ShardFile(const std::string& name, uint64_t shard, uint64_t num_shards) {
  return absl::StrFormat("%s-%05d-of-%05d%s", name, shard, num_shards, kSuffix);
}

std::string SetName(const std::string& shard) {
  absl::string_view name = shard;
  const auto skip_digits = [&name] {
    const size_t before = name.size();
    while (!name.empty() && IsDigit(name.back())) name.remove_suffix(1);
    return name.size() < before;
  };
  const bool numbered = skip_digits() && absl::ConsumeSuffix(&name, "-of-") && skip_digits() &&
                        absl::ConsumeSuffix(&name, "-") && !name.empty();
  return numbered ? std::string(name) : shard;
}

absl::StatusOr<std::vector<std::string>> ExistingShards(const ShardOptions& options) {
  std::error_code error;
  fs::create_directories(options.folder, error);
  if (error) return ErrnoToStatus(error.value(), options.folder);
  std::vector<std::string> found;
  for (fs::directory_iterator it(options.folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string file = it->path().filename();
    if (IsShardOf(options.name, file)) found.push_back(absl::StrCat(options.folder, "/", file));
  }
  if (error) return ErrnoToStatus(error.value(), options.folder);
  std::sort(found.begin(), found.end());
  if (!found.empty() && !options.force) {
    return absl::AlreadyExistsError(absl::StrCat(
        found[0], " exists; --force replaces the shards of this name, --name chooses another"));
  }
  return found;
}

}  // namespace penstock
