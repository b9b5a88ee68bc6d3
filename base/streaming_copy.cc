#include "base/streaming_copy.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace penstock {
namespace {

// In shorter copies, most cache lines are overwritten only in part, so they are read in anyway.
constexpr size_t kMinBytes = 512;

#if defined(__x86_64__)

constexpr size_t kLine = 64;

// Copies whole cache lines to an aligned destination.
__attribute__((target("avx512f"))) void CopyLines512(const uint8_t* from, uint8_t* to,
                                                     size_t lines) {
  for (size_t i = 0; i < lines; ++i, from += kLine, to += kLine) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_loadu_si512(from));
  }
}

__attribute__((target("avx2"))) void CopyLines256(const uint8_t* from, uint8_t* to, size_t lines) {
  for (size_t i = 0; i < lines; ++i, from += kLine, to += kLine) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 32));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), low);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + 32), high);
  }
}

using CopyLines = void (*)(const uint8_t*, uint8_t*, size_t);

// Null if only memcpy is available.
CopyLines ChooseCopyLines() {
  if (__builtin_cpu_supports("avx512f")) return CopyLines512;
  if (__builtin_cpu_supports("avx2")) return CopyLines256;
  return nullptr;
}

bool CopyPastCaches(std::span<const uint8_t> from, std::span<uint8_t> to) {
  static const CopyLines kCopyLines = ChooseCopyLines();
  if (kCopyLines == nullptr) return false;
  const size_t head = -reinterpret_cast<uintptr_t>(to.data()) % kLine;
  const size_t lines = (to.size() - head) / kLine;
  const size_t tail = head + lines * kLine;
  std::memcpy(to.data(), from.data(), head);
  kCopyLines(from.data() + head, to.data() + head, lines);
  std::memcpy(to.data() + tail, from.data() + tail, to.size() - tail);
  return true;
}

#else

bool CopyPastCaches(std::span<const uint8_t>, std::span<uint8_t>) { return false; }

#endif

}  // namespace

void StreamingFence() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

void StreamingCopy(std::span<const uint8_t> from, std::span<uint8_t> to) {
  if (to.size() >= kMinBytes && CopyPastCaches(from, to)) return;
  if (!to.empty()) std::memcpy(to.data(), from.data(), to.size());
}

}  // namespace penstock
