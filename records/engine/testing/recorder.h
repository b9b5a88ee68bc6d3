// A client that records what it receives.
#ifndef PENSTOCK_RECORDS_ENGINE_TESTING_RECORDER_H_
#define PENSTOCK_RECORDS_ENGINE_TESTING_RECORDER_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "records/decode/program.h"
#include "records/engine/session.h"

namespace penstock {

// Every wait ends after a minute, so that a lost event fails a test instead of hanging it.
// Thread-safe.
class Recorder : public SessionEvents {
 public:
  // From this call on, keeps parts instead of returning their memory.
  void HoldParts() {
    MutexLock lock(&mutex_);
    hold_ = true;
  }
  // Returns the parts that were kept.
  void DropParts() {
    std::vector<PartBuffer> parts;  // Returned without the lock.
    MutexLock lock(&mutex_);
    parts.swap(held_);
    hold_ = false;
  }

  // From this call on, a thread that delivers a part waits in OnPart().
  void BlockParts() {
    MutexLock lock(&mutex_);
    block_ = true;
  }
  void UnblockParts() {
    MutexLock lock(&mutex_);
    block_ = false;
    changed_.NotifyAll();
  }

  void OnWindowReady(uint64_t window, uint64_t read_bytes) override {
    MutexLock lock(&mutex_);
    ready_[window] = read_bytes;
    changed_.NotifyAll();
  }
  void OnPart(PartBuffer part) override {
    PartBuffer dropped;  // Returned without the lock.
    MutexLock lock(&mutex_);
    std::string bytes(part.size(), '\0');
    part.CopyTo(0, {reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()});
    parts_[part.request].push_back(
        {part.first_row, part.rows, std::move(bytes), part.replaced, part.image_notes});
    order_.push_back(part.request);
    rows_[part.request] += part.rows;
    (hold_ ? held_.emplace_back() : dropped) = std::move(part);
    changed_.NotifyAll();
    ++blocked_;
    while (block_) changed_.Wait(&mutex_);
    --blocked_;
  }
  void OnError(StreamError error) override {
    MutexLock lock(&mutex_);
    errors_.push_back(std::move(error));
    changed_.NotifyAll();
  }

  // Returns false after a minute.
  bool WaitReady(uint64_t window) {
    return WaitFor([this, window]()
                       ABSL_NO_THREAD_SAFETY_ANALYSIS { return ready_.contains(window); });
  }
  // Returns false after a minute, or if the request is refused.
  bool WaitRows(uint64_t request, uint64_t rows) {
    WaitFor([=, this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return rows_[request] >= rows || Refused(request);
    });
    MutexLock lock(&mutex_);
    return rows_[request] >= rows;
  }
  bool WaitErrors(size_t errors) {
    return WaitFor([this, errors]()
                       ABSL_NO_THREAD_SAFETY_ANALYSIS { return errors_.size() >= errors; });
  }
  bool WaitParts(size_t parts) {
    return WaitFor([this, parts]()
                       ABSL_NO_THREAD_SAFETY_ANALYSIS { return order_.size() >= parts; });
  }

  // Waits for a thread inside OnPart().
  bool WaitBlocked() {
    return WaitFor([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return blocked_ > 0; });
  }

  uint64_t read_bytes(uint64_t window) {
    MutexLock lock(&mutex_);
    return ready_.at(window);
  }
  std::vector<StreamError> errors() {
    MutexLock lock(&mutex_);
    return errors_;
  }
  // Returns the request of each part, in order of arrival.
  std::vector<uint64_t> order() {
    MutexLock lock(&mutex_);
    return order_;
  }
  // Return the replaced rows, and the notes about images, of an answer, by row of the answer.
  std::vector<ReplacedRow> Replaced(uint64_t request) { return OfAnswer(request, &Part::replaced); }
  std::vector<ImageNote> ImageNotesOf(uint64_t request) {
    return OfAnswer(request, &Part::image_notes);
  }
  // Returns the rows of an answer, each with its row of every tensor in turn. `row_bytes` has the
  // size of each tensor's row.
  std::vector<std::string> Rows(uint64_t request, const std::vector<size_t>& row_bytes) {
    MutexLock lock(&mutex_);
    std::vector<std::string> rows(rows_[request]);
    for (const Part& part : parts_[request]) {
      size_t offset = 0;
      for (size_t bytes : row_bytes) {
        for (uint32_t r = 0; r < part.rows; ++r, offset += bytes) {
          rows[part.first_row + r] += part.bytes.substr(offset, bytes);
        }
      }
    }
    return rows;
  }

 private:
  struct Part {
    uint32_t first_row;
    uint32_t rows;
    std::string bytes;
    std::vector<ReplacedRow> replaced;
    std::vector<ImageNote> image_notes;
  };

  template <typename Note>
  std::vector<Note> OfAnswer(uint64_t request, std::vector<Note> Part::*list) {
    MutexLock lock(&mutex_);
    std::vector<Note> notes;
    for (const Part& part : parts_[request]) {
      for (Note note : part.*list) {
        note.row += part.first_row;
        notes.push_back(std::move(note));
      }
    }
    return notes;
  }
  bool Refused(uint64_t request) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::ranges::any_of(
        errors_, [request](const StreamError& error) { return error.request == request; });
  }
  bool WaitFor(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    MutexLock lock(&mutex_);
    while (!condition()) {
      if (!changed_.WaitUntil(&mutex_, deadline)) return condition();
    }
    return true;
  }

  Mutex mutex_;
  CondVar changed_;
  bool hold_ ABSL_GUARDED_BY(mutex_) = false;
  bool block_ ABSL_GUARDED_BY(mutex_) = false;
  int blocked_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, uint64_t> ready_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, std::vector<Part>> parts_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, uint64_t> rows_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint64_t> order_ ABSL_GUARDED_BY(mutex_);
  std::vector<PartBuffer> held_ ABSL_GUARDED_BY(mutex_);
  std::vector<StreamError> errors_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_TESTING_RECORDER_H_
