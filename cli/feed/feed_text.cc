#include "cli/feed/feed_text.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/json_text.h"
#include "base/status.h"
#include "cli/feed/feed_protocol.h"
#include "cli/stream/stats_json.h"
#include "penstock_version.h"

namespace penstock::feed {
namespace {

nlohmann::json TensorsToJson(const LoaderShape& shape) {
  nlohmann::json tensors = nlohmann::json::array();
  for (size_t i = 0; i < shape.tensors.size(); ++i) {
    const TensorInfo& tensor = shape.tensors[i];
    nlohmann::json lengths;  // JSON null by default.
    if (tensor.lengths.has_value()) lengths = *tensor.lengths;
    tensors.push_back({{"name", tensor.name},
                       {"dtype", std::string(DtypeName(tensor.dtype))},
                       {"shape", tensor.shape},
                       {"row_bytes", tensor.row_bytes},
                       {"offset", shape.offsets[i]},
                       {"lengths", lengths}});
  }
  return tensors;
}

// Parses the digits after `before`. Leaves the rest of the text in `text`.
std::optional<uint64_t> NumberAfter(absl::string_view before, absl::string_view& text) {
  const size_t at = text.find(before);
  if (at == absl::string_view::npos) return std::nullopt;
  text.remove_prefix(at + before.size());
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  uint64_t number = 0;
  if (!absl::SimpleAtoi(text.substr(0, digits), &number)) return std::nullopt;
  return number;
}

// Adds the place of damage to `error`, if the message begins with a record's name: "PATH: chunk at
// offset N, record R" (NameDamage()).
void AddPlace(absl::string_view message, nlohmann::json& error) {
  constexpr absl::string_view kChunk = ": chunk at offset ";
  const size_t end = message.find(kChunk);
  if (end == absl::string_view::npos) return;
  error["shard"] = std::string(message.substr(0, end));
  absl::string_view rest = message.substr(end);
  if (const auto offset = NumberAfter(kChunk, rest)) error["offset"] = *offset;
  if (const auto record = NumberAfter(", record ", rest)) error["record"] = *record;
}

}  // namespace

std::string ReadyText(const LoaderOptions& options, const LoaderShape& shape, uint32_t slots,
                      const std::string& metrics) {
  nlohmann::json ids;  // JSON null by default.
  if (shape.record_ids_offset.has_value()) ids = *shape.record_ids_offset;
  const auto& classes = options.manifest->class_names();
  const nlohmann::json ready = {
      {"protocol", kProtocol},
      {"version", PENSTOCK_VERSION},
      {"tensors", TensorsToJson(shape)},
      {"record_ids_offset", ids},
      {"slot_bytes", shape.slot_bytes},
      {"slots", slots},
      {"rows", shape.max_rows},
      {"steps_per_epoch", shape.steps.steps_per_epoch()},
      {"order_fingerprint", absl::StrCat(absl::Hex(shape.order_fingerprint, absl::kZeroPad16))},
      {"rank", options.rank},
      {"world_size", options.world_size},
      {"global_batch_size", options.global_batch_size},
      {"records", shape.epoch_rows},
      {"spec", options.spec.ToString()},
      {"metrics", metrics},
      {"classes", std::vector<std::string>(classes.begin(), classes.end())}};
  return JsonText(ready, -1);
}

std::string ErrorText(const absl::Status& status) {
  nlohmann::json error = {{"code", absl::StatusCodeToString(status.code())},
                          {"message", std::string(status.message())}};
  if (absl::IsDataLoss(status)) AddPlace(status.message(), error);
  return JsonText(error, -1);
}

std::string StatsText(const LoaderStats& stats, const std::string& metrics) {
  nlohmann::json json = CountersToJson(stats);
  json["servers"] = ServersToJson(stats);
  json["servers_problem"] = stats.servers_problem;
  if (!metrics.empty()) json["metrics"] = metrics;
  return JsonText(json, -1);
}

absl::StatusOr<StartText> ParseStartText(absl::string_view text) {
  const auto json =
      nlohmann::json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("slots") || !json["slots"].is_number_unsigned() ||
      !json.contains("cursor") || !json["cursor"].is_string()) {
    return absl::InvalidArgumentError(
        "START: the text must be {\"cursor\": TEXT, \"slots\": NUMBER, \"step\": NUMBER}");
  }
  StartText start;
  if (json.contains("step")) {
    if (!json["step"].is_number_unsigned()) {
      return absl::InvalidArgumentError("START: \"step\" must be a whole number");
    }
    start.step = json["step"].get<uint64_t>();
  }
  const auto slots = json["slots"].get<uint64_t>();
  if (slots < 2 || slots > std::numeric_limits<uint16_t>::max() + uint64_t{1}) {
    return absl::InvalidArgumentError(
        absl::StrCat("START: \"slots\" is ", slots, "; it must be from 2 to 65536"));
  }
  start.slots = static_cast<uint32_t>(slots);
  if (const auto cursor = json["cursor"].get<std::string>(); !cursor.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(start.cursor, Cursor::Parse(cursor));
  }
  return start;
}

}  // namespace penstock::feed
