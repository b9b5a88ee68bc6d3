#include "kernels/runner/bench.h"

#include <algorithm>
#include <functional>
#include <memory>

#include "kernels/cuda/activation.h"
#include "kernels/cuda/board_features.h"
#include "kernels/numeric/bf16.h"
#include "kernels/runner/device_array.h"

namespace penstock::runner {
namespace {

constexpr int kWarmUps = 5, kRuns = 30;

// Thread-compatible.
class Event {
 public:
  Event() { Require(cudaEventCreate(&event_), "creating an event"); }
  ~Event() { (void)cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void Record() { Require(cudaEventRecord(event_), "recording an event"); }
  double MicrosecondsSince(const Event& start) {
    float milliseconds = 0;
    Require(cudaEventSynchronize(event_), "waiting for an event");
    Require(cudaEventElapsedTime(&milliseconds, start.event_, event_), "reading an event");
    return milliseconds * 1e3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

Measurement Time(std::string name, double bytes, const std::function<cudaError_t()>& launch) {
  std::vector<double> us;
  for (int run = -kWarmUps; run < kRuns; ++run) {
    Event start, end;
    start.Record();
    Require(launch(), name.c_str());
    end.Record();
    const double elapsed = end.MicrosecondsSince(start);
    if (run >= 0) us.push_back(elapsed);
  }
  std::sort(us.begin(), us.end());
  return {std::move(name), kRuns, us[kRuns / 2], us.front(), us.back(), bytes};
}

class Benchmarks {
 public:
  std::vector<Measurement> Run() {
    Copy();
    Activations();
    Boards();
    return std::move(results_);
  }

 private:
  void Add(std::string name, double bytes, const std::function<cudaError_t()>& launch) {
    results_.push_back(Time(std::move(name), bytes, launch));
  }

  void Copy() {
    constexpr size_t kBytes = size_t{1} << 30;
    DeviceArray<char> from(kBytes), to(kBytes);
    Add("copy", 2.0 * kBytes, [&] {
      return cudaMemcpyAsync(to.data(), from.data(), kBytes, cudaMemcpyDeviceToDevice, nullptr);
    });
  }
  void Activations() {
    constexpr size_t kCount = size_t{1} << 28;
    DeviceArray<Bf16> x(kCount), y(kCount);
    Add("gelu_tanh/bf16", 4.0 * kCount, [&] {
      return cuda::Gelu(x.data(), reference::GeluForm::kTanh, kCount, y.data(), nullptr);
    });
    Add("gelu_tanh_backward/bf16", 6.0 * kCount, [&] {
      return cuda::GeluBackward(y.data(), x.data(), reference::GeluForm::kTanh, kCount, y.data(),
                                nullptr);
    });
    Add("gelu_erf/bf16", 4.0 * kCount,
        [&] { return cuda::Gelu(x.data(), reference::GeluForm::kErf, kCount, y.data(), nullptr); });
  }
  void Boards() {
    constexpr size_t kSamples = size_t{1} << 17, kStride = 40;
    DeviceArray<uint8_t> packed(kSamples * reference::kPackedBoardBytes);
    DeviceArray<Bf16> features(kSamples * 64 * kStride);
    Add("boards_packed/bf16", kSamples * (reference::kPackedBoardBytes + 64.0 * kStride * 2), [&] {
      return cuda::ExpandPackedBoards(packed.data(), kSamples, kStride, features.data(), nullptr);
    });
  }

  std::vector<Measurement> results_;
};

}  // namespace

std::vector<Measurement> RunBenchmarks() { return Benchmarks().Run(); }

}  // namespace penstock::runner
