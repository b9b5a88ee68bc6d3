// Watches whether the data root has the shards that a server must serve (--require).
#ifndef PENSTOCK_SERVER_REQUIRED_DATA_H_
#define PENSTOCK_SERVER_REQUIRED_DATA_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/io/root.h"
#include "base/mutex.h"

namespace penstock {

// Returns the path, beneath the root, of the manifest that `name` means. As in a client's
// `server:PATH`, a name that is empty or ends in "/" is a folder with a manifest.pb.
// kInvalidArgument: `name` is absolute.
absl::StatusOr<std::string> RequiredManifestPath(absl::string_view name);

// Reads the manifest at `path` beneath the root, and looks for each of its shards. Returns OK if
// each shard can be opened and has the size that the manifest says. It reads no shard. Otherwise
// returns kFailedPrecondition, naming the number of such shards and the first one: "m.pb: lacks 2
// of 3 shards, first a.tfrecord: No such file or directory".
absl::Status CheckRequiredData(const Root& root, const std::string& path);

// Checks from time to time, on a thread of its own, because storage may hang. Logs what is missing
// when that changes.
class RequiredData {
 public:
  struct Times {
    absl::Duration while_lacking = absl::Seconds(2);
    absl::Duration while_complete = absl::Seconds(30);
  };
  // Gets what is missing, as one line; empty if nothing is.
  using OnLack = std::function<void(const std::string& lack)>;

  // Calls `on_lack` after the first check, and whenever its argument changes. `root` must outlive
  // it. kResourceExhausted: the thread could not be started.
  static absl::StatusOr<std::unique_ptr<RequiredData>> Start(const Root& root,
                                                             std::vector<std::string> manifests,
                                                             OnLack on_lack, Times times);
  // Waits for a check in progress.
  ~RequiredData();

 private:
  RequiredData(const Root& root, std::vector<std::string> manifests, OnLack on_lack, Times times)
      : root_(root),
        manifests_(std::move(manifests)),
        on_lack_(std::move(on_lack)),
        times_(times) {}
  void Run();
  std::string Check() const;
  // Returns false when this object is being destroyed.
  bool Pause(absl::Duration pause);

  const Root& root_;
  const std::vector<std::string> manifests_;  // Paths beneath the root.
  const OnLack on_lack_;
  const Times times_;
  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_REQUIRED_DATA_H_
