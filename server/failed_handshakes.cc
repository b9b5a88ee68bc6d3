#include "server/failed_handshakes.h"

#include <atomic>

namespace penstock {
namespace {

std::atomic<uint64_t>& Count() {
  static std::atomic<uint64_t> count{0};
  return count;
}

}  // namespace

void CountFailedHandshake() { Count().fetch_add(1, std::memory_order_relaxed); }

uint64_t NumFailedHandshakes() { return Count().load(std::memory_order_relaxed); }

}  // namespace penstock
