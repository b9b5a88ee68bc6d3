#include "server/failure_log.h"

#include "server/log_format.h"
#include "spdlog/spdlog.h"

namespace penstock {

void FailureLog::Add(const StreamError& error, absl::string_view client) {
  const bool memory = absl::IsResourceExhausted(error.status);
  if (!error.window.has_value()) {  // Of requests alone: that windows do not fit together.
    if (memory) TellOfMemory(error.status, client);
    return;
  }
  if (memory) told_of_memory_ = true;
  if (error.damage.has_value()) ++num_damaged_;
  if (num_failed_.fetch_add(1) < kMaxLogged) TellOfWindow(error);
}

void FailureLog::TellOfMemory(const absl::Status& status, absl::string_view client) {
  if (told_of_memory_.exchange(true)) return;
  spdlog::warn("windows refused peer={} client={} error={}", peer_, Quoted(client),
               Quoted(Shortened(status.ToString())));
}

void FailureLog::TellOfWindow(const StreamError& error) const {
  if (const std::optional<Damage>& damage = error.damage) {
    spdlog::warn(
        "damage found shard={} chunk_offset={} chunk_record={} rest_of_chunk={} peer={} error={}",
        Quoted(Shortened(damage->shard)), damage->chunk_offset, damage->record,
        damage->rest_of_chunk, peer_, Quoted(Shortened(error.status.message())));
    return;
  }
  const bool refused =
      absl::IsResourceExhausted(error.status) || absl::IsPermissionDenied(error.status);
  spdlog::warn("window {} window={} peer={} error={}", refused ? "refused" : "failed",
               *error.window, peer_, Quoted(Shortened(error.status.ToString())));
}

}  // namespace penstock
