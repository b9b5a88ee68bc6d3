// What the fake NCCL and the tests' stream know of each other.
#ifndef PENSTOCK_TRAINER_COMM_TESTING_FAKE_STREAM_H_
#define PENSTOCK_TRAINER_COMM_TESTING_FAKE_STREAM_H_

#include <atomic>

namespace penstock {

// A stream as cudaStream_t points to it here: how many operations are not done.
struct FakeStream {
  std::atomic<int> pending{0};
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_TESTING_FAKE_STREAM_H_
