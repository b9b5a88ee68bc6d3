#include "kernels/cuda/attention_launch.h"

namespace penstock::cuda {

PENSTOCK_INSTANTIATE_ATTENTION(float)

}  // namespace penstock::cuda
