// The sums of tensor cores, as measured on GPUs: M. Fasi, N. J. Higham, M. Mikaitis, S. Pranesh,
// "Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science 7:e330, 2021; F. A. Khattak,
// M. Mikaitis, "Accurate Models of NVIDIA Tensor Cores", arXiv:2512.07004.
#ifndef PENSTOCK_KERNELS_SIMT_TENSOR_CORE_H_
#define PENSTOCK_KERNELS_SIMT_TENSOR_CORE_H_

namespace penstock::simt {

// A sum is taken in groups of products. Products are exact. Those of a group, and the sum so far,
// are aligned to the largest exponent and cut off (not rounded) `extra_bits` behind the last bit
// that a float with this exponent has. Their sum is cut off to a float.
struct TensorCore {
  int group;
  int extra_bits;
  int least_exponent;  // Used if the largest exponent is lower.
};
inline constexpr TensorCore kAmpere = {8, 1, -132};   // sm_80.
inline constexpr TensorCore kHopper = {16, 2, -133};  // sm_90.

// c plus the products of x and y, which are bf16 values. REQUIRES: the group divides 16.
float AddProductsOn(const TensorCore& core, float c, const float (&x)[16], const float (&y)[16]);

}  // namespace penstock::simt

#endif  // PENSTOCK_KERNELS_SIMT_TENSOR_CORE_H_
