#include "trainer/comm/gloo_communicator.h"

#include <exception>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/process/start_thread.h"
#include "base/status.h"
#include "gloo/transport/tcp/device.h"
#include "gloo/transport/unbound_buffer.h"
#include "trainer/comm/gloo_mesh.h"
#include "trainer/comm/late_watch.h"
#include "trainer/comm/local_address.h"

namespace penstock {
namespace {

// A message in flight.
struct Transfer {
  size_t peer;
  bool is_send;
  std::unique_ptr<gloo::transport::UnboundBuffer> buffer;
};

class GlooCommunicator final : public Communicator {
 public:
  GlooCommunicator(const RankInfo& info, StoreClient& store, const TcpOptions& options,
                   std::shared_ptr<gloo::Context> context, std::unique_ptr<LateWatch> watch)
      : store_(store),
        context_(std::move(context)),
        timeout_(absl::ToChronoMilliseconds(options.timeout)),
        verdict_timeout_(options.verdict_timeout),
        watch_(std::move(watch)),
        sent_(info.world_size),
        received_(info.world_size) {
    store_.OnLost(this, [this](const absl::Status& why) { Abort(why); });
  }
  ~GlooCommunicator() override { store_.OnLost(this, nullptr); }

  size_t rank() const override { return static_cast<size_t>(context_->rank); }
  size_t size() const override { return static_cast<size_t>(context_->size); }
  void Mark(uint64_t step, uint32_t bucket) override { watch_->Mark(step, bucket); }
  absl::Status Exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override;

 private:
  // The n-th message between two ranks uses slot n.
  void Post(const Travelling& travelling, std::vector<Transfer>& transfers);
  absl::Status WaitForAll(std::vector<Transfer>& transfers);
  void Abort(const absl::Status& why);
  // Turns a failed wait for `peer` into the error that ends the communicator.
  absl::Status Fail(size_t peer, const char* what);

  StoreClient& store_;
  const std::shared_ptr<gloo::Context> context_;  // Shared with Gloo's own objects.
  const std::chrono::milliseconds timeout_;
  const absl::Duration verdict_timeout_;
  const std::unique_ptr<LateWatch> watch_;
  std::vector<uint64_t> sent_, received_;  // Number of messages to and from each rank.

  Mutex mutex_;
  absl::Status ended_ ABSL_GUARDED_BY(mutex_);
  std::vector<Transfer>* active_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

absl::Status GlooCommunicator::Exchange(std::span<const Outgoing> out,
                                        std::span<const Incoming> in) {
  std::vector<Transfer> transfers;
  {
    MutexLock lock(&mutex_);
    PENSTOCK_RETURN_IF_ERROR(ended_);
  }
  Travelling travelling;
  PENSTOCK_RETURN_IF_ERROR(CopyOwn(rank(), size(), out, in, travelling));
  try {
    Post(travelling, transfers);
  } catch (const std::exception& error) {
    return Fail(transfers.empty() ? rank() : transfers.back().peer, error.what());
  }
  {
    MutexLock lock(&mutex_);
    PENSTOCK_RETURN_IF_ERROR(ended_);
    active_ = &transfers;
  }
  watch_->Begin();
  const absl::Status status = WaitForAll(transfers);
  {
    MutexLock lock(&mutex_);
    active_ = nullptr;
  }
  watch_->End();
  return status;
}

// Posts receives first, so that arriving messages find their buffers.
void GlooCommunicator::Post(const Travelling& travelling, std::vector<Transfer>& transfers) {
  for (const Incoming& message : travelling.in) {
    transfers.push_back(
        {message.from, false,
         context_->createUnboundBuffer(message.bytes.data(), message.bytes.size())});
    transfers.back().buffer->recv(static_cast<int>(message.from), received_[message.from]++);
  }
  for (const Outgoing& message : travelling.out) {
    transfers.push_back({message.to, true,
                         context_->createUnboundBuffer(const_cast<uint8_t*>(message.bytes.data()),
                                                       message.bytes.size())});
    transfers.back().buffer->send(static_cast<int>(message.to), sent_[message.to]++);
  }
}

absl::Status GlooCommunicator::WaitForAll(std::vector<Transfer>& transfers) {
  for (Transfer& transfer : transfers) {
    try {
      const bool completed = transfer.is_send ? transfer.buffer->waitSend(timeout_)
                                              : transfer.buffer->waitRecv(timeout_);
      if (!completed) return Fail(transfer.peer, "the wait was aborted");
    } catch (const std::exception& error) {
      return Fail(transfer.peer, error.what());
    }
  }
  return absl::OkStatus();
}

void GlooCommunicator::Abort(const absl::Status& why) {
  MutexLock lock(&mutex_);
  if (ended_.ok()) ended_ = why;
  if (active_ == nullptr) return;
  for (Transfer& transfer : *active_) {
    transfer.buffer->abortWaitRecv();
    transfer.buffer->abortWaitSend();
  }
}

absl::Status GlooCommunicator::Fail(size_t peer, const char* what) {
  const absl::Status verdict = store_.WaitForLost(verdict_timeout_);
  const absl::Status failed = ExplainFailedExchange(peer, absl::UnavailableError(what), *watch_);
  MutexLock lock(&mutex_);
  if (!verdict.ok()) {
    ended_ = verdict;
  } else if (ended_.ok()) {
    ended_ = failed;
  }
  return ended_;
}

absl::StatusOr<std::shared_ptr<gloo::Context>> Connect(const RankInfo& info, StoreClient& store,
                                                       const TcpOptions& options) {
  gloo::transport::tcp::attr attributes;
  attributes.iface = options.interface;
  if (options.interface.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(attributes.hostname, LocalAddress(info));
  }
  absl::Status status;
  auto mesh = std::make_shared<GlooMesh>(info);
  try {
    status = mesh->Connect(gloo::transport::tcp::CreateDevice(attributes), store,
                           options.connect_timeout);
  } catch (const std::system_error& error) {  // Gloo could not start its thread.
    status = NoThreadError("of Gloo", error.code());
  } catch (const std::exception& error) {
    status = absl::UnavailableError(error.what());
  }
  if (status.ok()) return mesh;
  return ExplainNoConnection(
      store, options, options.interface.empty() ? attributes.hostname : options.interface, status);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> ConnectGloo(const RankInfo& info, StoreClient& store,
                                                          const TcpOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(std::shared_ptr<gloo::Context> context, Connect(info, store, options));
  PENSTOCK_ASSIGN_OR_RETURN(
      std::unique_ptr<LateWatch> watch,
      LateWatch::Start(info, store,
                       {"gloo", absl::ToChronoMilliseconds(options.late_after), options.report}));
  return std::make_unique<GlooCommunicator>(info, store, options, std::move(context),
                                            std::move(watch));
}

TcpWay TcpWayOfThisBuild() { return {"Gloo", ConnectGloo}; }

}  // namespace penstock
