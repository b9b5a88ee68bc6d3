#include "kernels/cuda/adamw.h"

#include <cmath>

#include "kernels/cuda/block_sum.h"
#include "kernels/cuda/geometry.h"
#include "kernels/cuda/vector.h"
#include "kernels/simt/items.h"
#include "kernels/simt/simt.h"

namespace penstock::cuda {
namespace {

constexpr int kSize = Vector<float>::kSize;

PENSTOCK_KERNEL void SquaresKernel(const float* gradient, size_t count, unsigned parts,
                                   double* partial) {
  // A part is whole vectors; the last vector ends at `count`.
  const size_t vectors = (count + kSize - 1) / kSize;
  const size_t end = FirstOf(vectors, parts, simt::BlockX() + 1);
  double sum = 0;
  for (size_t i = FirstOf(vectors, parts, simt::BlockX()) + simt::Thread(); i < end;
       i += simt::Threads()) {
    const Floats<float> g = LoadUpTo(gradient, i * kSize, count);
    PENSTOCK_UNROLL for (float value : g.values) {
      sum += static_cast<double>(value) * static_cast<double>(value);
    }
  }
  sum = SumBlock(sum);
  if (simt::Thread() == 0) partial[simt::BlockX()] = sum;
}

PENSTOCK_KERNEL void NormKernel(const double* partial, unsigned parts, double* norm) {
  double sum = 0;
  for (unsigned i = simt::Thread(); i < parts; i += simt::Threads()) sum += partial[i];
  sum = SumBlock(sum);
  if (simt::Thread() == 0 && *norm <= kLargestGradientNorm) *norm = sqrt(sum);
}

// The factors for one vector of parameters.
struct Scales {
  float gradient;
  float decay;
};

PENSTOCK_DEVICE void UpdateOne(const reference::AdamwScalars<float>& s, Scales scales, float g,
                               float& parameter, float& m, float& v) {
  g *= scales.gradient;
  m = s.beta1 * m + (1.0f - s.beta1) * g;
  v = s.beta2 * v + (1.0f - s.beta2) * g * g;
  const float denominator = sqrtf(v) * s.sqrt_correction2 + s.epsilon;
  parameter -= scales.decay * parameter + s.learning_rate * (m * s.correction1) / denominator;
}

// The factor of the gradient: the scale, or less if the scaled norm exceeds the clip norm.
PENSTOCK_DEVICE float GradientScale(const UpdateScalars& update, double norm) {
  const double scale = update.adamw.gradient_scale, clip = update.clip_norm;
  return static_cast<float>(clip > 0 && norm * scale > clip ? clip / norm : scale);
}

struct alignas(8) FourBf16 {
  uint32_t low, high;
};

PENSTOCK_DEVICE void StoreCopy(const Floats<float>& p, Bf16* copy, size_t at, size_t count) {
  if (at + kSize <= count) {
    *reinterpret_cast<FourBf16*>(copy + at) = {PackBf16(p.values[0], p.values[1]),
                                               PackBf16(p.values[2], p.values[3])};
    return;
  }
  for (int i = 0; i < kSize; ++i) {
    if (at + i < count) copy[at + i] = FromFloat<Bf16>(p.values[i]);
  }
}

PENSTOCK_KERNEL void AdamwKernel(const UpdateScalars* update, const double* norm,
                                 const uint8_t* decays, const float* gradient, size_t count,
                                 float* parameter, float* m, float* v, Bf16* copy) {
  const UpdateScalars u = *update;
  const double n = *norm;
  if (!(n <= kLargestGradientNorm)) return;
  const float scale = GradientScale(u, n);
  for (size_t at = simt::FirstItem() * kSize; at < count; at += simt::ItemStride() * kSize) {
    const Scales scales{scale, decays[at / kDecayRun] != 0 ? u.adamw.decay : 0.0f};
    const Floats<float> g = LoadUpTo(gradient, at, count);
    Floats<float> p = LoadUpTo(parameter, at, count), first = LoadUpTo(m, at, count),
                  second = LoadUpTo(v, at, count);
    PENSTOCK_UNROLL for (int i = 0; i < kSize; ++i) {
      UpdateOne(u.adamw, scales, g.values[i], p.values[i], first.values[i], second.values[i]);
    }
    StoreUpTo(p, parameter, at, count);
    StoreUpTo(first, m, at, count);
    StoreUpTo(second, v, at, count);
    if (copy != nullptr) StoreCopy(p, copy, at, count);
  }
}

unsigned NormParts(size_t count) { return PartsOf(count / kSize); }

}  // namespace

size_t GradientNormWorkspace(size_t count) { return NormParts(count); }

cudaError_t GradientNorm(const float* gradient, size_t count, double* norm, double* workspace,
                         cudaStream_t stream) {
  if (!IsAligned(gradient)) return cudaErrorInvalidValue;
  const unsigned parts = NormParts(count);
  const cudaError_t error =
      simt::Launch(SquaresKernel, {.x = parts, .threads = 512, .shared = kSumBlockShared}, stream,
                   gradient, count, parts, workspace);
  if (error != cudaSuccess) return error;
  return simt::Launch(NormKernel, {.threads = kThreads, .shared = kSumBlockShared}, stream,
                      workspace, parts, norm);
}

cudaError_t Adamw(const UpdateScalars* update, const double* norm, const uint8_t* decays,
                  const float* gradient, size_t count, float* parameter, float* m, float* v,
                  Bf16* copy, cudaStream_t stream) {
  if (!AreAligned(gradient, parameter, m, v, copy)) return cudaErrorInvalidValue;
  const size_t vectors = (count + kSize - 1) / kSize;
  return simt::Launch(AdamwKernel, {.x = BlocksFor(vectors), .threads = kThreads}, stream, update,
                      norm, decays, gradient, count, parameter, m, v, copy);
}

}  // namespace penstock::cuda
