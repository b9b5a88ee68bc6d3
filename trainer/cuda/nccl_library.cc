#include "trainer/cuda/nccl_library.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "trainer/cuda/cuda_libraries.h"
#include "trainer/cuda/library_search.h"

namespace penstock {

absl::StatusOr<NcclLibrary> NcclLibrary::Load() {
  return LoadFrom(NcclSpec(), LibraryFolders(LibraryEnvironment::FromProcess()));
}

absl::StatusOr<NcclLibrary> NcclLibrary::LoadFrom(const LibrarySpec& spec,
                                                  const std::vector<std::string>& folders) {
  PENSTOCK_ASSIGN_OR_RETURN(const SharedLibrary library, SharedLibrary::Open(spec, folders));
  NcclLibrary nccl;
  library.Find("ncclGetUniqueId", nccl.get_unique_id);
  library.Find("ncclCommInitRankConfig", nccl.init_rank);
  library.Find("ncclCommGetAsyncError", nccl.get_async_error);
  library.Find("ncclCommAbort", nccl.abort);
  library.Find("ncclCommFinalize", nccl.finalize);
  library.Find("ncclCommDestroy", nccl.destroy);
  library.Find("ncclGroupStart", nccl.group_start);
  library.Find("ncclGroupEnd", nccl.group_end);
  library.Find("ncclSend", nccl.send);
  library.Find("ncclRecv", nccl.receive);
  library.Find("ncclGetErrorString", nccl.error_string);
  nccl.version = spec.print(library.version());
  return nccl;
}

absl::Status NcclLibrary::Check(NcclResult result, const char* function) const {
  if (result == kNcclSuccess || result == kNcclInProgress) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("NCCL ", version, ": ", function, ": ", error_string(result),
                   result == kNcclRemoteError ? " (another rank, or the network to it)" : "",
                   "; set NCCL_DEBUG=INFO for details"));
}

}  // namespace penstock
