// Makes RunRanks() connect ranks with the fake NCCL, or over TCP behind a staged communicator. Host
// memory stands in for device memory.
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/status.h"
#include "trainer/comm/testing/rank_threads.h"
#include "trainer/cuda/nccl_communicator.h"
#include "trainer/cuda/staged_communicator.h"
#include "trainer/cuda/testing/host_stream.h"

namespace penstock {
namespace {

// A communicator together with the objects that it borrows.
class OwningCommunicator final : public Communicator {
 public:
  OwningCommunicator(std::unique_ptr<DeviceStream> stream, std::unique_ptr<Communicator> host,
                     std::unique_ptr<Communicator> device)
      : stream_(std::move(stream)), host_(std::move(host)), device_(std::move(device)) {}

  size_t rank() const override { return device_->rank(); }
  size_t size() const override { return device_->size(); }
  Memory memory() const override { return device_->memory(); }
  void Mark(uint64_t step, uint32_t bucket) override { device_->Mark(step, bucket); }
  absl::Status Exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    return device_->Exchange(out, in);
  }
  absl::Status Barrier() override { return device_->Barrier(); }

 private:
  std::unique_ptr<DeviceStream> stream_;
  std::unique_ptr<Communicator> host_, device_;
};

absl::StatusOr<std::unique_ptr<Communicator>> Connect(const RankInfo& info, StoreClient& store,
                                                      const WaitOptions& options) {
  auto stream = std::make_unique<HostStream>();
#if defined(PENSTOCK_TEST_NCCL)
  PENSTOCK_ASSIGN_OR_RETURN(const NcclLibrary nccl, NcclLibrary::Load());
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> device,
                            ConnectNccl(info, store, nccl, *stream, options));
  return std::make_unique<OwningCommunicator>(std::move(stream), nullptr, std::move(device));
#else
  TcpOptions tcp;
  static_cast<WaitOptions&>(tcp) = options;
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> host, ConnectTcp(info, store, tcp));
  auto device = std::make_unique<StagedCommunicator>(*host, *stream);
  return std::make_unique<OwningCommunicator>(std::move(stream), std::move(host),
                                              std::move(device));
#endif
}

[[maybe_unused]] const bool kConnected = [] {
  setenv("PENSTOCK_CUDA_LIBS", PENSTOCK_FAKE_NCCL, 1);
  TestConnection() = Connect;
  return true;
}();

}  // namespace
}  // namespace penstock
