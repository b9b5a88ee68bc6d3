#include "trainer/comm/store_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock {

StoreTable::StoreTable(std::string job, uint64_t generation, uint32_t world_size)
    : job_(std::move(job)), generation_(generation), world_size_(world_size) {}

absl::Status StoreTable::Check(const v1::RankHello& hello) const {
  if (hello.job() != job_) {
    return absl::FailedPreconditionError(absl::StrCat(
        "rank 0 at this address belongs to job \"", job_, "\", but this rank belongs to job \"",
        hello.job(), "\": give each training its own --rendezvous"));
  }
  if (hello.generation() < generation_) {
    return absl::FailedPreconditionError(
        absl::StrCat("this rank belongs to start ", hello.generation(),
                     " of the job, but the job was restarted and is at start ", generation_,
                     "; end this process"));
  }
  if (hello.generation() > generation_) {
    return absl::UnavailableError(absl::StrCat("rank 0 still belongs to start ", generation_,
                                               " of the job, and this rank to start ",
                                               hello.generation(), "; end the old rank 0"));
  }
  if (hello.world_size() != world_size_) {
    return absl::FailedPreconditionError(
        absl::StrCat("the world size is ", world_size_, " on rank 0 and ", hello.world_size(),
                     " on rank ", hello.rank(), ": it must be the same on all ranks"));
  }
  if (hello.rank() >= world_size_) {
    return absl::FailedPreconditionError(absl::StrCat("rank ", hello.rank(),
                                                      " does not exist: there are ", world_size_,
                                                      " ranks, counted from 0"));
  }
  if (const auto it = ranks_.find(hello.rank()); it != ranks_.end()) {
    return absl::AlreadyExistsError(absl::StrCat("rank ", hello.rank(), " is taken by ",
                                                 it->second.process,
                                                 ": give each process its own rank"));
  }
  return absl::OkStatus();
}

absl::Status StoreTable::Join(const v1::RankHello& hello, StoreMember& member) {
  MutexLock lock(&mutex_);
  if (absl::Status status = Check(hello); !status.ok()) return status;
  // Announces the rank before adding it: members hear of each new rank, not of all those still
  // missing.
  v1::StoreMessage joined;
  joined.mutable_joined()->set_rank(hello.rank());
  TellAll(joined);
  ranks_[hello.rank()] = {&member, absl::StrCat("pid ", hello.pid(), " on ", hello.host()), false};
  for (const auto& [key, entry] : entries_) TellEntry(hello.rank(), entry);
  if (ranks_.size() == world_size_) entries_.clear();  // No rank is left to come.
  TellMissing(member);
  if (lost_.has_value()) {
    v1::StoreMessage message;
    *message.mutable_lost() = *lost_;
    member.Tell(message);
  }
  return absl::OkStatus();
}

absl::Status StoreTable::Put(const v1::StoreEntry& entry) {
  const auto values = static_cast<uint32_t>(entry.values_size());
  if (values != 0 && values != world_size_) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", entry.key(), "\" has ", values, " values for ", world_size_, " ranks"));
  }
  MutexLock lock(&mutex_);
  if (entry.has_to()) {
    if (!ranks_.contains(entry.to())) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", entry.key(), "\" is for rank ", entry.to(), ", which has not joined"));
    }
    TellEntry(entry.to(), entry);
    return absl::OkStatus();
  }
  if (ranks_.size() < world_size_) entries_[entry.key()] = entry;
  for (const auto& [number, rank] : ranks_) TellEntry(number, entry);
  return absl::OkStatus();
}

void StoreTable::Leave(uint32_t rank, const v1::RankLeave& leave) {
  MutexLock lock(&mutex_);
  ranks_[rank].left = true;
  if (leave.interrupted()) return Lose(rank, "was interrupted", true);
  if (!leave.error().empty()) Lose(rank, absl::StrCat("failed: ", leave.error()));
}

void StoreTable::Remove(uint32_t rank) {
  MutexLock lock(&mutex_);
  Rank& removed = ranks_[rank];
  removed.member = nullptr;
  if (!removed.left) Lose(rank, "died, or its host cannot be reached");
  changed_.NotifyAll();
}

bool StoreTable::WaitUntilEmpty(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  MutexLock lock(&mutex_);
  auto is_connected = [](const auto& entry) { return entry.second.member != nullptr; };
  while (std::any_of(ranks_.begin(), ranks_.end(), is_connected)) {
    if (!changed_.WaitUntil(&mutex_, deadline) && std::chrono::steady_clock::now() >= deadline) {
      return false;
    }
  }
  return true;
}

void StoreTable::TellAll(const v1::StoreMessage& message) {
  for (auto& [number, rank] : ranks_) {
    if (rank.member != nullptr) rank.member->Tell(message);
  }
}

void StoreTable::TellEntry(uint32_t rank, const v1::StoreEntry& entry) {
  StoreMember* const member = ranks_[rank].member;
  if (member == nullptr) return;
  v1::StoreMessage message;
  message.mutable_put()->set_key(entry.key());
  message.mutable_put()->set_value(entry.values().empty() ? entry.value()
                                                          : entry.values(static_cast<int>(rank)));
  member->Tell(message);
}

void StoreTable::TellMissing(StoreMember& member) {
  v1::StoreMessage message;
  message.mutable_missing();
  for (uint32_t rank = 0; rank < world_size_; ++rank) {
    if (!ranks_.contains(rank)) message.mutable_missing()->add_rank(rank);
  }
  member.Tell(message);
}

void StoreTable::Lose(uint32_t rank, const std::string& why, bool interrupted) {
  if (lost_.has_value()) return;
  lost_.emplace();
  lost_->set_rank(rank);
  lost_->set_why(absl::StrCat("rank ", rank, " (", ranks_[rank].process, ") ", why));
  lost_->set_interrupted(interrupted);
  v1::StoreMessage message;
  *message.mutable_lost() = *lost_;
  TellAll(message);
}

}  // namespace penstock
