// A copy to memory that is read later, if at all, by this processor.
#ifndef PENSTOCK_RECORDS_BASE_STREAMING_COPY_H_
#define PENSTOCK_RECORDS_BASE_STREAMING_COPY_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

// As memcpy, but long copies go past the caches: a destination larger than these is not read in
// before it is overwritten, and what others have in the cache stays there. REQUIRES: the sizes are
// equal, the ranges do not overlap.
void StreamingCopy(std::span<const uint8_t> from, std::span<uint8_t> to);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_BASE_STREAMING_COPY_H_
