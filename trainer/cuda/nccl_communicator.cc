#include "trainer/cuda/nccl_communicator.h"

#include <chrono>
#include <cstring>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/process/start_thread.h"
#include "base/status.h"
#include "trainer/comm/late_watch.h"
#include "trainer/comm/poll.h"

namespace penstock {
namespace {

constexpr char kIdKey[] = "nccl/id";
constexpr absl::Duration kFinalizeTimeout = absl::Seconds(5);
// Pause between two polls of queued work; a finished step may wait this long.
constexpr std::chrono::microseconds kLookPause{20};

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(const RankInfo& info, StoreClient& store, const NcclLibrary& nccl,
                   DeviceStream& stream, const WaitOptions& options)
      : info_(info), store_(store), nccl_(nccl), stream_(stream), options_(options) {}
  ~NcclCommunicator() override;

  absl::Status Connect();

  size_t rank() const override { return info_.rank; }
  size_t size() const override { return info_.world_size; }
  Memory memory() const override { return Memory::kDevice; }
  void Mark(uint64_t step, uint32_t bucket) override { watch_->Mark(step, bucket); }
  absl::Status Exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override;
  bool CanQueue() const override { return true; }
  absl::Status Queue(std::span<const Outgoing> out, std::span<const Incoming> in) override;
  absl::Status AwaitQueued(absl::FunctionRef<absl::StatusOr<Queued>()> look) override;
  void Abandon(const absl::Status& why) override;
  absl::Status Barrier() override;

 private:
  absl::Status StartThreads();
  absl::StatusOr<NcclId> ShareId();
  // Posts the messages. Waits until NCCL has taken them or, with `stream_too`, until the stream has
  // finished them.
  absl::Status RunExchange(std::span<const Outgoing> out, std::span<const Incoming> in,
                           bool stream_too);
  // Runs `wait` while the watch counts this rank as waiting. Errors end the communicator.
  absl::Status Watched(absl::FunctionRef<absl::Status()> wait);
  absl::Status EndWait(const absl::Status& status);
  absl::Status Post(const Travelling& travelling);
  absl::Status PostAll(const Travelling& travelling);

  // Returns false if NCCL still works on its last request.
  absl::StatusOr<bool> IsIdle();
  // Waits until NCCL has taken its request and `done`, which may renew `patience`, returns true.
  absl::Status Wait(const Patience& patience, absl::FunctionRef<absl::StatusOr<bool>()> done);
  absl::Status Wait(absl::Duration timeout, bool stream_too) {
    return Wait(Patience(timeout),
                [&]() -> absl::StatusOr<bool> { return stream_too ? stream_.Done() : true; });
  }
  // Ends the communicator with `status`, or with the loss of a rank that may have caused it.
  absl::Status End(const absl::Status& status);
  void Abort();
  void Finalize();

  const RankInfo info_;
  StoreClient& store_;
  const NcclLibrary nccl_;
  DeviceStream& stream_;
  const WaitOptions options_;
  std::unique_ptr<LateWatch> watch_;  // Set by Connect().
  NcclLibrary::Comm comm_ = nullptr;  // Null before connecting and after Abort().
  DeviceStream::Memory marks_;        // Memory for barriers, one byte per rank.
  bool has_queued_ = false;
  absl::Status ended_;
  NcclLibrary::Comm to_abort_ = nullptr;
  std::counting_semaphore<2> abort_or_end_{0};
  std::jthread aborting_;  // Started early, because starting it may fail after an exchange breaks.
};

absl::Status NcclCommunicator::StartThreads() {
  PENSTOCK_ASSIGN_OR_RETURN(aborting_, StartThread("that ends a broken exchange", [this] {
                              abort_or_end_.acquire();
                              if (to_abort_ != nullptr) (void)nccl_.abort(to_abort_);
                            }));
  PENSTOCK_ASSIGN_OR_RETURN(
      watch_,
      LateWatch::Start(info_, store_,
                       {"nccl", absl::ToChronoMilliseconds(options_.late_after), options_.report}));
  return absl::OkStatus();
}

absl::StatusOr<NcclId> NcclCommunicator::ShareId() {
  NcclId id = {};
  if (rank() == 0) {
    PENSTOCK_RETURN_IF_ERROR(nccl_.Check(nccl_.get_unique_id(&id), "ncclGetUniqueId"));
    PENSTOCK_RETURN_IF_ERROR(store_.Put(kIdKey, std::string(id.bytes, sizeof(id.bytes))));
    return id;
  }
  const absl::StatusOr<std::string> bytes = store_.Get(kIdKey, options_.connect_timeout);
  if (absl::IsDeadlineExceeded(bytes.status())) {
    return absl::UnavailableError(
        absl::StrCat("connecting the GPUs of the ranks: rank 0 did not start NCCL within ",
                     absl::FormatDuration(options_.connect_timeout), "; check its output"));
  }
  PENSTOCK_RETURN_IF_ERROR(bytes.status());
  if (bytes->size() != sizeof(id.bytes)) {
    return absl::InternalError(absl::StrCat("rank 0's NCCL id has ", bytes->size(),
                                            " bytes instead of ", sizeof(id.bytes),
                                            ": start all ranks from the same build"));
  }
  std::memcpy(id.bytes, bytes->data(), bytes->size());
  return id;
}

absl::Status NcclCommunicator::Connect() {
  PENSTOCK_RETURN_IF_ERROR(StartThreads());
  PENSTOCK_ASSIGN_OR_RETURN(marks_, stream_.Allocate(DeviceStream::Place::kDevice, size()));
  PENSTOCK_ASSIGN_OR_RETURN(const NcclId id, ShareId());
  NcclConfig config;
  const NcclResult result =
      nccl_.init_rank(&comm_, static_cast<int>(size()), id, static_cast<int>(rank()), &config);
  absl::Status status = nccl_.Check(result, "ncclCommInitRankConfig");
  watch_->Begin();
  if (status.ok()) status = Wait(options_.connect_timeout, /*stream_too=*/false);
  watch_->End();
  if (status.ok()) return status;
  return Annotate(End(status), "connecting the GPUs of the ranks");
}

// Waits at most a few seconds for other ranks.
NcclCommunicator::~NcclCommunicator() {
  if (comm_ != nullptr) Finalize();
  abort_or_end_.release();
}

void NcclCommunicator::Finalize() {
  absl::Status status = nccl_.Check(nccl_.finalize(comm_), "ncclCommFinalize");
  if (status.ok()) status = Wait(kFinalizeTimeout, /*stream_too=*/true);
  (void)(status.ok() ? nccl_.destroy(comm_) : nccl_.abort(comm_));
}

absl::Status NcclCommunicator::Barrier() {
  std::vector<std::span<uint8_t>> parts;
  for (size_t r = 0; r < size(); ++r) parts.push_back({marks_.get() + r, 1});
  return AllGather(parts);
}

absl::Status NcclCommunicator::Exchange(std::span<const Outgoing> out,
                                        std::span<const Incoming> in) {
  return Watched([&] { return RunExchange(out, in, /*stream_too=*/true); });
}

absl::Status NcclCommunicator::Queue(std::span<const Outgoing> out, std::span<const Incoming> in) {
  has_queued_ = true;
  return Watched([&] { return RunExchange(out, in, /*stream_too=*/false); });
}

// A rank that still computes does not wait; it is the late one if others wait. The timeout and the
// watch measure time without progress, not the time of all queued work.
absl::Status NcclCommunicator::AwaitQueued(absl::FunctionRef<absl::StatusOr<Queued>()> look) {
  PENSTOCK_RETURN_IF_ERROR(ended_);
  Patience patience(options_.timeout);
  std::optional<Queued::Place> last;
  auto done = [&]() -> absl::StatusOr<bool> {
    PENSTOCK_ASSIGN_OR_RETURN(const Queued queued, look());
    if (queued.place != last && queued.place.has_value()) {
      watch_->Mark(queued.place->step, queued.place->bucket);
      watch_->Begin();
      patience.Renew();
    }
    last = queued.place;
    return queued.done;
  };
  return EndWait(Wait(patience, done));
}

absl::Status NcclCommunicator::Watched(absl::FunctionRef<absl::Status()> wait) {
  PENSTOCK_RETURN_IF_ERROR(ended_);
  watch_->Begin();
  return EndWait(wait());
}

absl::Status NcclCommunicator::EndWait(const absl::Status& status) {
  watch_->End();
  if (status.ok() || absl::IsInvalidArgument(status)) return status;
  return End(status);
}

absl::Status NcclCommunicator::RunExchange(std::span<const Outgoing> out,
                                           std::span<const Incoming> in, bool stream_too) {
  PENSTOCK_RETURN_IF_ERROR(store_.lost());
  Travelling travelling;
  PENSTOCK_RETURN_IF_ERROR(CopyOwn(rank(), size(), out, in, travelling,
                                   [this](uint8_t* to, const uint8_t* from, size_t bytes) {
                                     return stream_.Copy(to, from, bytes);
                                   }));
  PENSTOCK_RETURN_IF_ERROR(Post(travelling));
  return Wait(options_.timeout, stream_too);
}

absl::Status NcclCommunicator::Post(const Travelling& travelling) {
  PENSTOCK_RETURN_IF_ERROR(nccl_.Check(nccl_.group_start(), "ncclGroupStart"));
  const absl::Status posted = PostAll(travelling);
  const absl::Status closed = nccl_.Check(nccl_.group_end(), "ncclGroupEnd");
  return posted.ok() ? closed : posted;
}

// Skips empty messages: both ends know that they are empty.
absl::Status NcclCommunicator::PostAll(const Travelling& travelling) {
  void* stream = stream_.handle();
  for (const Incoming& message : travelling.in) {
    if (message.bytes.empty()) continue;
    PENSTOCK_RETURN_IF_ERROR(
        nccl_.Check(nccl_.receive(message.bytes.data(), message.bytes.size(), kNcclUint8,
                                  static_cast<int>(message.from), comm_, stream),
                    "ncclRecv"));
  }
  for (const Outgoing& message : travelling.out) {
    if (message.bytes.empty()) continue;
    PENSTOCK_RETURN_IF_ERROR(
        nccl_.Check(nccl_.send(message.bytes.data(), message.bytes.size(), kNcclUint8,
                               static_cast<int>(message.to), comm_, stream),
                    "ncclSend"));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> NcclCommunicator::IsIdle() {
  NcclResult state = kNcclSuccess;
  PENSTOCK_RETURN_IF_ERROR(
      nccl_.Check(nccl_.get_async_error(comm_, &state), "ncclCommGetAsyncError"));
  PENSTOCK_RETURN_IF_ERROR(nccl_.Check(state, "the last operation"));
  return state == kNcclSuccess;
}

absl::Status NcclCommunicator::Wait(const Patience& patience,
                                    absl::FunctionRef<absl::StatusOr<bool>()> done) {
  auto look = [&]() -> absl::StatusOr<bool> {
    PENSTOCK_ASSIGN_OR_RETURN(const bool idle, IsIdle());
    PENSTOCK_RETURN_IF_ERROR(store_.lost());
    return idle ? done() : idle;
  };
  PENSTOCK_ASSIGN_OR_RETURN(const bool is_done, PollUntil(patience, look, kLookPause));
  if (is_done) return absl::OkStatus();
  const std::string late = watch_->Late();
  return absl::UnavailableError(absl::StrCat("the GPUs of the ranks did not finish within ",
                                             absl::FormatDuration(patience.timeout()),
                                             late.empty() ? "" : "; ", late));
}

absl::Status NcclCommunicator::End(const absl::Status& status) {
  const absl::Status verdict = store_.WaitForLost(options_.verdict_timeout);
  ended_ = verdict.ok() ? status : verdict;
  Abort();
  return ended_;
}

void NcclCommunicator::Abandon(const absl::Status& why) {
  if (!ended_.ok()) return;
  ended_ = why;
  Abort();
}

// An abort ends queued work at once, then waits until no graph with a captured exchange is left.
// The caller destroys those graphs, but only after this returns; hence the separate thread.
void NcclCommunicator::Abort() {
  if (comm_ == nullptr) return;
  to_abort_ = std::exchange(comm_, nullptr);
  abort_or_end_.release();
  if (!has_queued_) aborting_.join();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> ConnectNccl(const RankInfo& info, StoreClient& store,
                                                          const NcclLibrary& nccl,
                                                          DeviceStream& stream,
                                                          const WaitOptions& options) {
  auto communicator = std::make_unique<NcclCommunicator>(info, store, nccl, stream, options);
  PENSTOCK_RETURN_IF_ERROR(communicator->Connect());
  return communicator;
}

}  // namespace penstock
