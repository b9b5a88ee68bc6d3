// What the fake NCCL and the tests' stream know of each other.
#ifndef PENSTOCK_TRAINER_CUDA_TESTING_FAKE_STREAM_H_
#define PENSTOCK_TRAINER_CUDA_TESTING_FAKE_STREAM_H_

#include <atomic>
#include <functional>

namespace penstock {

// A stream as cudaStream_t points to it here.
struct FakeStream {
  // Called when it is its turn, and then until it says yes, on the stream's own thread; both again
  // and again, in turn, where a graph holds it.
  struct Work {
    std::function<void()> start;
    std::function<bool()> done;
  };
  // Where work waits for what is on the stream before; if empty, it is done as soon as it may be.
  std::function<void(Work)> queue;
  std::atomic<int> pending{0};  // Operations that are not done, where it is empty.
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_TESTING_FAKE_STREAM_H_
