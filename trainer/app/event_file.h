// TensorBoard's event files: TFRecord frames of Event messages with scalars.
#ifndef PENSTOCK_TRAINER_APP_EVENT_FILE_H_
#define PENSTOCK_TRAINER_APP_EVENT_FILE_H_

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

using Scalar = std::pair<absl::string_view, double>;  // "train/loss" and its value.

// The bytes of tensorflow.Event (tensorflow/core/util/event.proto) with a Summary of simple values.
std::string ScalarEvent(double wall_time, uint64_t step, std::initializer_list<Scalar> scalars);

// Appends to a new file in a folder. Flushes every event, so that TensorBoard can follow a
// training. Not thread-safe.
class EventFile {
 public:
  // If `folder` is empty, nothing is written. Creates the folder if it is missing. Every run of the
  // program adds a file, and TensorBoard shows them as one.
  static absl::StatusOr<EventFile> Open(const std::string& folder);

  // Writes an event with the current time.
  void Write(uint64_t step, std::initializer_list<Scalar> scalars);
  bool is_open() const { return file_ != nullptr; }
  // Returns an error if a write has failed since Open().
  absl::Status status() const;

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void WriteFrame(absl::string_view event);

  std::string path_;
  std::unique_ptr<std::FILE, Closer> file_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_EVENT_FILE_H_
