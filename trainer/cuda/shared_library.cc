#include "trainer/cuda/shared_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"

namespace penstock {
namespace {

std::string LoaderError() {
  const char* error = dlerror();
  return error == nullptr ? "the loader gives no reason" : error;
}

// The paths to try: every file in every folder, then the bare names for the loader's own search.
std::vector<std::string> Candidates(const LibrarySpec& spec,
                                    const std::vector<std::string>& folders) {
  std::vector<std::string> paths;
  for (const std::string& folder : folders) {
    for (const std::string& file : spec.files) {
      std::error_code ignored;
      std::string path = absl::StrCat(folder, "/", file);
      if (std::filesystem::exists(path, ignored)) paths.push_back(std::move(path));
    }
  }
  paths.insert(paths.end(), spec.files.begin(), spec.files.end());
  return paths;
}

// True if the loader found a bare name nowhere; other errors are about an existing file.
bool IsNowhere(const std::string& path, const std::string& error) {
  return path.find('/') == std::string::npos &&
         absl::StartsWith(error, path + ": cannot open shared object file");
}

}  // namespace

absl::StatusOr<SharedLibrary> SharedLibrary::Load(const LibrarySpec& spec,
                                                  const std::string& path) {
  // Never closed: threads of these libraries may outlive every owner.
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    std::string error = LoaderError();
    if (IsNowhere(path, error)) return absl::NotFoundError(error);
    return absl::FailedPreconditionError(absl::StrCat(path, " does not load: ", error));
  }
  SharedLibrary library;
  library.path_ = path;
  for (const std::string& name : spec.functions) {
    void* function = dlsym(handle, name.c_str());
    if (function == nullptr) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, " has no function ", name, ": it is another library, or too old"));
    }
    library.functions_[name] = function;
  }
  void* version_function = dlsym(handle, spec.version_function.c_str());
  if (version_function == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " has no function ", spec.version_function, ": it is another library"));
  }
  library.version_ = spec.version(version_function);
  if (library.version_ < spec.least_version) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is too old: it has version ", spec.print(library.version_), ", and ",
                     spec.print(spec.least_version), " or newer is needed"));
  }
  return library;
}

absl::StatusOr<SharedLibrary> SharedLibrary::Open(const LibrarySpec& spec,
                                                  const std::vector<std::string>& folders) {
  std::vector<std::string> unfit;
  for (const std::string& path : Candidates(spec, folders)) {
    absl::StatusOr<SharedLibrary> library = Load(spec, path);
    if (library.ok()) {
      library->passed_over_ = std::move(unfit);
      return library;
    }
    if (!absl::IsNotFound(library.status())) {
      unfit.push_back(std::string(library.status().message()));
    }
  }
  if (!unfit.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(spec.name, ": ", absl::StrJoin(unfit, "; "), ". ", spec.remedy));
  }
  return absl::NotFoundError(
      absl::StrCat(spec.name, ": no ", absl::StrJoin(spec.files, " or "), " in ",
                   folders.empty() ? "any CUDA or Python folder" : absl::StrJoin(folders, ", "),
                   ", nor where the system's loader looks. ", spec.remedy));
}

}  // namespace penstock
