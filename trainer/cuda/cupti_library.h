// CUPTI's functions, found at run time. Needs CUPTI's headers.
#ifndef PENSTOCK_TRAINER_CUDA_CUPTI_LIBRARY_H_
#define PENSTOCK_TRAINER_CUDA_CUPTI_LIBRARY_H_

#include <cupti.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/cuda/shared_library.h"

namespace penstock {

// Copyable: the library stays loaded. Thread-safe, like CUPTI.
struct CuptiLibrary {
  // Errors are those of SharedLibrary::Open().
  static absl::StatusOr<CuptiLibrary> LoadFrom(const LibrarySpec& spec,
                                               const std::vector<std::string>& folders);

  // kFailedPrecondition: the call failed; the message has the function, CUPTI's name of the reason,
  // and what to do.
  absl::Status Check(CUptiResult result, const char* function) const;
  // The name of a call, "cudaGraphLaunch"; `domain` is that of the runtime or the driver.
  std::string CallName(CUpti_CallbackDomain domain, CUpti_CallbackId call) const;

  decltype(&cuptiSubscribe) subscribe;
  decltype(&cuptiUnsubscribe) unsubscribe;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks;
  decltype(&cuptiActivityEnable) enable;
  decltype(&cuptiActivityDisable) disable;
  decltype(&cuptiActivityFlushAll) flush_all;
  decltype(&cuptiActivityGetNextRecord) next_record;
  decltype(&cuptiActivityGetNumDroppedRecords) num_dropped;
  decltype(&cuptiActivityPushExternalCorrelationId) push_id;
  decltype(&cuptiActivityPopExternalCorrelationId) pop_id;
  decltype(&cuptiGetTimestamp) timestamp;
  decltype(&cuptiGetStreamIdEx) stream_id;
  decltype(&cuptiGetCallbackName) callback_name;
  decltype(&cuptiGetResultString) result_string;
  std::string version;  // "CUPTI API 130001"
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_CUPTI_LIBRARY_H_
