#include "trainer/app/rank_agreement.h"

#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/json_text.h"
#include "base/status.h"
#include "nlohmann/json.hpp"
#include "trainer/checkpoint/checkpoint_json.h"
#include "trainer/checkpoint/shortened.h"
#include "trainer/comm/gather.h"

namespace penstock {
namespace {

// Returns the options that belong to a rank or its host, not to the training. The order fingerprint
// compares the data itself; only rank 0 has checkpoints.
const std::set<std::string>& OwnOptions() {
  static const auto* own = new std::set<std::string>{"rank",
                                                     "world-size",
                                                     "local-rank",
                                                     "local-size",
                                                     "rendezvous",
                                                     "interface",
                                                     "rendezvous-timeout",
                                                     "collective-timeout",
                                                     "late-after",
                                                     "threads",
                                                     "device",
                                                     "gpu-memory-fraction",
                                                     "no-graph",
                                                     "manifest",
                                                     "servers",
                                                     "data-root",
                                                     "connections",
                                                     "no-shm",
                                                     "look-ahead",
                                                     "server-timeout",
                                                     "checksums",
                                                     "tls",
                                                     "tls-ca",
                                                     "tls-cert",
                                                     "tls-key",
                                                     "tls-server-name",
                                                     "token-file",
                                                     "json",
                                                     "tensorboard",
                                                     "profile-file",
                                                     "events",
                                                     "metrics-port",
                                                     "metrics-listen",
                                                     "resume",
                                                     "init-from",
                                                     "keep-checkpoints",
                                                     "spec",
                                                     "eval-spec"};
  return *own;
}

absl::StatusOr<std::vector<std::string>> GatherTexts(Communicator& ranks, const std::string& own) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<uint64_t> sizes,
                            GatherOne(ranks, uint64_t{own.size()}));
  std::vector<std::string> texts;
  for (size_t rank = 0; rank < sizes.size(); ++rank) {
    constexpr uint64_t kMostBytes = 1 << 20;
    if (sizes[rank] > kMostBytes) {
      return absl::InternalError(absl::StrCat("rank ", rank, " sent ", sizes[rank],
                                              " bytes of settings, more than the limit of ",
                                              kMostBytes));
    }
    texts.emplace_back(sizes[rank], '\0');
  }
  texts[ranks.rank()] = own;
  std::vector<std::span<uint8_t>> parts;
  for (std::string& text : texts) parts.push_back(AsBytes(std::span(text)));
  PENSTOCK_RETURN_IF_ERROR(ranks.AllGather(parts));
  return texts;
}

std::string ValueOf(const nlohmann::json& settings, const std::string& name) {
  const auto value = settings.find(name);
  return value != settings.end() && value->is_string() ? value->get<std::string>() : "not known";
}

// Parses the settings that rank `rank` sent.
absl::StatusOr<nlohmann::json> ParseSettings(const std::string& text, size_t rank) {
  nlohmann::json settings = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (settings.is_object()) return settings;
  return absl::InternalError(absl::StrCat(
      "rank ", rank, " sent settings that cannot be parsed: start all ranks from the same build"));
}

// Describes the first setting that differs; empty if all agree.
std::string Difference(const nlohmann::json& zero, const nlohmann::json& other, size_t rank) {
  nlohmann::json all = zero;
  all.update(other);
  for (const auto& [name, unused] : all.items()) {
    const std::string a = ValueOf(zero, name), b = ValueOf(other, name);
    if (a == b) continue;
    return absl::StrCat(name, " is ", Shortened(a, b), " on rank 0 and ", Shortened(b, a),
                        " on rank ", rank);
  }
  return "";
}

}  // namespace

SharedSettings SharedOptions(absl::string_view config) {
  SharedSettings settings;
  for (const absl::string_view line : absl::StrSplit(config, '\n')) {
    const std::pair<std::string, std::string> option =
        absl::StrSplit(line, absl::MaxSplits('=', 1));
    if (option.first.empty() || option.first[0] == '#' || option.first[0] == ';') continue;
    if (!OwnOptions().contains(option.first)) settings["--" + option.first] = option.second;
  }
  // Hosts may use different paths for the folder, but either all ranks or none must name one.
  if (const auto folder = settings.find("--checkpoint-dir"); folder != settings.end()) {
    if (folder->second != "\"\"" && !folder->second.empty()) folder->second = "given";
  }
  return settings;
}

absl::Status CompareSettings(Communicator& ranks, const SharedSettings& own) {
  if (ranks.size() == 1) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> texts,
                            GatherTexts(ranks, JsonText(nlohmann::json(own))));
  PENSTOCK_ASSIGN_OR_RETURN(const nlohmann::json zero, ParseSettings(texts[0], 0));
  for (size_t rank = 1; rank < texts.size(); ++rank) {
    PENSTOCK_ASSIGN_OR_RETURN(const nlohmann::json other, ParseSettings(texts[rank], rank));
    const std::string difference = Difference(zero, other, rank);
    if (!difference.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(difference, ": it must be the same on all ranks"));
    }
  }
  return absl::OkStatus();
}

absl::Status ShareTraining(Communicator& ranks, const ParameterTable& table, CheckpointInfo& info,
                           TrainState& state) {
  if (ranks.size() == 1) return absl::OkStatus();
  std::string json = CheckpointInfoToJson(info, table);
  PENSTOCK_RETURN_IF_ERROR(BroadcastText(ranks, 0, json));
  PENSTOCK_ASSIGN_OR_RETURN(info, CheckpointInfoFromJson(json));
  for (std::vector<float>* arena : {&state.parameters, &state.m, &state.v}) {
    PENSTOCK_RETURN_IF_ERROR(ranks.Broadcast(0, AsBytes(std::span(*arena))));
  }
  state.step = info.step;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::vector<uint64_t>>> GatherMemory(Communicator& ranks,
                                                                const std::vector<MemoryUse>& own) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<uint64_t> counts,
                            GatherOne<uint64_t>(ranks, own.size()));
  for (size_t rank = 0; rank < counts.size(); ++rank) {
    if (counts[rank] == counts[0]) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "rank ", rank, " reports ", counts[rank], " uses of memory, but rank 0 reports ", counts[0],
        ": start all ranks from the same build, on the same kind of device"));
  }
  std::vector<std::vector<uint64_t>> bytes(ranks.size(), std::vector<uint64_t>(own.size()));
  for (size_t use = 0; use < own.size(); ++use) bytes[ranks.rank()][use] = own[use].bytes;
  std::vector<std::span<uint8_t>> parts;
  for (std::vector<uint64_t>& of_rank : bytes) parts.push_back(AsBytes(std::span(of_rank)));
  PENSTOCK_RETURN_IF_ERROR(ranks.AllGather(parts));
  return bytes;
}

}  // namespace penstock
