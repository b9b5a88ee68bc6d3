#include "trainer/cuda/cuda_device.h"

#include <cuda_runtime_api.h>

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "trainer/backend/device/kernel_launch.h"
#include "trainer/cuda/cublas_gemm.h"
#include "trainer/cuda/cuda_recorders.h"
#include "trainer/cuda/cuda_status.h"
#include "trainer/cuda/cuda_timer.h"
#include "trainer/cuda/gpu_users.h"

namespace penstock {
namespace {

constexpr int kLeastCapability = 8;  // sm_80: bf16 on tensor cores, cp.async.

absl::Status Check(cudaError_t error, absl::string_view what) {
  if (error == cudaSuccess) return absl::OkStatus();
  return CudaStatus(error, absl::StrCat("CUDA: ", what));
}

// Interprets the result of a query.
absl::StatusOr<bool> IsDone(cudaError_t state, absl::string_view what) {
  if (state == cudaErrorNotReady) {
    (void)cudaGetLastError();
    return false;
  }
  PENSTOCK_RETURN_IF_ERROR(Check(state, what));
  return true;
}

absl::Status LaunchOurs(const DeviceOp& op, cudaStream_t stream) {
  return Check(static_cast<cudaError_t>(LaunchKernel(op, stream)), "launching a kernel");
}

std::string PrintVersion(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

class CudaDevice final : public Device {
 public:
  static absl::StatusOr<std::unique_ptr<Device>> Open(int index, bool traced);
  ~CudaDevice() override;

  const DeviceInfo& info() const override { return info_; }
  std::string OtherUsers() const override { return OtherGpuUsers(pci_address_); }
  absl::StatusOr<uint64_t> FreeBytes() override;
  size_t Workspace(const DeviceOp& op) override {
    return IsGemm(op.kind) ? CublasGemm::kWorkspaceBytes : KernelWorkspace(op);
  }
  absl::Status Prepare(const DeviceOp& op) override {
    PENSTOCK_RETURN_IF_ERROR(Use());
    return gemm_->Prepare(op);
  }
  absl::Status Try(const DeviceOp& op) override {
    PENSTOCK_RETURN_IF_ERROR(Use());
    return gemm_->Try(op, Stream(DeviceQueue::kCompute));
  }
  absl::Status ChooseFastest(const DeviceOp& op) override {
    PENSTOCK_RETURN_IF_ERROR(Use());
    cudaStream_t stream = Stream(DeviceQueue::kCompute);
    return gemm_->ChooseFastest(
        op, stream, [&](absl::FunctionRef<absl::Status()> run) { return TimeOnGpu(stream, run); });
  }
  std::string GemmPlan() const override { return gemm_->Plan(); }
  absl::Status AdoptGemmPlan(absl::string_view plan) override {
    PENSTOCK_RETURN_IF_ERROR(Use());
    return gemm_->Adopt(plan);
  }

  absl::StatusOr<void*> Allocate(size_t bytes) override;
  absl::StatusOr<void*> AllocateHost(size_t bytes) override;
  void FreeHost(void* memory) override;

  void* StreamOf(DeviceQueue queue) override { return Stream(queue); }
  absl::Status Run(const DeviceOp& op, DeviceQueue queue) override;
  absl::Status RunForeign(const DeviceOp& op, DeviceQueue queue,
                          absl::FunctionRef<absl::Status()> work) override;
  absl::Status Record(DeviceEvent event, DeviceQueue queue) override;
  absl::Status Wait(DeviceEvent event, DeviceQueue queue) override;
  absl::Status Synchronize(DeviceQueue queue) override;
  absl::Status Await(DeviceEvent event) override;
  absl::StatusOr<bool> Done(DeviceEvent event) override;
  absl::StatusOr<bool> Done(DeviceQueue queue) override;

  absl::Status BeginCapture() override;
  absl::StatusOr<DeviceGraph> EndCapture() override;
  absl::Status Launch(DeviceGraph graph) override;
  void EndGraphs() override;

  std::vector<std::unique_ptr<DeviceRecorder>> MakeRecorders(std::string& problem) override;

 private:
  explicit CudaDevice(int index) : index_(index) {}
  absl::Status Describe();
  absl::Status MakeQueues();
  // The current device is a property of the calling thread.
  absl::Status Use() const { return Check(cudaSetDevice(index_), "selecting the GPU"); }
  cudaStream_t Stream(DeviceQueue queue) const { return streams_[static_cast<size_t>(queue)]; }

  const int index_;
  DeviceInfo info_;
  std::string pci_address_;
  std::unique_ptr<CublasGemm> gemm_;
  std::array<cudaStream_t, kDeviceQueues> streams_ = {};
  std::array<cudaEvent_t, kDeviceEvents> events_ = {};
  std::vector<cudaGraphExec_t> graphs_;
  std::vector<void*> memory_, host_memory_;
  std::optional<CudaRecorders> recorders_;
};

absl::StatusOr<std::unique_ptr<Device>> CudaDevice::Open(int index, bool traced) {
  std::unique_ptr<CudaDevice> device(new CudaDevice(index));
  if (traced) device->recorders_.emplace();  // Must come before any use of the GPU.
  PENSTOCK_RETURN_IF_ERROR(device->Use());
  PENSTOCK_RETURN_IF_ERROR(device->Describe());
  PENSTOCK_ASSIGN_OR_RETURN(device->gemm_, CublasGemm::Open(LaunchOurs));
  device->info_.math_library = device->gemm_->math_library();
  PENSTOCK_RETURN_IF_ERROR(device->MakeQueues());
  return device;
}

// There is nobody to report errors to. After an error of a kernel, everything here fails.
CudaDevice::~CudaDevice() {
  EndGraphs();
  for (cudaEvent_t event : events_) {
    if (event != nullptr) (void)cudaEventDestroy(event);
  }
  for (cudaStream_t stream : streams_) {
    if (stream != nullptr) (void)cudaStreamDestroy(stream);
  }
  for (void* memory : memory_) (void)cudaFree(memory);
  for (void* memory : host_memory_) (void)cudaFreeHost(memory);
}

absl::Status CudaDevice::Describe() {
  cudaDeviceProp properties = {};
  int driver = 0;
  PENSTOCK_RETURN_IF_ERROR(
      Check(cudaGetDeviceProperties(&properties, index_), "reading the GPU's properties"));
  PENSTOCK_RETURN_IF_ERROR(Check(cudaDriverGetVersion(&driver), "reading the driver's version"));
  if (properties.major < kLeastCapability) {
    return absl::FailedPreconditionError(absl::StrCat(
        properties.name, ", cuda:", index_, " is too old: it is sm_", properties.major,
        properties.minor, ", and the kernels need sm_", kLeastCapability, "0 (A100) or newer"));
  }
  size_t free = 0, total = 0;
  PENSTOCK_RETURN_IF_ERROR(
      Check(cudaMemGetInfo(&free, &total), "reading the size of the GPU's memory"));
  char address[32] = {};
  PENSTOCK_RETURN_IF_ERROR(Check(cudaDeviceGetPCIBusId(address, sizeof(address), index_),
                                 "reading the GPU's PCI address"));
  pci_address_ = address;
  info_.name = absl::StrCat(properties.name, ", cuda:", index_);
  info_.numerics = absl::StrCat("cuda sm_", properties.major, properties.minor, " ",
                                properties.name, ", driver for CUDA ", PrintVersion(driver));
  info_.block_shared_bytes = properties.sharedMemPerBlockOptin;
  info_.total_bytes = total;
  info_.free_bytes = free;
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> CudaDevice::FreeBytes() {
  PENSTOCK_RETURN_IF_ERROR(Use());
  size_t free = 0, total = 0;
  PENSTOCK_RETURN_IF_ERROR(
      Check(cudaMemGetInfo(&free, &total), "reading how much of the GPU's memory is free"));
  return free;
}

// Exchanges, which other ranks wait for, have priority over work of this GPU alone.
absl::Status CudaDevice::MakeQueues() {
  int least = 0, greatest = 0;
  PENSTOCK_RETURN_IF_ERROR(Check(cudaDeviceGetStreamPriorityRange(&least, &greatest),
                                 "reading the priorities of streams"));
  for (size_t i = 0; i < streams_.size(); ++i) {
    const int priority = i == static_cast<size_t>(DeviceQueue::kExchange) ? greatest : least;
    PENSTOCK_RETURN_IF_ERROR(
        Check(cudaStreamCreateWithPriority(&streams_[i], cudaStreamNonBlocking, priority),
              "creating a stream"));
  }
  for (cudaEvent_t& event : events_) {
    PENSTOCK_RETURN_IF_ERROR(
        Check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "creating an event"));
  }
  return absl::OkStatus();
}

absl::StatusOr<void*> CudaDevice::Allocate(size_t bytes) {
  PENSTOCK_RETURN_IF_ERROR(Use());
  void* memory = nullptr;
  PENSTOCK_RETURN_IF_ERROR(
      Check(cudaMalloc(&memory, bytes), absl::StrCat("allocating ", bytes, " bytes")));
  memory_.push_back(memory);
  return memory;
}

absl::StatusOr<void*> CudaDevice::AllocateHost(size_t bytes) {
  PENSTOCK_RETURN_IF_ERROR(Use());
  void* memory = nullptr;
  PENSTOCK_RETURN_IF_ERROR(
      Check(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault),
            absl::StrCat("allocating ", bytes, " bytes of page-locked host memory")));
  host_memory_.push_back(memory);
  return memory;
}

// Nobody receives an error here. A failure only leaks the memory.
void CudaDevice::FreeHost(void* memory) {
  (void)Use();
  std::erase(host_memory_, memory);
  (void)cudaFreeHost(memory);
}

absl::Status CudaDevice::Run(const DeviceOp& op, DeviceQueue queue) {
  PENSTOCK_RETURN_IF_ERROR(Use());
  cudaStream_t stream = Stream(queue);
  if (op.kind == DeviceOpKind::kZero) {
    return Check(cudaMemsetAsync(op.operands[0].at, 0, op.operands[0].bytes, stream),
                 "starting a fill with zeros");
  }
  if (op.kind == DeviceOpKind::kCopy) {
    return Check(cudaMemcpyAsync(op.operands[1].at, op.operands[0].at, op.operands[0].bytes,
                                 cudaMemcpyDefault, stream),
                 "starting a copy");
  }
  if (IsGemm(op.kind)) return gemm_->Run(op, stream);
  return LaunchOurs(op, stream);
}

absl::Status CudaDevice::RunForeign(const DeviceOp&, DeviceQueue,
                                    absl::FunctionRef<absl::Status()> work) {
  PENSTOCK_RETURN_IF_ERROR(Use());
  return work();
}

absl::Status CudaDevice::Record(DeviceEvent event, DeviceQueue queue) {
  PENSTOCK_RETURN_IF_ERROR(Use());
  return Check(cudaEventRecord(events_[event], Stream(queue)), "recording an event");
}

absl::Status CudaDevice::Wait(DeviceEvent event, DeviceQueue queue) {
  PENSTOCK_RETURN_IF_ERROR(Use());
  return Check(cudaStreamWaitEvent(Stream(queue), events_[event], 0),
               "letting a stream wait for an event");
}

absl::Status CudaDevice::Synchronize(DeviceQueue queue) {
  PENSTOCK_RETURN_IF_ERROR(Use());
  return Check(cudaStreamSynchronize(Stream(queue)), "the work of a stream");
}

absl::Status CudaDevice::Await(DeviceEvent event) {
  PENSTOCK_RETURN_IF_ERROR(Use());
  return Check(cudaEventSynchronize(events_[event]), "the work before an event");
}

absl::StatusOr<bool> CudaDevice::Done(DeviceEvent event) {
  PENSTOCK_RETURN_IF_ERROR(Use());
  return IsDone(cudaEventQuery(events_[event]), "the work before an event");
}

absl::StatusOr<bool> CudaDevice::Done(DeviceQueue queue) {
  PENSTOCK_RETURN_IF_ERROR(Use());
  return IsDone(cudaStreamQuery(Stream(queue)), "the work of a stream");
}

// Captures in thread-local mode, so that calls of other threads, such as communicators, do not end
// the capture.
absl::Status CudaDevice::BeginCapture() {
  PENSTOCK_RETURN_IF_ERROR(Use());
  return Check(
      cudaStreamBeginCapture(Stream(DeviceQueue::kCompute), cudaStreamCaptureModeThreadLocal),
      "beginning a graph");
}

absl::StatusOr<DeviceGraph> CudaDevice::EndCapture() {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  PENSTOCK_RETURN_IF_ERROR(
      Check(cudaStreamEndCapture(Stream(DeviceQueue::kCompute), &graph), "ending a graph"));
  const absl::Status made =
      Check(cudaGraphInstantiate(&executable, graph, cudaGraphInstantiateFlagUseNodePriority),
            "making a graph");
  (void)cudaGraphDestroy(graph);
  PENSTOCK_RETURN_IF_ERROR(made);
  graphs_.push_back(executable);
  return graphs_.size() - 1;
}

absl::Status CudaDevice::Launch(DeviceGraph graph) {
  PENSTOCK_RETURN_IF_ERROR(Use());
  return Check(cudaGraphLaunch(graphs_[graph], Stream(DeviceQueue::kCompute)), "launching a graph");
}

// There is nobody to report errors to.
void CudaDevice::EndGraphs() {
  (void)Use();
  for (cudaGraphExec_t graph : graphs_) (void)cudaGraphExecDestroy(graph);
  graphs_.clear();
}

std::vector<std::unique_ptr<DeviceRecorder>> CudaDevice::MakeRecorders(std::string& problem) {
  if (!recorders_.has_value()) return {};
  return recorders_->Make(index_, std::vector<void*>(streams_.begin(), streams_.end()), problem);
}

}  // namespace

absl::StatusOr<size_t> CountGpus() {
  int count = 0, driver = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return static_cast<size_t>(count);
  (void)cudaGetLastError();
  (void)cudaDriverGetVersion(&driver);
  if (driver == 0) {
    return absl::FailedPreconditionError(
        "there is no NVIDIA driver: libcuda.so.1 cannot be loaded; start a container with its GPUs "
        "(--gpus all)");
  }
  if (error == cudaErrorInsufficientDriver) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the NVIDIA driver is too old: it supports CUDA ", PrintVersion(driver),
        ", and this program needs ", PrintVersion(CUDART_VERSION), "; install a newer driver"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("there is no GPU for this process (",
                   error == cudaSuccess ? "none is visible" : cudaGetErrorString(error),
                   "): see nvidia-smi, and CUDA_VISIBLE_DEVICES if it is set"));
}

absl::StatusOr<std::unique_ptr<Device>> OpenGpu(size_t index, bool traced) {
  return CudaDevice::Open(static_cast<int>(index), traced);
}

}  // namespace penstock
