#include "trainer/cuda/cupti_library.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {
namespace {

// CUPTI_ERROR_..._DEVICE_NOT_SUPPORTED. A library may return these although the header of CUDA 12.4
// lacks their names.
enum NewerResult : int { kMigDevice = 43, kSliDevice = 44, kWslDevice = 45 };

const char* Remedy(CUptiResult result) {
  switch (static_cast<int>(result)) {
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return "another profiler or debugger is attached to this process (Nsight Systems or Compute, "
             "cuda-gdb, compute-sanitizer): run without it, or use its trace and leave "
             "--profile-steps out";
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return "the driver lets only administrators profile: give the process CAP_SYS_ADMIN (docker "
             "run "
             "--cap-add SYS_ADMIN), or load the driver on the host with "
             "NVreg_RestrictProfilingToAdminUsers=0; for a virtual GPU, allow it in the "
             "hypervisor";
    case CUPTI_ERROR_NOT_INITIALIZED:
    case CUPTI_ERROR_UNKNOWN:
      return "CUPTI finds no driver, or the driver is older than CUPTI: set PENSTOCK_CUDA_LIBS to "
             "the "
             "folder of an older CUPTI";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
    case kMigDevice:
    case kSliDevice:
    case kWslDevice:
    case CUPTI_ERROR_NOT_SUPPORTED:
      return "CUPTI cannot trace this kind of GPU";
    case CUPTI_ERROR_OUT_OF_MEMORY:
    case CUPTI_ERROR_MAX_LIMIT_REACHED:
      return "CUPTI has no memory for its buffers: a smaller --global-batch-size leaves it more";
    default:
      return "run nsys profile to see whether CUPTI works on this machine";
  }
}

// "cudaLaunchKernel_v7000" -> "cudaLaunchKernel".
std::string WithoutVersion(absl::string_view name) {
  const size_t end = name.rfind("_v");
  if (end == absl::string_view::npos || end + 2 >= name.size()) return std::string(name);
  return std::string(name[end + 2] >= '0' && name[end + 2] <= '9' ? name.substr(0, end) : name);
}

}  // namespace

absl::StatusOr<CuptiLibrary> CuptiLibrary::LoadFrom(const LibrarySpec& spec,
                                                    const std::vector<std::string>& folders) {
  PENSTOCK_ASSIGN_OR_RETURN(const SharedLibrary library, SharedLibrary::Open(spec, folders));
  CuptiLibrary cupti;
  library.Find("cuptiSubscribe", cupti.subscribe);
  library.Find("cuptiUnsubscribe", cupti.unsubscribe);
  library.Find("cuptiActivityRegisterCallbacks", cupti.register_callbacks);
  library.Find("cuptiActivityEnable", cupti.enable);
  library.Find("cuptiActivityDisable", cupti.disable);
  library.Find("cuptiActivityFlushAll", cupti.flush_all);
  library.Find("cuptiActivityGetNextRecord", cupti.next_record);
  library.Find("cuptiActivityGetNumDroppedRecords", cupti.num_dropped);
  library.Find("cuptiActivityPushExternalCorrelationId", cupti.push_id);
  library.Find("cuptiActivityPopExternalCorrelationId", cupti.pop_id);
  library.Find("cuptiGetTimestamp", cupti.timestamp);
  library.Find("cuptiGetStreamIdEx", cupti.stream_id);
  library.Find("cuptiGetCallbackName", cupti.callback_name);
  library.Find("cuptiGetResultString", cupti.result_string);
  cupti.version = absl::StrCat("CUPTI ", spec.print(library.version()));
  return cupti;
}

absl::Status CuptiLibrary::Check(CUptiResult result, const char* function) const {
  if (result == CUPTI_SUCCESS) return absl::OkStatus();
  const char* name = nullptr;
  if (result_string(result, &name) != CUPTI_SUCCESS || name == nullptr) name = "an unknown error";
  return absl::FailedPreconditionError(absl::StrCat(
      version, ": ", function, ": ", name, " (", static_cast<int>(result), "): ", Remedy(result)));
}

std::string CuptiLibrary::CallName(CUpti_CallbackDomain domain, CUpti_CallbackId call) const {
  const char* name = nullptr;
  if (callback_name(domain, call, &name) != CUPTI_SUCCESS || name == nullptr) {
    return absl::StrCat("call ", call);
  }
  return WithoutVersion(name);
}

}  // namespace penstock
