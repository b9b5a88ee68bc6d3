#include "trainer/cuda/library_search.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Subfolders, sorted by name; none if `parent` cannot be read.
std::vector<fs::path> FoldersIn(const fs::path& parent) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;  // An unreadable entry is not a folder.
    if (it->is_directory(ignored)) folders.push_back(it->path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

class Folders {
 public:
  void Add(const fs::path& folder) {
    std::error_code ignored;
    if (folder.empty() || !fs::is_directory(folder, ignored)) return;
    std::string path = folder.string();
    if (std::find(found_.begin(), found_.end(), path) == found_.end()) {
      found_.push_back(std::move(path));
    }
  }
  void AddCuda(const fs::path& folder) {
    if (folder.empty()) return;
    Add(folder / "lib64");
    Add(folder / "lib");
    Add(folder / "extras/CUPTI/lib64");
  }
  // Searches site-packages and dist-packages in lib/python3* of `root`.
  void AddPython(const fs::path& root) {
    if (root.empty()) return;
    for (const fs::path& python : FoldersIn(root / "lib")) {
      if (!absl::StartsWith(python.filename().string(), "python3")) continue;
      for (const char* packages : {"site-packages", "dist-packages"}) {
        for (const fs::path& package : FoldersIn(python / packages / "nvidia")) {
          Add(package / "lib");
        }
      }
    }
  }
  // `path` has the form of PATH. Searches the packages of the first python3 in it.
  void AddPythonIn(const std::string& path) {
    for (const std::string& bin : std::vector<std::string>(absl::StrSplit(path, ':'))) {
      std::error_code ignored;
      if (bin.empty() || !fs::exists(fs::path(bin) / "python3", ignored)) continue;
      return AddPython(fs::path(bin).parent_path());
    }
  }
  std::vector<std::string> Take() && { return std::move(found_); }

 private:
  std::vector<std::string> found_;
};

std::vector<std::string> NamedFolders(const LibraryEnvironment& environment) {
  return absl::StrSplit(environment.penstock_cuda_libs, ':', absl::SkipEmpty());
}

}  // namespace

LibraryEnvironment LibraryEnvironment::FromProcess() {
  LibraryEnvironment environment;
  environment.penstock_cuda_libs = Variable("PENSTOCK_CUDA_LIBS");
  environment.cuda_home = Variable("CUDA_HOME");
  environment.virtual_env = Variable("VIRTUAL_ENV");
  environment.path = Variable("PATH");
  environment.home = Variable("HOME");
  return environment;
}

std::vector<std::string> LibraryFolders(const LibraryEnvironment& environment) {
  Folders folders;
  for (const std::string& folder : NamedFolders(environment)) folders.Add(folder);
  folders.AddCuda(environment.cuda_home);
  for (const std::string& folder : environment.cuda_folders) folders.AddCuda(folder);
  folders.AddPython(environment.virtual_env);
  folders.AddPythonIn(environment.path);
  if (!environment.home.empty()) folders.AddPython(absl::StrCat(environment.home, "/.local"));
  for (const std::string& root : environment.python_roots) folders.AddPython(root);
  return std::move(folders).Take();
}

std::vector<std::string> MissingFolders(const LibraryEnvironment& environment) {
  std::vector<std::string> missing = NamedFolders(environment);
  std::error_code ignored;
  std::erase_if(missing, [&](const auto& path) { return fs::is_directory(path, ignored); });
  return missing;
}

}  // namespace penstock
