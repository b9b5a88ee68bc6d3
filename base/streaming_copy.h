// Copies to memory that this processor reads only later, if at all.
#ifndef PENSTOCK_BASE_STREAMING_COPY_H_
#define PENSTOCK_BASE_STREAMING_COPY_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

// As memcpy, but copies of 512 bytes or more bypass the caches. A destination that is larger than
// the caches is then not read in before it is overwritten, and the cached data of others stays in
// place. Call StreamingFence() before you tell another thread about the bytes. One fence serves
// many short copies, because each fence waits for the write buffers. REQUIRES: the sizes are equal,
// and the ranges do not overlap.
void StreamingCopy(std::span<const uint8_t> from, std::span<uint8_t> to);

// Orders all earlier StreamingCopy() writes of this thread before its later writes.
void StreamingFence();

}  // namespace penstock

#endif  // PENSTOCK_BASE_STREAMING_COPY_H_
