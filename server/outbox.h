// Queues the messages that one stream has yet to send.
#ifndef PENSTOCK_SERVER_OUTBOX_H_
#define PENSTOCK_SERVER_OUTBOX_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "records/engine/part_buffer.h"

namespace penstock {

// Control messages (serialised) are sent before parts, each kind in the order in which it came. Its
// users bound it: the session's credit limits parts, and the stream limits control messages,
// because it reads nothing while there are many. Not thread-safe.
class Outbox {
 public:
  using Item = std::variant<std::string, PartBuffer>;

  void PushControl(std::string message) { control_.push_back(std::move(message)); }
  void PushPart(PartBuffer part) { parts_.push_back(std::move(part)); }

  std::optional<Item> Pop() {
    if (!control_.empty()) return Take(control_);
    if (!parts_.empty()) return Take(parts_);
    return std::nullopt;
  }

  // Removes the parts of `request`. The caller destroys them where it holds no lock.
  std::vector<PartBuffer> RemoveParts(uint64_t request) {
    std::vector<PartBuffer> removed;
    std::deque<PartBuffer> kept;
    for (PartBuffer& part : parts_) {
      if (part.request == request) {
        removed.push_back(std::move(part));
      } else {
        kept.push_back(std::move(part));
      }
    }
    parts_ = std::move(kept);
    return removed;
  }

  size_t num_control() const { return control_.size(); }

 private:
  template <typename T>
  static Item Take(std::deque<T>& queue) {
    Item item = std::move(queue.front());
    queue.pop_front();
    return item;
  }

  std::deque<std::string> control_;
  std::deque<PartBuffer> parts_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_OUTBOX_H_
