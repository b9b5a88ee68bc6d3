// Places on this machine where NVIDIA's libraries may be.
#ifndef PENSTOCK_TRAINER_CUDA_LIBRARY_SEARCH_H_
#define PENSTOCK_TRAINER_CUDA_LIBRARY_SEARCH_H_

#include <string>
#include <vector>

namespace penstock {

// Environment variables that decide where to search; an empty string means not set.
struct LibraryEnvironment {
  std::string penstock_cuda_libs;  // Folders, separated by colons.
  std::string cuda_home;
  std::string virtual_env;
  std::string path;  // Its first python3 may belong to an environment that is not activated.
  std::string home;
  std::vector<std::string> cuda_folders = {"/usr/local/cuda"};
  std::vector<std::string> python_roots = {"/usr/local", "/usr"};

  // Reads this process's variables. Not thread-safe, because it reads the environment.
  static LibraryEnvironment FromProcess();
};

// The existing folders, each once, in search order: $PENSTOCK_CUDA_LIBS; lib64 and lib of the CUDA
// folders; and nvidia/*/lib in the site-packages of the virtual environment, of the python3 in
// $PATH, of the user and of the system.
std::vector<std::string> LibraryFolders(const LibraryEnvironment& environment);

// The entries of $PENSTOCK_CUDA_LIBS that are not folders.
std::vector<std::string> MissingFolders(const LibraryEnvironment& environment);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_LIBRARY_SEARCH_H_
