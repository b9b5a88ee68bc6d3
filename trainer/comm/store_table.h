// Rank 0's knowledge about the ranks of its training; does no RPC.
#ifndef PENSTOCK_TRAINER_COMM_STORE_TABLE_H_
#define PENSTOCK_TRAINER_COMM_STORE_TABLE_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/mutex.h"
#include "proto/rank_store.pb.h"

namespace penstock {

// One connected rank, to which the table sends messages.
class StoreMember {
 public:
  // Called with the table locked; must neither block nor call the table.
  virtual void Tell(const v1::StoreMessage& message) = 0;

 protected:
  ~StoreMember() = default;
};

// Thread-safe. A member must be removed before it is destroyed.
class StoreTable {
 public:
  StoreTable(std::string job, uint64_t generation, uint32_t world_size);

  // Errors are those of proto/rank_store.proto; then `member` is not kept.
  absl::Status Join(const v1::RankHello& hello, StoreMember& member);
  // Sends the entry to everyone, including the sender. If it has `values`, sends each rank its own
  // one instead; if it has `to`, sends it only to that rank, which must have joined.
  // kInvalidArgument: the number of values differs from the number of ranks, or there is no such
  // rank.
  absl::Status Put(const v1::StoreEntry& entry);
  // Records that the rank ends: done, interrupted, or failed.
  void Leave(uint32_t rank, const v1::RankLeave& leave);
  // Records that the rank's connection ended. Without an earlier Leave(), the rank is lost.
  void Remove(uint32_t rank);

  // Returns false if members are still connected after `timeout`.
  bool WaitUntilEmpty(std::chrono::milliseconds timeout);

 private:
  struct Rank {
    StoreMember* member = nullptr;  // Null once its connection has ended.
    std::string process;            // "pid 12 on host7".
    bool left = false;
  };

  absl::Status Check(const v1::RankHello& hello) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TellAll(const v1::StoreMessage& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TellEntry(uint32_t rank, const v1::StoreEntry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TellMissing(StoreMember& member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Lose(uint32_t rank, const std::string& why, bool interrupted = false)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string job_;
  const uint64_t generation_;
  const uint32_t world_size_;
  Mutex mutex_;
  CondVar changed_;
  std::map<uint32_t, Rank> ranks_ ABSL_GUARDED_BY(mutex_);  // Ranks that have joined.
  // Entries by key, kept for ranks that have not joined yet.
  std::map<std::string, v1::StoreEntry> entries_ ABSL_GUARDED_BY(mutex_);
  std::optional<v1::RankLost> lost_ ABSL_GUARDED_BY(mutex_);  // The first loss of a rank.
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_STORE_TABLE_H_
