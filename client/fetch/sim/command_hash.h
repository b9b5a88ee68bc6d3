// A hash of every command that a controller gave.
#ifndef PENSTOCK_CLIENT_FETCH_SIM_COMMAND_HASH_H_
#define PENSTOCK_CLIENT_FETCH_SIM_COMMAND_HASH_H_

#include <concepts>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/counter_rng.h"
#include "client/fetch/fetch_actions.h"

namespace penstock::sim {

// A hash over commands in order, each with its time and all its arguments. The same commands give
// the same value on every machine and in every release. It depends on values only, not on
// std::hash, the byte order or addresses. Copyable. Not thread-safe.
class CommandHash {
 public:
  uint64_t value() const { return value_; }

  // Adds one command: `name` and its arguments, at `time`.
  template <typename... Args>
  void Command(absl::Time time, absl::string_view name, const Args&... args) {
    Add(static_cast<uint64_t>(absl::ToUnixNanos(time)));
    Add(name);
    (Add(args), ...);
  }

 private:
  template <std::unsigned_integral Number>
  void Add(Number number) {
    value_ = DeriveKey(value_, number);
  }
  // Adds the length first, so that "ab" and "c" differ from "a" and "bc".
  void Add(absl::string_view text) {
    Add(uint64_t{text.size()});
    uint64_t fnv = 0xcbf29ce484222325ull;  // FNV-1a.
    for (const char c : text) fnv = (fnv ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
    Add(fnv);
  }
  void Add(StreamId stream) {
    Add(stream.server);
    Add(stream.generation);
  }
  void Add(const WindowRequest& window) {
    Add(window.number);
    Add(window.id.epoch);
    Add(window.id.lane);
    Add(window.id.index);
    Add(window.order->epoch());
    Add(window.needed_at);
    Add(uint64_t{window.damaged.size()});
    for (const Damage& damage : window.damaged) Add(damage);
    Add(window.spare.has_value());
    if (window.spare) Add(*window.spare);
  }
  void Add(const Damage& damage) {
    Add(absl::string_view(damage.shard));
    Add(damage.chunk_offset);
    Add(damage.record);
    Add(damage.rest_of_chunk);
  }
  void Add(const FetchRequest& fetch) {
    for (const uint64_t number :
         {fetch.request, fetch.window, uint64_t{fetch.first_row}, uint64_t{fetch.rows},
          uint64_t{fetch.stride}, uint64_t{fetch.count}, fetch.needed_at}) {
      Add(number);
    }
  }
  void Add(const ReadyStep& step) {
    Add(step.index);
    Add(step.slot);
    Add(step.step.begin.epoch);
    Add(step.step.begin.position);
    Add(step.step.first_row);
    Add(step.step.rank_rows);
  }

  uint64_t value_ = 0;
};

}  // namespace penstock::sim

#endif  // PENSTOCK_CLIENT_FETCH_SIM_COMMAND_HASH_H_
