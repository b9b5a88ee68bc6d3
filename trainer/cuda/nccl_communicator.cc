#include "trainer/cuda/nccl_communicator.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "trainer/comm/late_watch.h"
#include "trainer/comm/poll.h"
#include "trainer/cuda/nccl_aborter.h"

namespace penstock {
namespace {

constexpr absl::Duration kFinalizeTimeout = absl::Seconds(5);
// Pause between two polls of queued work; a finished step may wait this long.
constexpr std::chrono::microseconds kLookPause{20};

class NcclCommunicator final : public CapturingCommunicator {
 public:
  NcclCommunicator(const RankInfo& info, StoreClient& store, const NcclLibrary& nccl,
                   DeviceStream& stream, const WaitOptions& options, const NcclMode& mode)
      : info_(info),
        store_(store),
        nccl_(nccl),
        stream_(stream),
        options_(options),
        mode_(mode),
        timeout_(options.timeout) {}
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
  absl::Status TryGraph(absl::Duration timeout) override;

 private:
  absl::Status StartThreads();
  absl::StatusOr<NcclId> ShareId();
  absl::Status Initialize(const NcclId& id);
  // Posts the messages. Waits until NCCL has taken them or, with `stream_too`, until the stream has
  // finished them.
  absl::Status RunExchange(std::span<const Outgoing> out, std::span<const Incoming> in,
                           bool stream_too);
  // Runs `wait` while the watch counts this rank as waiting. Errors end the communicator.
  absl::Status Watched(absl::FunctionRef<absl::Status()> wait);
  absl::Status EndWait(const absl::Status& status);
  absl::Status Post(const Travelling& travelling);
  absl::Status CloseGroup();
  absl::Status CaptureGather(std::span<const std::span<uint8_t>> parts);
  // `host` is memory for what arrives. It must be freed after an abort: freeing waits for the GPU.
  absl::Status CheckGraph(DeviceStream::Memory& host);
  absl::Status PostAll(const Travelling& travelling);

  // Returns false if NCCL still works on its last request.
  absl::StatusOr<bool> IsIdle();
  // Waits until NCCL has taken its request and `done`, which may renew `patience`, returns true.
  absl::Status Wait(const Patience& patience, absl::FunctionRef<absl::StatusOr<bool>()> done);
  absl::Status Wait(absl::Duration timeout, bool stream_too) {
    return Wait(Patience(timeout),
                [&]() -> absl::StatusOr<bool> { return stream_too ? stream_.Done() : true; });
  }
  // Runs `call`, which blocks if the communicator does. `end` ends it after `timeout`, or if a rank
  // is lost.
  absl::Status RunCall(const char* function, absl::Duration timeout, std::function<void()> end,
                       absl::FunctionRef<NcclResult()> call);
  std::function<void()> EndOfComm() {
    return [this, comm = comm_] { (void)nccl_.abort(comm); };
  }
  absl::Status TimedOut(absl::Duration timeout) const;
  // Ends the communicator with `status`, or with the loss of a rank that may have caused it.
  absl::Status End(const absl::Status& status);
  void Abort();
  void Finalize();

  const RankInfo info_;
  StoreClient& store_;
  const NcclLibrary nccl_;
  DeviceStream& stream_;
  const WaitOptions options_;
  const NcclMode mode_;
  absl::Duration timeout_;            // Time limit of an exchange.
  std::unique_ptr<LateWatch> watch_;  // Set by Connect().
  NcclLibrary::Comm comm_ = nullptr;  // Null before connecting and after Abort().
  DeviceStream::Memory marks_;        // Memory for barriers, one byte per rank.
  bool has_queued_ = false;
  absl::Status ended_;
  std::unique_ptr<NcclAborter> aborter_;
};

absl::Status NcclCommunicator::StartThreads() {
  PENSTOCK_ASSIGN_OR_RETURN(aborter_, NcclAborter::Start());
  PENSTOCK_ASSIGN_OR_RETURN(
      watch_, LateWatch::Start(info_, store_,
                               {mode_.blocking ? "blocking nccl" : "nccl",
                                absl::ToChronoMilliseconds(options_.late_after), options_.report}));
  return absl::OkStatus();
}

absl::StatusOr<NcclId> NcclCommunicator::ShareId() {
  const char* const key = mode_.blocking ? "nccl/blocking/id" : "nccl/id";
  NcclId id = {};
  if (rank() == 0) {
    PENSTOCK_RETURN_IF_ERROR(nccl_.Check(nccl_.get_unique_id(&id), "ncclGetUniqueId"));
    PENSTOCK_RETURN_IF_ERROR(store_.Put(key, std::string(id.bytes, sizeof(id.bytes))));
    return id;
  }
  const absl::StatusOr<std::string> bytes = store_.Get(key, options_.connect_timeout);
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
  watch_->Begin();
  absl::Status status = Initialize(id);
  if (status.ok()) status = Wait(options_.connect_timeout, /*stream_too=*/false);
  watch_->End();
  if (status.ok()) return status;
  return Annotate(End(status), "connecting the GPUs of the ranks");
}

// While NCCL blocks here, there is no communicator yet that could be aborted.
absl::Status NcclCommunicator::Initialize(const NcclId& id) {
  NcclConfig config;
  config.blocking = mode_.blocking ? 1 : 0;
  const auto stuck = [this] {
    if (!mode_.on_stuck) return;
    mode_.on_stuck(
        Annotate(TimedOut(options_.connect_timeout), "connecting the GPUs of the ranks"));
  };
  NcclLibrary::Comm made = nullptr;
  const absl::Status status =
      RunCall("ncclCommInitRankConfig", options_.connect_timeout, stuck, [&] {
        return nccl_.init_rank(&made, static_cast<int>(size()), id, static_cast<int>(rank()),
                               &config);
      });
  comm_ = made;
  return status;
}

// Waits at most a few seconds for other ranks.
NcclCommunicator::~NcclCommunicator() {
  if (comm_ != nullptr) Finalize();
}

void NcclCommunicator::Finalize() {
  absl::Status status = RunCall("ncclCommFinalize", kFinalizeTimeout, EndOfComm(),
                                [&] { return nccl_.finalize(comm_); });
  if (comm_ == nullptr) return;
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
  return Wait(timeout_, stream_too);
}

absl::Status NcclCommunicator::Post(const Travelling& travelling) {
  PENSTOCK_RETURN_IF_ERROR(nccl_.Check(nccl_.group_start(), "ncclGroupStart"));
  const absl::Status posted = PostAll(travelling);
  const absl::Status closed = CloseGroup();
  return posted.ok() ? closed : posted;
}

// Here a blocking communicator connects to ranks that it has not talked to yet.
absl::Status NcclCommunicator::CloseGroup() {
  return RunCall("ncclGroupEnd", timeout_, EndOfComm(), [&] { return nccl_.group_end(); });
}

absl::Status NcclCommunicator::RunCall(const char* function, absl::Duration timeout,
                                       std::function<void()> end,
                                       absl::FunctionRef<NcclResult()> call) {
  if (!mode_.blocking) return nccl_.Check(call(), function);
  const Patience patience(timeout);
  bool ended = false;
  const auto look = [&]() -> absl::Status {
    absl::Status status = store_.lost();
    if (status.ok() && patience.ended()) status = TimedOut(timeout);
    ended = !status.ok();
    return status;
  };
  const absl::Status status =
      aborter_->Guard(look, std::move(end), [&] { return nccl_.Check(call(), function); });
  if (ended) comm_ = nullptr;  // `end` has ended it.
  return status;
}

absl::Status NcclCommunicator::TimedOut(absl::Duration timeout) const {
  const std::string late = watch_->Late();
  return absl::UnavailableError(absl::StrCat("the GPUs of the ranks did not finish within ",
                                             absl::FormatDuration(timeout),
                                             late.empty() ? "" : "; ", late));
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
  return is_done ? absl::OkStatus() : TimedOut(patience.timeout());
}

// Each rank sends another byte to every rank.
absl::Status NcclCommunicator::CheckGraph(DeviceStream::Memory& host) {
  PENSTOCK_ASSIGN_OR_RETURN(host, stream_.Allocate(DeviceStream::Place::kPinnedHost, size()));
  const auto byte_of = [](size_t rank) { return static_cast<uint8_t>(rank + 1); };
  std::fill_n(host.get(), size(), uint8_t{0});
  host.get()[rank()] = byte_of(rank());
  std::vector<std::span<uint8_t>> parts;
  for (size_t r = 0; r < size(); ++r) parts.push_back({marks_.get() + r, 1});
  PENSTOCK_RETURN_IF_ERROR(stream_.Copy(marks_.get(), host.get(), size()));
  PENSTOCK_RETURN_IF_ERROR(CaptureGather(parts));
  PENSTOCK_RETURN_IF_ERROR(Wait(timeout_, /*stream_too=*/true));
  PENSTOCK_RETURN_IF_ERROR(stream_.Copy(host.get(), marks_.get(), size()));
  PENSTOCK_RETURN_IF_ERROR(Wait(timeout_, /*stream_too=*/true));
  for (size_t r = 0; r < size(); ++r) {
    if (host.get()[r] == byte_of(r)) continue;
    return absl::InternalError(
        absl::StrCat("the byte of rank ", r, " arrived as ", int{host.get()[r]}));
  }
  return absl::OkStatus();
}

absl::Status NcclCommunicator::CaptureGather(std::span<const std::span<uint8_t>> parts) {
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (size_t r = 0; r < size(); ++r) {
    if (r == rank()) continue;
    out.push_back({r, parts[rank()]});
    in.push_back({r, parts[r]});
  }
  PENSTOCK_RETURN_IF_ERROR(stream_.BeginCapture());
  const absl::Status captured = RunExchange(out, in, /*stream_too=*/false);
  const absl::Status made = stream_.EndCapture();
  PENSTOCK_RETURN_IF_ERROR(captured);
  PENSTOCK_RETURN_IF_ERROR(made);
  return stream_.LaunchGraph();
}

absl::Status NcclCommunicator::TryGraph(absl::Duration timeout) {
  timeout_ = timeout;
  DeviceStream::Memory host;
  watch_->Begin();
  const absl::Status tried = CheckGraph(host);
  watch_->End();
  timeout_ = options_.timeout;
  if (tried.ok()) {
    stream_.EndGraph();
    return tried;
  }
  has_queued_ = true;  // So the abort waits for the graph.
  const absl::Status ended = End(tried);
  stream_.EndGraph();
  aborter_->Join();
  return ended;
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
  const std::function<void()> end = EndOfComm();
  comm_ = nullptr;
  if (!aborter_->Abort(end)) return end();
  if (!has_queued_) aborter_->Join();
}

}  // namespace

absl::StatusOr<std::unique_ptr<CapturingCommunicator>> ConnectNccl(
    const RankInfo& info, StoreClient& store, const NcclLibrary& nccl, DeviceStream& stream,
    const WaitOptions& options, const NcclMode& mode) {
  auto communicator = std::make_unique<NcclCommunicator>(info, store, nccl, stream, options, mode);
  PENSTOCK_RETURN_IF_ERROR(communicator->Connect());
  return communicator;
}

}  // namespace penstock
