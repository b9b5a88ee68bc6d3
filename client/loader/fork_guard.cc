#include "client/loader/fork_guard.h"

#include <unistd.h>

#include <atomic>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/loader/option_names.h"

namespace penstock {
namespace {

// The loaders of this process, in memory that a child of fork() has a copy of.
struct OpenLoaders {
  std::atomic<int> number = 0;
  std::atomic<pid_t> process = 0;  // The process that opened them.
};

OpenLoaders& Opened() {
  static OpenLoaders opened;
  return opened;
}

// Keeps a parent's loader reachable, so that checkers of leaks do not report it.
void KeepForEver(std::unique_ptr<Loader> loader) {
  static auto* kept = new std::vector<std::unique_ptr<Loader>>;
  kept->push_back(std::move(loader));
}

}  // namespace

absl::Status ForkGuard::CheckProcess() {
  const OpenLoaders& opened = Opened();
  if (opened.number == 0 || opened.process == getpid()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "process ", getpid(), " was made by fork() while process ", opened.process.load(), " had ",
      opened.number.load(),
      " loaders open, so it cannot open any; call fork() before the first loader is opened, or "
      "exec() after fork()"));
}

ForkGuard::ForkGuard(std::unique_ptr<Loader> loader, bool messages_name_flags)
    : loader_(std::move(loader)), process_(getpid()), messages_name_flags_(messages_name_flags) {
  Opened().process = process_;
  ++Opened().number;
}

ForkGuard::~ForkGuard() {
  if (Here().ok()) {
    loader_.reset();
    --Opened().number;
  } else {
    KeepForEver(std::move(loader_));
  }
}

absl::Status ForkGuard::Here() const {
  if (getpid() == process_) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "this loader belongs to process ", process_, "; process ", getpid(),
      " is a child of it and has none of its threads. Call fork() before you open a loader"));
}

absl::StatusOr<bool> ForkGuard::Named(absl::StatusOr<bool> result) const {
  if (result.ok() || messages_name_flags_) return result;
  return NameMembers(result.status());
}

absl::StatusOr<bool> ForkGuard::Next(Batch& batch) {
  PENSTOCK_RETURN_IF_ERROR(Here());
  return Named(loader_->Next(batch));
}

absl::StatusOr<bool> ForkGuard::Next(Batch& batch, absl::Duration timeout) {
  PENSTOCK_RETURN_IF_ERROR(Here());
  return Named(loader_->Next(batch, timeout));
}

absl::StatusOr<bool> ForkGuard::Take(Batch& batch) {
  PENSTOCK_RETURN_IF_ERROR(Here());
  return Named(loader_->Take(batch));
}

void ForkGuard::NoteWaiting(uint64_t step) {
  if (Here().ok()) loader_->NoteWaiting(step);
}

bool ForkGuard::Ready() const { return !Here().ok() || loader_->Ready(); }

void ForkGuard::Close() {
  if (Here().ok()) loader_->Close();
}

LoaderStats ForkGuard::stats() const { return Here().ok() ? loader_->stats() : LoaderStats(); }

}  // namespace penstock
