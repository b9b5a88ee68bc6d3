#include "trainer/backend/device/testing/emulated_device.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/status.h"
#include "kernels/numeric/bf16.h"
#include "kernels/reference/activation.h"
#include "trainer/backend/device/event_recorder.h"
#include "trainer/backend/device/kernel_launch.h"

namespace penstock {
namespace {

size_t Index(DeviceQueue queue) { return static_cast<size_t>(queue); }

Mutex emulation;  // A program runs one launch at a time.

// Computes y = x w^T + bias [+ residual], and also its GELU if a kLinearGelu has five operands.
template <typename T>
void Linear(const DeviceOp& op) {
  const bool gelu = op.kind == DeviceOpKind::kLinearGelu;
  const T* residual = !gelu && op.operands.size() > 4 ? op.at<T>(4) : nullptr;
  for (size_t r = 0; r < op.rows; ++r) {
    const T* x = op.at<T>(0) + r * op.in;
    for (size_t o = 0; o < op.out; ++o) {
      const T* w = op.at<T>(1) + o * op.in;
      float sum = 0;
      for (size_t i = 0; i < op.in; ++i) sum += ToFloat(x[i]) * ToFloat(w[i]);
      sum += ToFloat(op.at<T>(2)[o]);
      const size_t at = r * op.out + o;
      if (residual != nullptr) sum += ToFloat(residual[at]);
      op.at<T>(3)[at] = FromFloat<T>(sum);
      if (!gelu) continue;
      float y = 0;
      reference::Gelu(&sum, reference::GeluForm::kTanh, 1, &y);
      op.at<T>(4)[at] = FromFloat<T>(y);
    }
  }
}

template <typename T>
void BackwardInput(const DeviceOp& op) {
  for (size_t r = 0; r < op.rows; ++r) {
    std::vector<float> sums(op.in);
    for (size_t o = 0; o < op.out; ++o) {
      const float dy = ToFloat(op.at<T>(0)[r * op.out + o]);
      for (size_t i = 0; i < op.in; ++i) sums[i] += dy * ToFloat(op.at<T>(1)[o * op.in + i]);
    }
    if (op.kind == DeviceOpKind::kLinearBackwardGelu) {
      for (size_t i = 0; i < op.in; ++i) {
        sums[i] *=
            reference::GeluSlope(ToFloat(op.at<T>(2)[r * op.in + i]), reference::GeluForm::kTanh);
      }
    }
    T* dx = op.at<T>(op.operands.size() - 1) + r * op.in;
    for (size_t i = 0; i < op.in; ++i) dx[i] = FromFloat<T>(sums[i]);
  }
}

template <typename T>
void BackwardWeight(const DeviceOp& op) {
  for (size_t r = 0; r < op.rows; ++r) {
    for (size_t o = 0; o < op.out; ++o) {
      const float dy = ToFloat(op.at<T>(0)[r * op.out + o]);
      float* dw = op.at<float>(2) + o * op.in;
      for (size_t i = 0; i < op.in; ++i) dw[i] += dy * ToFloat(op.at<T>(1)[r * op.in + i]);
    }
  }
}

template <typename T>
void Multiply(const DeviceOp& op) {
  if (op.kind == DeviceOpKind::kLinearBackwardInput ||
      op.kind == DeviceOpKind::kLinearBackwardGelu) {
    return BackwardInput<T>(op);
  }
  if (op.kind == DeviceOpKind::kLinearBackwardWeight) return BackwardWeight<T>(op);
  Linear<T>(op);
}

// Records when the streams reach each mark.
class EmulatedMarks final : public StreamMarks {
 public:
  explicit EmulatedMarks(LateStreams& streams) : streams_(streams) {}

  absl::StatusOr<size_t> Mark(size_t stream) override {
    times_.push_back(std::make_shared<std::optional<Tracer::Clock::time_point>>());
    streams_.Push(static_cast<DeviceQueue>(stream), [time = times_.back()] {
      *time = Tracer::Clock::now();
      return absl::OkStatus();
    });
    return times_.size() - 1;
  }
  absl::Status Finish() override { return absl::OkStatus(); }
  absl::StatusOr<Tracer::Clock::time_point> TimeOf(size_t mark) override {
    const std::optional<Tracer::Clock::time_point>& time = *times_[mark];
    if (!time.has_value()) return absl::InternalError("a mark has not happened");
    return *time;
  }

 private:
  LateStreams& streams_;
  // Shared with queued work, which may outlive the recorder.
  std::vector<std::shared_ptr<std::optional<Tracer::Clock::time_point>>> times_;
};

}  // namespace

namespace {

FakeStream StreamThatRunsNow() {
  return {.queue = [](const FakeStream::Work& work) { work.start(); }};
}

}  // namespace

EmulatedDevice::EmulatedDevice(const EmulatedDeviceOptions& options,
                               std::unique_ptr<EmulatedProducts> products)
    : options_(options),
      products_(std::move(products)),
      info_{.name = "emulated",
            .numerics = "emulated",
            .math_library = "plain products",
            .total_bytes = options.total_bytes,
            .free_bytes = options.total_bytes - options.used_by_others,
            .block_shared_bytes = options.block_shared_bytes},
      streams_(options.seed) {
  exchange_.queue = [this](FakeStream::Work work) {
    Do(DeviceQueue::kExchange, [this, work] {
      streams_.PushLong(DeviceQueue::kExchange, {work.start, work.done});
    });
  };
}

std::string EmulatedDevice::OtherUsers() const {
  return options_.used_by_others == 0
             ? ""
             : absl::StrCat(options_.used_by_others >> 20, " MiB in process 4711");
}

size_t EmulatedDevice::Workspace(const DeviceOp& op) {
  return products_ && IsGemm(op.kind) ? products_->Workspace(op) : KernelWorkspace(op);
}

absl::Status EmulatedDevice::Prepare(const DeviceOp& op) {
  if (products_) return products_->Prepare(op);
  return options_.has_products ? absl::OkStatus()
                               : absl::UnimplementedError("no such product here");
}

absl::Status EmulatedDevice::Try(const DeviceOp& op) {
  if (!products_) return absl::OkStatus();
  FakeStream stream = StreamThatRunsNow();
  return products_->Try(op, stream);
}

absl::Status EmulatedDevice::ChooseFastest(const DeviceOp& op) {
  if (!products_) return absl::OkStatus();
  FakeStream stream = StreamThatRunsNow();
  return products_->ChooseFastest(op, stream);
}

absl::Status EmulatedDevice::AdoptGemmPlan(absl::string_view plan) {
  if (products_) return products_->Adopt(plan);
  if (!absl::StartsWith(plan, "plain")) return absl::FailedPreconditionError("products are plain");
  gemm_plan_ = std::string(plan);
  return absl::OkStatus();
}

absl::StatusOr<void*> EmulatedDevice::Allocate(size_t bytes) {
  void* memory = nullptr;
  // Allocates exactly `bytes`, so that a sanitizer reports the first byte beyond.
  if (posix_memalign(&memory, 256, bytes) != 0) return absl::ResourceExhaustedError("no memory");
  memory_.emplace_back(memory);
  std::memset(memory, 0xff, bytes);
  return memory;
}

absl::StatusOr<void*> EmulatedDevice::AllocateHost(size_t bytes) {
  if (bytes > options_.most_host_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(bytes, " bytes of page-locked host memory"));
  }
  return Allocate(bytes);
}

void EmulatedDevice::FreeHost(void* memory) {
  std::erase_if(memory_, [&](const auto& owned) { return owned.get() == memory; });
}

absl::Status EmulatedDevice::Execute(const DeviceOp& op) {
  if (op.kind == DeviceOpKind::kZero) {
    std::memset(op.operands[0].at, 0, op.operands[0].bytes);
  } else if (op.kind == DeviceOpKind::kCopy) {
    std::memcpy(op.operands[1].at, op.operands[0].at, op.operands[0].bytes);
  } else if (IsGemm(op.kind)) {
    op.bf16 ? Multiply<Bf16>(op) : Multiply<float>(op);
  } else {
    MutexLock lock(&emulation);
    if (const int error = LaunchKernel(op, nullptr); error != 0) {
      return absl::InternalError(absl::StrCat("the launcher returned ", error));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<EmulatedDevice::Work> EmulatedDevice::WorkOf(const DeviceOp& op) {
  if (!products_ || !IsGemm(op.kind)) return [op] { return Execute(op); };
  std::vector<FakeStream::Work> queued;
  FakeStream stream;
  stream.queue = [&](FakeStream::Work work) { queued.push_back(std::move(work)); };
  PENSTOCK_RETURN_IF_ERROR(products_->Run(op, stream));
  if (queued.empty()) return absl::InternalError("a product that queued nothing");
  return [queued] {
    for (const FakeStream::Work& work : queued) work.start();
    return absl::OkStatus();
  };
}

void EmulatedDevice::Push(const DeviceOp& op, DeviceQueue queue, const Work& work) {
  streams_.Push(queue,
                [this, op, queue, work] { return watch_ ? watch_(op, queue, work) : work(); });
}

void EmulatedDevice::Do(DeviceQueue queue, Captured work) {
  if (!Captures(queue)) return work();
  capture_->work.push_back(std::move(work));
  ++capture_->count[Index(queue)];
}

void* EmulatedDevice::StreamOf(DeviceQueue queue) {
  return queue == DeviceQueue::kExchange ? &exchange_ : nullptr;
}

absl::Status EmulatedDevice::Run(const DeviceOp& op, DeviceQueue queue) {
  PENSTOCK_ASSIGN_OR_RETURN(const Work work, WorkOf(op));
  Do(queue, [this, op, queue, work] { Push(op, queue, work); });
  return absl::OkStatus();
}

absl::Status EmulatedDevice::Record(DeviceEvent event, DeviceQueue queue) {
  Do(queue, [this, event, queue] { streams_.Record(event, queue); });
  if (Captures(queue)) capture_->marks[event] = {queue, capture_->count[Index(queue)]};
  return absl::OkStatus();
}

absl::Status EmulatedDevice::CaptureWait(DeviceEvent event, DeviceQueue queue) {
  const auto mark = capture_->marks.find(event);
  if (mark == capture_->marks.end()) {
    if (!Captures(queue)) return absl::OkStatus();
    return absl::FailedPreconditionError("a graph waits for what is not in it");
  }
  capture_->has[Index(queue)] = true;
  if (queue == DeviceQueue::kCompute) {
    capture_->joined[Index(mark->second.queue)] = mark->second.count;
  }
  return absl::OkStatus();
}

absl::Status EmulatedDevice::Wait(DeviceEvent event, DeviceQueue queue) {
  if (capture_.has_value()) PENSTOCK_RETURN_IF_ERROR(CaptureWait(event, queue));
  Do(queue, [this, event, queue] { streams_.Wait(event, queue); });
  return absl::OkStatus();
}

absl::Status EmulatedDevice::BeginCapture() {
  if (capture_.has_value()) return absl::FailedPreconditionError("a capture is under way");
  capture_ = Capture{};
  return absl::OkStatus();
}

absl::StatusOr<DeviceGraph> EmulatedDevice::EndCapture() {
  if (!capture_.has_value()) return absl::FailedPreconditionError("no capture is under way");
  const Capture capture = *std::exchange(capture_, std::nullopt);
  for (size_t queue = 1; queue < kDeviceQueues; ++queue) {
    if (capture.joined[queue] < capture.count[queue]) {
      return absl::FailedPreconditionError("a graph ends with work that nobody waits for");
    }
  }
  graphs_.push_back(capture.work);
  return graphs_.size() - 1;
}

absl::Status EmulatedDevice::Launch(DeviceGraph graph) {
  for (const Captured& work : graphs_[graph]) work();
  return absl::OkStatus();
}

std::vector<std::unique_ptr<DeviceRecorder>> EmulatedDevice::MakeRecorders(std::string& problem) {
  problem = "this GPU is emulated";
  std::vector<std::unique_ptr<DeviceRecorder>> recorders;
  recorders.push_back(
      std::make_unique<EventRecorder>(std::make_unique<EmulatedMarks>(streams_), "marks"));
  return recorders;
}

}  // namespace penstock
