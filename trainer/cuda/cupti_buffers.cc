#include "trainer/cuda/cupti_buffers.h"

#include <utility>

namespace penstock {

CuptiBuffers& CuptiBuffers::OfProcess() {
  static auto* const buffers = new CuptiBuffers;
  return *buffers;
}

void CuptiBuffers::Request(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *buffer = OfProcess().Lend(*bytes);
  *most_records = 0;  // 0 means as many as fit.
}

void CuptiBuffers::Complete(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) {
  OfProcess().CountDropped();
  OfProcess().TakeBack(buffer, valid_bytes);
}

void CuptiBuffers::Open(const CuptiLibrary& cupti, const CuptiOptions& options) {
  MutexLock lock(&mutex_);
  options_ = options;
  num_dropped_ = cupti.num_dropped;
  ++session_;
  open_ = true;
  lent_in_session_ = 0;
  filled_ = {};
}

CuptiBuffers::Filled CuptiBuffers::Close(bool wait) {
  CountDropped();
  MutexLock lock(&mutex_);
  const auto deadline = std::chrono::steady_clock::now() + options_.patience;
  while (wait && lent_in_session_ > 0 && returned_.WaitUntil(&mutex_, deadline)) {
  }
  filled_.missing = lent_in_session_;
  open_ = false;
  return std::exchange(filled_, {});
}

uint8_t* CuptiBuffers::Lend(size_t& bytes) {
  MutexLock lock(&mutex_);
  bytes = 0;
  if (lent_.size() + filled_.buffers.size() >= options_.most_buffers) return nullptr;
  bytes = options_.buffer_bytes;
  Buffer buffer{.words = std::unique_ptr<uint64_t[]>(new uint64_t[bytes / sizeof(uint64_t)]),
                .session = session_};
  uint8_t* const at = buffer.bytes();
  lent_.emplace(at, std::move(buffer));
  if (open_) ++lent_in_session_;
  return at;
}

void CuptiBuffers::TakeBack(uint8_t* buffer, size_t valid_bytes) {
  MutexLock lock(&mutex_);
  auto lent = lent_.extract(buffer);
  if (lent.empty() || !open_ || lent.mapped().session != session_) return;
  lent.mapped().valid_bytes = valid_bytes;
  if (valid_bytes > 0) filled_.buffers.push_back(std::move(lent.mapped()));
  --lent_in_session_;
  returned_.NotifyAll();
}

void CuptiBuffers::CountDropped() {
  decltype(CuptiLibrary::num_dropped) num_dropped = nullptr;
  {
    MutexLock lock(&mutex_);
    num_dropped = num_dropped_;
  }
  size_t dropped = 0;
  if (num_dropped == nullptr || num_dropped(nullptr, 0, &dropped) != CUPTI_SUCCESS) return;
  MutexLock lock(&mutex_);
  filled_.dropped += dropped;
}

}  // namespace penstock
