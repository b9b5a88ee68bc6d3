// simt.h in plain C++, for tests. The threads of a block are fibers of one host thread, which
// switch only where they wait for each other. A program runs one launch at a time. Global memory is
// host memory, so that sanitizers watch it. Shared memory starts as NaNs and has exactly the
// requested size.
//
// SetOrder() sets the order in which blocks and threads run between two waits: a kernel whose
// result depends on it has a race. The program ends with a message if a thread waits for one that
// will never arrive, or if a block waits after some of its threads have returned.
#ifndef PENSTOCK_KERNELS_SIMT_EMULATED_DEVICE_H_
#define PENSTOCK_KERNELS_SIMT_EMULATED_DEVICE_H_

#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

#include "kernels/simt/arithmetic.h"
#include "kernels/simt/emulated_runtime.h"

#define PENSTOCK_KERNEL
#define PENSTOCK_DEVICE inline
#define PENSTOCK_LAUNCH_BOUNDS(threads, blocks)
#define PENSTOCK_MOST_REGISTERS(count)
#define PENSTOCK_UNROLL
#define PENSTOCK_NO_UNROLL

namespace penstock::simt {

// The most threads that a block may have on the supported GPUs.
inline constexpr unsigned kMostThreads = 1024;
inline constexpr unsigned kMostShared = 227 * 1024;
// Gives each later block `bytes` of shared memory, as on a smaller GPU.
void SetMostShared(unsigned bytes);

enum class Order { kForward, kReverse };
void SetOrder(Order order);

cudaError_t RunGrid(const Grid& grid, const std::function<void()>& thread);

template <typename... Parameters, typename... Arguments>
cudaError_t Launch(void (*kernel)(Parameters...), const Grid& grid, cudaStream_t,
                   Arguments... arguments) {
  return RunGrid(grid, [&] { kernel(static_cast<Parameters>(arguments)...); });
}

// Indices of the running thread.
unsigned BlockX();
unsigned BlockY();
unsigned GridX();
unsigned Thread();
unsigned Threads();
unsigned char* Shared();

void SyncBlock();
void SyncWarp();

// The value that a lane shows to the other lanes of its warp.
struct Shown {
  uint64_t words[4];
};
// Shows `mine` and waits until all lanes of the warp have shown a value. Returns the values of the
// 32 lanes. They stay valid through this lane's next call and are overwritten by the call after
// that.
const Shown* ShowWarp(const Shown& mine);

template <typename T>
T Shuffle(T x, unsigned lane) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(Shown));
  Shown mine = {};
  std::memcpy(&mine, &x, sizeof(T));
  std::memcpy(&x, &ShowWarp(mine)[lane], sizeof(T));
  return x;
}
template <typename T>
T ShuffleXor(T x, unsigned mask) {
  return Shuffle(x, Thread() % kWarp ^ mask);
}

void LoadMatrices(uint32_t (&r)[4], const void* row);
void LoadMatricesTransposed(uint32_t (&r)[4], const void* row);
void MmaBf16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]);

// The copy happens when its thread waits for it, not earlier.
void CopyAsync16(void* to, const void* from, bool valid);
void CopyAsyncWait();

inline constexpr bool kSaveRegisters = true;
inline unsigned Anew(unsigned x) { return x; }

}  // namespace penstock::simt

#endif  // PENSTOCK_KERNELS_SIMT_EMULATED_DEVICE_H_
