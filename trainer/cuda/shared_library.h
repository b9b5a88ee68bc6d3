// A library loaded at run time, so that one binary runs with and without it.
#ifndef PENSTOCK_TRAINER_CUDA_SHARED_LIBRARY_H_
#define PENSTOCK_TRAINER_CUDA_SHARED_LIBRARY_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

// The requirements for a library.
struct LibrarySpec {
  std::string name;                    // "NCCL".
  std::vector<std::string> files;      // File names, the preferred one first.
  std::vector<std::string> functions;  // All of these must exist.
  // Reads the version from a loaded library; with the minimum below, both in the library's own
  // numbering. `print` makes a version readable.
  uint64_t (*version)(void* version_function);
  std::string version_function;
  uint64_t least_version = 0;
  std::string (*print)(uint64_t version);
  std::string remedy;  // Says how to install the library.
};

// Movable. The library stays loaded until the process ends, as NVIDIA's libraries require.
// Thread-compatible.
class SharedLibrary {
 public:
  // Searches `folders`, then the system loader's folders. Takes the first file that loads, has all
  // functions and is new enough. kNotFound: there is no such file. kFailedPrecondition: there are
  // files, but none fits; the message says why.
  static absl::StatusOr<SharedLibrary> Open(const LibrarySpec& spec,
                                            const std::vector<std::string>& folders);

  // REQUIRES: `name` is one of the spec's functions; F is its type.
  template <typename F>
  F* Function(absl::string_view name) const {
    return reinterpret_cast<F*>(functions_.at(std::string(name)));
  }
  // Does the same with the type of `function`.
  template <typename F>
  void Find(absl::string_view name, F*& function) const {
    function = Function<F>(name);
  }
  const std::string& path() const { return path_; }  // The file as it was requested.
  uint64_t version() const { return version_; }
  // The reasons why earlier files were not taken.
  const std::vector<std::string>& passed_over() const { return passed_over_; }

 private:
  SharedLibrary() = default;
  static absl::StatusOr<SharedLibrary> Load(const LibrarySpec& spec, const std::string& path);

  std::string path_;
  uint64_t version_ = 0;
  std::vector<std::string> passed_over_;
  std::map<std::string, void*> functions_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_SHARED_LIBRARY_H_
