// NCCL's functions, found at run time.
#ifndef PENSTOCK_TRAINER_CUDA_NCCL_LIBRARY_H_
#define PENSTOCK_TRAINER_CUDA_NCCL_LIBRARY_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/cuda/shared_library.h"

namespace penstock {

// These types are as in nccl.h of 2.18. Later versions only append to NcclConfig, which contains
// its size.
struct NcclId {
  char bytes[128];
};
enum NcclResult : int { kNcclSuccess = 0, kNcclRemoteError = 6, kNcclInProgress = 7 };
struct NcclConfig {
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 21800;
  int blocking = 0;
  int cga_cluster_size = kUndefined;
  int min_ctas = kUndefined;
  int max_ctas = kUndefined;
  const char* net_name = nullptr;
  int split_share = kUndefined;

  static constexpr int kUndefined = -2147483647 - 1;
};
inline constexpr int kNcclUint8 = 1;

// Copyable: the library stays loaded. Thread-safe, like NCCL.
struct NcclLibrary {
  // Searches the folders of $PENSTOCK_CUDA_LIBS, CUDA and Python on every call. kNotFound: there is
  // none. kFailedPrecondition: too old, or another library.
  static absl::StatusOr<NcclLibrary> Load();
  static absl::StatusOr<NcclLibrary> LoadFrom(const LibrarySpec& spec,
                                              const std::vector<std::string>& folders);

  // Returns an error with the function and NCCL's reason if the call failed. "In progress" is OK.
  absl::Status Check(NcclResult result, const char* function) const;

  using Comm = void*;
  NcclResult (*get_unique_id)(NcclId* id);
  NcclResult (*init_rank)(Comm* comm, int ranks, NcclId id, int rank, NcclConfig* config);
  NcclResult (*get_async_error)(Comm comm, NcclResult* error);
  NcclResult (*abort)(Comm comm);
  NcclResult (*finalize)(Comm comm);
  NcclResult (*destroy)(Comm comm);
  NcclResult (*group_start)();
  NcclResult (*group_end)();
  NcclResult (*send)(const void* from, size_t count, int type, int peer, Comm comm, void* stream);
  NcclResult (*receive)(void* to, size_t count, int type, int peer, Comm comm, void* stream);
  const char* (*error_string)(NcclResult result);
  std::string version;  // "2.18.5"
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_NCCL_LIBRARY_H_
