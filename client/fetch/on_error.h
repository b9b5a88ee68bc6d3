// What becomes of a record that was damaged after it was indexed.
#ifndef PENSTOCK_CLIENT_FETCH_ON_ERROR_H_
#define PENSTOCK_CLIENT_FETCH_ON_ERROR_H_

#include <cstdint>

namespace penstock {

// Once two servers agree that a record is damaged (or the only one says so twice, and no other
// comes up within 5 s).
enum class OnError : uint8_t {
  kFail,     // The job ends, naming shard, offset and record.
  kReplace,  // Another record takes its place; counted and reported.
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_ON_ERROR_H_
