// The interface between the fake libraries and the tests' streams.
#ifndef PENSTOCK_TRAINER_CUDA_TESTING_FAKE_STREAM_H_
#define PENSTOCK_TRAINER_CUDA_TESTING_FAKE_STREAM_H_

#include <atomic>
#include <functional>

namespace penstock {

// The target of cudaStream_t in tests.
struct FakeStream {
  // On the stream's own thread, `start` is called when the work's turn comes, then `done` until it
  // returns true. If a graph holds the work, both are called for each launch.
  struct Work {
    std::function<void()> start;
    std::function<bool()> done;
  };
  // Queues work behind the earlier work of the stream. If empty, work is done as soon as possible.
  std::function<void(Work)> queue;
  std::atomic<int> pending{0};  // Unfinished operations, if `queue` is empty.
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_TESTING_FAKE_STREAM_H_
