// A loader in a process that was made by fork().
#ifndef PENSTOCK_CLIENT_LOADER_FORK_GUARD_H_
#define PENSTOCK_CLIENT_LOADER_FORK_GUARD_H_

#include <sys/types.h>

#include <memory>

#include "absl/status/status.h"
#include "client/loader/loader.h"

namespace penstock {

// Passes all calls on to another loader, in the process that opened it. A child of fork() has a
// copy of the loader's memory, but none of its threads, and its mutexes may be locked for ever.
// There Next() and Take() fail, the other calls do nothing, and the destructor frees nothing.
class ForkGuard final : public Loader {
 public:
  // kFailedPrecondition: this process is a child of fork(), and its parent had a loader open then.
  // gRPC and the memory that loaders share do not work in it.
  static absl::Status CheckProcess();

  // Errors pass through NameMembers(), unless `messages_name_flags`.
  ForkGuard(std::unique_ptr<Loader> loader, bool messages_name_flags);
  ~ForkGuard() override;

  absl::StatusOr<bool> Next(Batch& batch) override;
  absl::StatusOr<bool> Next(Batch& batch, absl::Duration timeout) override;
  absl::StatusOr<bool> Take(Batch& batch) override;
  void NoteWaiting(uint64_t step) override;
  bool Ready() const override;
  void Close() override;
  LoaderStats stats() const override;
  uint64_t order_fingerprint() const override { return loader_->order_fingerprint(); }
  uint64_t steps_per_epoch() const override { return loader_->steps_per_epoch(); }
  uint64_t steps_left() const override { return loader_->steps_left(); }

 private:
  // OK in the process that opened the loader.
  absl::Status Here() const;
  absl::StatusOr<bool> Named(absl::StatusOr<bool> result) const;

  std::unique_ptr<Loader> loader_;
  const pid_t process_;
  const bool messages_name_flags_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_FORK_GUARD_H_
