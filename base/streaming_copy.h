// A copy to memory that is read later, if at all, by this processor.
#ifndef PENSTOCK_BASE_STREAMING_COPY_H_
#define PENSTOCK_BASE_STREAMING_COPY_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

// As memcpy, but copies of half a KiB and more go past the caches: a destination larger than these
// is not read in before it is overwritten, and what others have in the cache stays there.
// StreamingFence() must follow before another thread is told of them: a fence waits for the write
// buffers, so short copies share one. REQUIRES: the sizes are equal, the ranges do not overlap.
void StreamingCopy(std::span<const uint8_t> from, std::span<uint8_t> to);

// What this thread has written past the caches reaches others before what it writes from now on.
void StreamingFence();

}  // namespace penstock

#endif  // PENSTOCK_BASE_STREAMING_COPY_H_
