#include "trainer/comm/nccl_library.h"

#include <type_traits>

#include "absl/strings/str_cat.h"
#include "records/base/status.h"
#include "trainer/backend/cuda/cuda_libraries.h"
#include "trainer/backend/cuda/library_search.h"

namespace penstock {
namespace {

template <typename F>
void Find(const SharedLibrary& library, const char* name, F*& function) {
  function = library.Function<F>(name);
}

}  // namespace

absl::StatusOr<NcclLibrary> NcclLibrary::Load() {
  return LoadFrom(NcclSpec(), LibraryFolders(LibraryEnvironment::FromProcess()));
}

absl::StatusOr<NcclLibrary> NcclLibrary::LoadFrom(const LibrarySpec& spec,
                                                  const std::vector<std::string>& folders) {
  PENSTOCK_ASSIGN_OR_RETURN(const SharedLibrary library, SharedLibrary::Open(spec, folders));
  NcclLibrary nccl;
  Find(library, "ncclGetUniqueId", nccl.get_unique_id);
  Find(library, "ncclCommInitRankConfig", nccl.init_rank);
  Find(library, "ncclCommGetAsyncError", nccl.get_async_error);
  Find(library, "ncclCommAbort", nccl.abort);
  Find(library, "ncclCommFinalize", nccl.finalize);
  Find(library, "ncclCommDestroy", nccl.destroy);
  Find(library, "ncclGroupStart", nccl.group_start);
  Find(library, "ncclGroupEnd", nccl.group_end);
  Find(library, "ncclSend", nccl.send);
  Find(library, "ncclRecv", nccl.receive);
  Find(library, "ncclGetErrorString", nccl.error_string);
  nccl.version = spec.print(library.version());
  return nccl;
}

absl::Status NcclLibrary::Check(NcclResult result, const char* function) const {
  if (result == kNcclSuccess || result == kNcclInProgress) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("NCCL ", version, ": ", function, ": ", error_string(result),
                   result == kNcclRemoteError ? " (another rank, or the network to it)" : "",
                   "; NCCL_DEBUG=INFO has it say more"));
}

}  // namespace penstock
