// A rank on an emulated device that exchanges gradients with the fake NCCL while it computes.
#ifndef PENSTOCK_TRAINER_CUDA_TESTING_NCCL_RANK_H_
#define PENSTOCK_TRAINER_CUDA_TESTING_NCCL_RANK_H_

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/status.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/backend/device/device_backend.h"
#include "trainer/backend/device/step_lists.h"
#include "trainer/backend/device/testing/checking_device.h"
#include "trainer/backend/device/testing/emulated_device.h"
#include "trainer/backend/testing/reference_model.h"
#include "trainer/comm/gated_communicator.h"
#include "trainer/comm/rank_group.h"
#include "trainer/cuda/connect_nccl_tested.h"
#include "trainer/cuda/device_stream.h"
#include "trainer/cuda/nccl_communicator.h"

namespace penstock {

// The exchange stream. `device` is `emulated` or a device that wraps it. Borrows both.
class EmulatedStream final : public DeviceStream {
 public:
  EmulatedStream(Device& device, EmulatedDevice& emulated) : device_(device), emulated_(emulated) {}

  void* handle() const override { return device_.StreamOf(DeviceQueue::kExchange); }
  absl::StatusOr<Memory> Allocate(Place, size_t bytes) override {
    return Memory(new uint8_t[bytes](), [](uint8_t* memory) { delete[] memory; });
  }
  absl::Status Copy(uint8_t* to, const uint8_t* from, size_t bytes) override {
    return device_.Run({.kind = DeviceOpKind::kCopy,
                        .operands = {{const_cast<uint8_t*>(from), bytes, Access::kRead},
                                     {to, bytes, Access::kWrite}}},
                       DeviceQueue::kExchange);
  }
  // A graph begins and ends on kCompute.
  absl::Status BeginCapture() override {
    PENSTOCK_RETURN_IF_ERROR(device_.BeginCapture());
    return Order(DeviceQueue::kCompute, DeviceQueue::kExchange);
  }
  absl::Status EndCapture() override {
    PENSTOCK_RETURN_IF_ERROR(Order(DeviceQueue::kExchange, DeviceQueue::kCompute));
    PENSTOCK_ASSIGN_OR_RETURN(graph_, device_.EndCapture());
    return absl::OkStatus();
  }
  absl::Status LaunchGraph() override { return device_.Launch(graph_); }
  void EndGraph() override { device_.EndGraphs(); }
  absl::StatusOr<bool> Done() override { return emulated_.Done(DeviceQueue::kExchange); }

 private:
  absl::Status Order(DeviceQueue before, DeviceQueue behind) {
    PENSTOCK_RETURN_IF_ERROR(device_.Record(kBucketIsComputed, before));
    return device_.Wait(kBucketIsComputed, behind);
  }

  Device& device_;
  EmulatedDevice& emulated_;
  DeviceGraph graph_ = 0;
};

struct NcclRankOptions {
  ModelConfig model;
  DeviceBackendOptions backend = {};
  std::optional<uint64_t> seed = std::nullopt;  // Seed of the order of streams.
  WaitOptions waits = {};
  NcclMode nccl = {};
  bool tested = false;  // Chooses the mode by ConnectNcclTested().
  std::optional<uint64_t> last_talking_step = std::nullopt;  // See GatedCommunicator.
  // Wraps the device if it is set.
  std::function<std::unique_ptr<Device>(std::unique_ptr<Device>)> wrap = {};
};

// REQUIRES: $PENSTOCK_CUDA_LIBS names the fake. `group` and `log` must outlive this object. Not
// thread-safe.
class NcclRank {
 public:
  NcclRank(RankGroup& group, NcclRankOptions options, DeviceLog& log) : options_(options) {
    auto emulated = std::make_unique<EmulatedDevice>(EmulatedDeviceOptions{.seed = options.seed});
    EmulatedDevice& inner = *emulated;
    auto checking = std::make_unique<CheckingDevice>(std::move(emulated), log);
    stream_ = std::make_unique<EmulatedStream>(*checking, inner);
    std::unique_ptr<Device> device = std::move(checking);
    if (options.wrap) device = options.wrap(std::move(device));
    Start(group, std::move(device));
  }

  DeviceBackend& backend() { return *backend_; }
  Communicator& ranks() { return *ranks_; }

 private:
  absl::StatusOr<std::unique_ptr<Communicator>> Connect(RankGroup& group, const NcclLibrary& nccl) {
    if (options_.tested) {
      return ConnectNcclTested(group.info(), *group.store(), nccl, *stream_, options_.waits, {});
    }
    return ConnectNccl(group.info(), *group.store(), nccl, *stream_, options_.waits, options_.nccl);
  }
  void Start(RankGroup& group, std::unique_ptr<Device> device) {
    ASSERT_OK_AND_ASSIGN(const NcclLibrary nccl, NcclLibrary::Load());
    ASSERT_OK_AND_ASSIGN(std::unique_ptr<Communicator> gradient_ranks, Connect(group, nccl));
    ranks_ = &group.communicator();
    if (options_.last_talking_step.has_value()) {
      gate_.emplace(group.communicator(), *options_.last_talking_step);
      ranks_ = &*gate_;
      gradient_ranks = std::make_unique<GatedCommunicator>(std::move(gradient_ranks),
                                                           *options_.last_talking_step);
    }
    options_.backend.ranks = ranks_;
    ASSERT_OK_AND_ASSIGN(backend_,
                         DeviceBackend::Create(options_.model, options_.backend, std::move(device),
                                               std::move(gradient_ranks)));
    ASSERT_OK(backend_->SetState(InitialState(backend_->table())));
  }

  NcclRankOptions options_;
  std::unique_ptr<EmulatedStream> stream_;
  std::optional<GatedCommunicator> gate_;
  Communicator* ranks_ = nullptr;
  std::unique_ptr<DeviceBackend> backend_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_TESTING_NCCL_RANK_H_
