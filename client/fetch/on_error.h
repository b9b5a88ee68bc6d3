// The policy for records that were damaged after they were indexed.
#ifndef PENSTOCK_CLIENT_FETCH_ON_ERROR_H_
#define PENSTOCK_CLIENT_FETCH_ON_ERROR_H_

#include <cstdint>

namespace penstock {

// Applies once two servers agree that a record is damaged, or once the only server says so twice
// and no other comes up within 5 s.
enum class OnError : uint8_t {
  kFail,     // The job ends. The error names shard, offset and record.
  kReplace,  // Another record replaces it. This is counted and reported.
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_ON_ERROR_H_
