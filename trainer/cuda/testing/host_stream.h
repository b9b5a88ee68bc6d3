// A device stream on host memory, for tests and for runs without a GPU.
#ifndef PENSTOCK_TRAINER_CUDA_TESTING_HOST_STREAM_H_
#define PENSTOCK_TRAINER_CUDA_TESTING_HOST_STREAM_H_

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "trainer/cuda/device_stream.h"
#include "trainer/cuda/testing/fake_stream.h"

namespace penstock {

// Copies at once. The fake NCCL's work is done when the fake says so. Counts calls. Like CUDA, it
// waits for all work before it frees memory; a wait of ten seconds ends the process.
class HostStream final : public DeviceStream {
 public:
  void* handle() const override { return &stream_; }

  absl::StatusOr<Memory> Allocate(Place, size_t bytes) override {
    return Memory(new uint8_t[bytes](), [this](uint8_t* memory) {
      AwaitWork();
      delete[] memory;
    });
  }
  absl::Status Copy(uint8_t* to, const uint8_t* from, size_t bytes) override {
    copied_ += bytes;
    std::memmove(to, from, bytes);
    return absl::OkStatus();
  }
  absl::Status BeginCapture() override {
    stream_.queue = [this](FakeStream::Work work) { graph_.push_back(std::move(work)); };
    return absl::OkStatus();
  }
  absl::Status EndCapture() override {
    stream_.queue = nullptr;
    return absl::OkStatus();
  }
  absl::Status LaunchGraph() override {
    for (const FakeStream::Work& work : graph_) work.start();
    launched_ = true;
    return absl::OkStatus();
  }
  void EndGraph() override {
    graph_.clear();
    launched_ = false;
  }
  absl::StatusOr<bool> Done() override {
    const auto is_done = [](const FakeStream::Work& work) { return work.done(); };
    if (launched_ && !std::all_of(graph_.begin(), graph_.end(), is_done)) return false;
    launched_ = false;
    return stream_.pending.load() == 0;
  }

  size_t copied() const { return copied_; }

 private:
  void AwaitWork() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!Done().value()) {
      if (std::chrono::steady_clock::now() > end) {
        std::fputs("HostStream: memory is freed while work hangs\n", stderr);
        std::abort();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  mutable FakeStream stream_;
  std::vector<FakeStream::Work> graph_;
  bool launched_ = false;
  size_t copied_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_TESTING_HOST_STREAM_H_
