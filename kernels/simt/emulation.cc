#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "kernels/numeric/bf16.h"
#include "kernels/simt/fiber.h"
#include "kernels/simt/simt.h"

namespace penstock::simt {
namespace {

enum class Wait { kNone, kWarp, kBlock };

struct Copy {
  void* to;
  const void* from;
  bool valid;
};

struct Lane {
  Fiber fiber;
  Wait wait = Wait::kNone;
  std::vector<Copy> copies;
  unsigned shows = 0;  // Number of calls of ShowWarp().
};

struct Block {
  Grid grid;
  unsigned x = 0, y = 0;
  std::unique_ptr<unsigned char[]> shared;
  std::vector<std::unique_ptr<Lane>> lanes;  // At least grid.threads lanes.
  std::vector<Shown> shown;                  // Two sets of 32 values per warp.
  unsigned running = 0;
};

Block block;
Order run_order = Order::kForward;
unsigned most_shared = kMostShared;

[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "kernel emulation: block (%u, %u), thread %u: %s\n", block.x, block.y,
               block.running, what);
  std::abort();
}

Lane& Running() { return *block.lanes[block.running]; }

void WaitFor(Wait wait) {
  Lane& lane = Running();
  lane.wait = wait;
  lane.fiber.GiveWay();
}

bool AllWait(unsigned first, unsigned last, Wait wait) {
  for (unsigned i = first; i < last; ++i) {
    if (block.lanes[i]->fiber.done() || block.lanes[i]->wait != wait) return false;
  }
  return true;
}

// If all threads of [first, last) wait for each other, lets them continue and returns true.
bool Release(unsigned first, unsigned last, Wait wait) {
  if (!AllWait(first, last, wait)) return false;
  for (unsigned i = first; i < last; ++i) block.lanes[i]->wait = Wait::kNone;
  return true;
}

// Runs each thread until it waits or is done. Returns true if all are done.
bool RunThreads(unsigned first, unsigned last) {
  bool done = true;
  for (unsigned i = first; i < last; ++i) {
    block.running = run_order == Order::kForward ? i : last - 1 - (i - first);
    Lane& lane = Running();
    if (!lane.fiber.done() && lane.wait == Wait::kNone) lane.fiber.Resume();
    done &= lane.fiber.done();
  }
  return done;
}

// Runs a warp until it waits for the rest of the block. Returns true if it is done.
bool RunWarp(unsigned warp) {
  const unsigned first = warp * kWarp, last = std::min(first + kWarp, block.grid.threads);
  do {
    if (RunThreads(first, last)) return true;
  } while (Release(first, last, Wait::kWarp));
  return false;
}

void RunBlock() {
  const unsigned threads = block.grid.threads, warps = (threads + kWarp - 1) / kWarp;
  for (;;) {
    bool done = true;
    for (unsigned i = 0; i < warps; ++i) {
      done &= RunWarp(run_order == Order::kForward ? i : warps - 1 - i);
    }
    if (done) return;
    if (!Release(0, threads, Wait::kBlock))
      Die("waits at a barrier that the other threads will not reach");
  }
}

void StartBlock(unsigned x, unsigned y, const std::function<void()>& thread) {
  block.x = x;
  block.y = y;
  // As a float or a bfloat16, these bytes are a NaN.
  std::memset(block.shared.get(), 0xff, block.grid.shared);
  for (unsigned i = 0; i < block.grid.threads; ++i) {
    block.lanes[i]->wait = Wait::kNone;
    block.lanes[i]->shows = 0;
    block.lanes[i]->fiber.Start(thread);
  }
}

}  // namespace

void SetOrder(Order order) { run_order = order; }

void SetMostShared(unsigned bytes) { most_shared = bytes; }

cudaError_t RunGrid(const Grid& grid, const std::function<void()>& thread) {
  if (grid.threads == 0 || grid.threads > kMostThreads || grid.shared > most_shared) {
    return cudaErrorInvalidValue;
  }
  const KernelArithmetic arithmetic;
  block.grid = grid;
  block.shared.reset(new unsigned char[grid.shared]);
  while (block.lanes.size() < grid.threads) block.lanes.push_back(std::make_unique<Lane>());
  block.shown.resize(2 * (grid.threads + kWarp));
  const uint64_t blocks = uint64_t{grid.x} * grid.y;
  for (uint64_t i = 0; i < blocks; ++i) {
    const uint64_t b = run_order == Order::kForward ? i : blocks - 1 - i;
    StartBlock(static_cast<unsigned>(b % grid.x), static_cast<unsigned>(b / grid.x), thread);
    RunBlock();
  }
  return cudaSuccess;
}

unsigned BlockX() { return block.x; }
unsigned BlockY() { return block.y; }
unsigned GridX() { return block.grid.x; }
unsigned Thread() { return block.running; }
unsigned Threads() { return block.grid.threads; }
unsigned char* Shared() { return block.shared.get(); }

void SyncBlock() { WaitFor(Wait::kBlock); }
void SyncWarp() { WaitFor(Wait::kWarp); }

const Shown* ShowWarp(const Shown& mine) {
  // Two sets take turns: no lane can be two calls ahead of another.
  const unsigned set = Running().shows++ % 2;
  Shown* shown = &block.shown[(Thread() / kWarp * 2 + set) * kWarp];
  shown[Thread() % kWarp] = mine;
  SyncWarp();
  return shown;
}

namespace {

// Value (row, column) of matrix m, from the rows that the lanes have shown.
uint16_t MatrixValue(const Shown* shown, unsigned m, unsigned row, unsigned column) {
  uint16_t value;
  const auto* from = reinterpret_cast<const char*>(shown[8 * m + row].words[0]);
  std::memcpy(&value, from + 2 * column, 2);
  return value;
}

const Shown* ShowRow(const void* row) {
  const auto address = reinterpret_cast<uintptr_t>(row);
  if (address % 16 != 0) Die("the address of a matrix row is not a multiple of 16 bytes");
  return ShowWarp({{address}});
}

float Low(uint32_t pair) { return ToFloat(Bf16{static_cast<uint16_t>(pair & 0xffff)}); }
float High(uint32_t pair) { return ToFloat(Bf16{static_cast<uint16_t>(pair >> 16)}); }

}  // namespace

void LoadMatrices(uint32_t (&r)[4], const void* row) {
  const Shown* shown = ShowRow(row);
  const unsigned lane = Thread() % kWarp;
  for (unsigned m = 0; m < 4; ++m) {
    r[m] = MatrixValue(shown, m, lane / 4, 2 * (lane % 4)) |
           uint32_t{MatrixValue(shown, m, lane / 4, 2 * (lane % 4) + 1)} << 16;
  }
  SyncWarp();  // The caller may overwrite the rows next.
}

void LoadMatricesTransposed(uint32_t (&r)[4], const void* row) {
  const Shown* shown = ShowRow(row);
  const unsigned lane = Thread() % kWarp;
  for (unsigned m = 0; m < 4; ++m) {
    r[m] = MatrixValue(shown, m, 2 * (lane % 4), lane / 4) |
           uint32_t{MatrixValue(shown, m, 2 * (lane % 4) + 1, lane / 4)} << 16;
  }
  SyncWarp();
}

// Fragments (PTX ISA, mma.m16n8k16), with g = lane / 4 and t = lane % 4: a[i] holds columns 2t and
// 2t + 1, both + 8 (i / 2), of row g + 8 (i % 2). b[i] holds rows 2t and 2t + 1, both + 8 i, of
// column g. c[i] holds row g + 8 (i / 2), column 2t + i % 2.
void MmaBf16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  Shown mine = {
      {a[0] | uint64_t{a[1]} << 32, a[2] | uint64_t{a[3]} << 32, b[0] | uint64_t{b[1]} << 32}};
  const Shown* shown = ShowWarp(mine);
  auto word = [&](unsigned lane, unsigned index) {
    return static_cast<uint32_t>(shown[lane].words[index / 2] >> 32 * (index % 2));
  };
  const unsigned lane = Thread() % kWarp, g = lane / 4, t = lane % 4;
  for (unsigned i = 0; i < 4; ++i) {
    float x[16], y[16];
    for (unsigned k = 0; k < 16; k += 2) {
      const uint32_t left = word(4 * g + k % 8 / 2, i / 2 + 2 * (k / 8));
      const uint32_t right = word(4 * (2 * t + i % 2) + k % 8 / 2, 4 + k / 8);
      x[k] = Low(left);
      x[k + 1] = High(left);
      y[k] = Low(right);
      y[k + 1] = High(right);
    }
    c[i] = AddProducts(c[i], x, y);
  }
}

void CopyAsync16(void* to, const void* from, bool valid) {
  if (reinterpret_cast<uintptr_t>(to) % 16 != 0)
    Die("the target of an asynchronous copy is not aligned to 16 bytes");
  if (valid && reinterpret_cast<uintptr_t>(from) % 16 != 0)
    Die("the source of an asynchronous copy is not aligned to 16 bytes");
  Running().copies.push_back({to, from, valid});
}

void CopyAsyncWait() {
  for (const Copy& copy : Running().copies) {
    if (copy.valid) {
      std::memcpy(copy.to, copy.from, 16);
    } else {
      std::memset(copy.to, 0, 16);
    }
  }
  Running().copies.clear();
}

}  // namespace penstock::simt

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  if (attribute != cudaDevAttrMaxSharedMemoryPerBlockOptin) return cudaErrorInvalidValue;
  *value = static_cast<int>(penstock::simt::most_shared);
  return cudaSuccess;
}
