#include "server/failure_log.h"

#include <cstdint>
#include <optional>

#include "server/log.h"

namespace penstock {

void FailureLog::Add(const StreamError& error, absl::string_view client) {
  const bool memory = absl::IsResourceExhausted(error.status);
  // Only requests get this error, when the windows do not fit together.
  if (!error.window.has_value()) {
    if (memory) TellOfMemory(error.status, client);
    return;
  }
  if (memory) told_of_memory_ = true;
  if (error.damage.has_value()) ++num_damaged_;
  if (num_failed_.fetch_add(1) < kMaxLogged) TellOfWindow(error);
}

void FailureLog::TellOfMemory(const absl::Status& status, absl::string_view client) {
  if (told_of_memory_.exchange(true)) return;
  const std::optional<uint64_t> left_out = pass_.AllowFailureLog();
  if (!left_out.has_value()) return;
  LogWarning("windows refused peer={} client={} error={} left_out={}", peer_, Quoted(client),
             Quoted(Shortened(status.ToString())), *left_out);
}

void FailureLog::TellOfWindow(const StreamError& error) const {
  const std::optional<uint64_t> left_out = pass_.AllowFailureLog();
  if (!left_out.has_value()) return;
  if (const std::optional<Damage>& damage = error.damage) {
    LogWarning(
        "damage found shard={} chunk_offset={} chunk_record={} rest_of_chunk={} peer={} error={} "
        "left_out={}",
        Quoted(Shortened(damage->shard)), damage->chunk_offset, damage->record,
        damage->rest_of_chunk, peer_, Quoted(Shortened(error.status.message())), *left_out);
    return;
  }
  const bool refused =
      absl::IsResourceExhausted(error.status) || absl::IsPermissionDenied(error.status);
  LogWarning("window {} window={} peer={} error={} left_out={}", refused ? "refused" : "failed",
             *error.window, peer_, Quoted(Shortened(error.status.ToString())), *left_out);
}

}  // namespace penstock
