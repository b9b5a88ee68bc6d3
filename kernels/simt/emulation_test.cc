// Tests of the emulation itself: the faults that it must find, and its instructions.
#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/numeric/bf16.h"
#include "kernels/simt/once_per_kernel.h"
#include "kernels/simt/simt.h"

namespace penstock::simt {
namespace {

// Each thread writes its number, then reads its right neighbour's.
void RotateKernel(bool wait, int* out) {
  auto* shared = reinterpret_cast<int*>(Shared());
  shared[Thread()] = static_cast<int>(Thread());
  if (wait) SyncBlock();
  out[Thread()] = shared[(Thread() + 1) % Threads()];
}

std::vector<int> Rotate(bool wait, Order order) {
  constexpr unsigned kThreads = 100;  // The last warp is not whole.
  std::vector<int> out(kThreads);
  SetOrder(order);
  EXPECT_EQ(Launch(RotateKernel, {.threads = kThreads, .shared = kThreads * sizeof(int)}, nullptr,
                   wait, out.data()),
            cudaSuccess);
  return out;
}

TEST(OncePerKernelTest, WorkIsDoneOnceForEachKernelAndDevice) {
  OncePerKernel once;
  const char a = 0, b = 0;
  int calls = 0;
  const auto count = [&] {
    ++calls;
    return cudaSuccess;
  };
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(once.Do(0, &a, count), cudaSuccess);
    EXPECT_EQ(once.Do(0, &b, count), cudaSuccess);
    EXPECT_EQ(once.Do(1, &a, count), cudaSuccess);
  }
  EXPECT_EQ(calls, 3);
}

TEST(OncePerKernelTest, WorkThatFailsIsDoneAgain) {
  OncePerKernel once;
  const char a = 0;
  EXPECT_EQ(once.Do(0, &a, [] { return cudaErrorInvalidValue; }), cudaErrorInvalidValue);
  EXPECT_EQ(once.Do(0, &a, [] { return cudaErrorMemoryAllocation; }), cudaErrorMemoryAllocation);
  EXPECT_EQ(once.Do(0, &a, [] { return cudaSuccess; }), cudaSuccess);
  EXPECT_EQ(once.Do(0, &a, [] { return cudaErrorInvalidValue; }), cudaSuccess);
}

TEST(EmulationTest, ThreadsWaitForEachOther) {
  const std::vector<int> out = Rotate(true, Order::kForward);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(out[i], (i + 1) % 100);
  EXPECT_EQ(out, Rotate(true, Order::kReverse));
}

TEST(EmulationTest, OrderShowsARace) {
  EXPECT_NE(Rotate(false, Order::kForward), Rotate(false, Order::kReverse));
}

void UnevenKernel(int) {
  if (Thread() != 3) SyncBlock();
}

TEST(EmulationDeathTest, WaitThatNotAllReachEndsTheProgram) {
  EXPECT_DEATH((void)Launch(UnevenKernel, {.threads = 64}, nullptr, 0),
               "waits at a barrier that the other threads will not reach");
}

TEST(EmulationTest, RefusesMoreThanABlockCanHave) {
  EXPECT_EQ(Launch(UnevenKernel, {.threads = kMostThreads + 1}, nullptr, 0), cudaErrorInvalidValue);
  EXPECT_EQ(Launch(UnevenKernel, {.threads = 1, .shared = kMostShared + 1}, nullptr, 0),
            cudaErrorInvalidValue);
}

void NoKernel(int) {}

int SharedOfABlock() {
  int bytes = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0),
            cudaSuccess);
  return bytes;
}

TEST(EmulationTest, ASmallerGpuRefusesEarlierAndSaysHowMuchItHas) {
  EXPECT_EQ(SharedOfABlock(), int{kMostShared});
  SetMostShared(1000);
  EXPECT_EQ(SharedOfABlock(), 1000);
  EXPECT_EQ(Launch(NoKernel, {.threads = 1, .shared = 1000}, nullptr, 0), cudaSuccess);
  EXPECT_EQ(Launch(NoKernel, {.threads = 1, .shared = 1001}, nullptr, 0), cudaErrorInvalidValue);
  SetMostShared(kMostShared);
}

void SumKernel(const int* x, int* sums) {
  int sum = x[Thread()];
  for (unsigned mask = 16; mask > 0; mask /= 2) sum += ShuffleXor(sum, mask);
  sums[Thread()] = sum;
}

TEST(EmulationTest, ShufflesStayWithinTheirWarp) {
  std::vector<int> x(64), sums(64);
  for (int i = 0; i < 64; ++i) x[i] = i;
  SetOrder(Order::kForward);
  ASSERT_EQ(Launch(SumKernel, {.threads = 64}, nullptr, x.data(), sums.data()), cudaSuccess);
  EXPECT_EQ(sums[5], 31 * 32 / 2);
  EXPECT_EQ(sums[40], (32 + 63) * 32 / 2);
}

constexpr int kM = 16, kN = 8, kK = 16;

// c (16, 8) = a (16, 16) b, through shared memory and both forms of LoadMatrices. If `transposed`
// is false, b is (8, 16), else (16, 8).
void MultiplyKernel(const Bf16* a, const Bf16* b, bool transposed, float* c) {
  auto* shared_a = reinterpret_cast<Bf16*>(Shared());
  Bf16* shared_b = shared_a + kM * kK;
  const unsigned lane = Thread();
  for (unsigned i = lane; i < kM * kK / 8; i += kWarp)
    CopyAsync16(shared_a + 8 * i, a + 8 * i, true);
  if (lane < kN * kK / 8) CopyAsync16(shared_b + 8 * lane, b + 8 * lane, true);
  CopyAsyncWait();
  SyncWarp();
  uint32_t x[4], y[4];
  LoadMatrices(x, shared_a + lane % 16 * kK + lane / 16 * 8);
  if (transposed) {
    LoadMatricesTransposed(y, shared_b + lane % 16 * kN);
  } else {
    LoadMatrices(y, shared_b + lane % 8 * kK + lane / 8 % 2 * 8);
  }
  float sum[4] = {};
  const uint32_t pair[2] = {y[0], y[1]};
  MmaBf16(sum, x, pair);
  for (unsigned i = 0; i < 4; ++i) {
    c[(lane / 4 + i / 2 * 8) * kN + lane % 4 * 2 + i % 2] = sum[i];
  }
}

TEST(EmulationTest, FragmentsMultiply) {
  std::vector<Bf16> a(kM * kK), b(kK * kN), bt(kK * kN);
  for (int i = 0; i < kM * kK; ++i) a[i] = FromFloat<Bf16>(float(i * 7 % 13 - 6));
  for (int k = 0; k < kK; ++k) {
    for (int n = 0; n < kN; ++n) {
      b[k * kN + n] = bt[n * kK + k] = FromFloat<Bf16>(float((k * 5 + n * 3) % 11 - 5));
    }
  }
  const Grid grid{.threads = kWarp, .shared = (kM + kN) * kK * sizeof(Bf16)};
  std::vector<float> c(kM * kN), ct(kM * kN);
  ASSERT_EQ(Launch(MultiplyKernel, grid, nullptr, a.data(), bt.data(), false, c.data()),
            cudaSuccess);
  ASSERT_EQ(Launch(MultiplyKernel, grid, nullptr, a.data(), b.data(), true, ct.data()),
            cudaSuccess);
  for (int m = 0; m < kM; ++m) {
    for (int n = 0; n < kN; ++n) {
      float sum = 0;
      for (int k = 0; k < kK; ++k) sum += ToFloat(a[m * kK + k]) * ToFloat(b[k * kN + n]);
      EXPECT_EQ(c[m * kN + n], sum) << m << " " << n;
      EXPECT_EQ(ct[m * kN + n], sum) << m << " " << n;
    }
  }
}

void ReadTooEarlyKernel(const float* from, float* out) {
  auto* shared = reinterpret_cast<float*>(Shared());
  CopyAsync16(shared, from, true);
  out[0] = shared[0];
  CopyAsyncWait();
  out[1] = shared[0];
  CopyAsync16(shared, from, false);
  CopyAsyncWait();
  out[2] = shared[0];
}

TEST(EmulationTest, CopiesArriveWhenTheyAreWaitedFor) {
  alignas(16) const float from[4] = {5, 6, 7, 8};
  float out[3] = {};
  ASSERT_EQ(Launch(ReadTooEarlyKernel, {.threads = 1, .shared = 16}, nullptr, from, out),
            cudaSuccess);
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_EQ(out[1], 5);
  EXPECT_EQ(out[2], 0);
}

}  // namespace
}  // namespace penstock::simt
