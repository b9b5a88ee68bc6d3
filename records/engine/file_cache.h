// Keeps a bounded number of files open.
#ifndef PENSTOCK_RECORDS_ENGINE_FILE_CACHE_H_
#define PENSTOCK_RECORDS_ENGINE_FILE_CACHE_H_

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "base/io/root.h"
#include "base/mutex.h"

namespace penstock {

// The least recently used file is closed first, after its last reader has finished. If the process
// has no descriptor left, the older half of the files is closed to open the one that is needed.
// Thread-safe.
class FileCache {
 public:
  // `root` must outlive the cache. REQUIRES: capacity > 0.
  FileCache(const Root& root, size_t capacity) : root_(root), capacity_(capacity) {}

  // Opens a file, or returns the open one. The file is shared by the cache and current reads,
  // because it may be dropped while it is read. Errors are those of Root::OpenFile().
  absl::StatusOr<std::shared_ptr<const FileSource>> Open(const std::string& path);

  // Closes `path`, so that the next Open() opens the file that has this name then.
  void Drop(const std::string& path);

 private:
  struct Entry {
    std::string path;
    std::shared_ptr<const FileSource> source;
  };

  std::shared_ptr<const FileSource> Find(const std::string& path);
  absl::StatusOr<std::shared_ptr<const FileSource>> OpenNew(const std::string& path);
  // Returns false if no file was open.
  bool DropOlderHalf();
  void DropOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Root& root_;
  const size_t capacity_;
  Mutex mutex_;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // Most recently used first.
  std::unordered_map<std::string, std::list<Entry>::iterator> index_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_FILE_CACHE_H_
