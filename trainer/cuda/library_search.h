// Where NVIDIA's libraries may lie on this machine.
#ifndef PENSTOCK_TRAINER_CUDA_LIBRARY_SEARCH_H_
#define PENSTOCK_TRAINER_CUDA_LIBRARY_SEARCH_H_

#include <string>
#include <vector>

namespace penstock {

// What decides where libraries are looked for; an empty string: not set.
struct LibraryEnvironment {
  std::string penstock_cuda_libs;  // Folders, separated by colons.
  std::string cuda_home;
  std::string virtual_env;
  std::string path;  // Whose first python3 may be of an environment that nobody has activated.
  std::string home;
  std::vector<std::string> cuda_folders = {"/usr/local/cuda"};
  std::vector<std::string> python_roots = {"/usr/local", "/usr"};

  // Of this process. Not thread-safe: reads environment variables.
  static LibraryEnvironment FromProcess();
};

// The folders that exist, each once, in the order in which they are looked through:
// $PENSTOCK_CUDA_LIBS, the CUDA folders' lib64 and lib, and nvidia/*/lib in the site-packages of
// the virtual environment, of the python3 in $PATH, the user and the system.
std::vector<std::string> LibraryFolders(const LibraryEnvironment& environment);

// What $PENSTOCK_CUDA_LIBS names that is no folder.
std::vector<std::string> MissingFolders(const LibraryEnvironment& environment);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_LIBRARY_SEARCH_H_
