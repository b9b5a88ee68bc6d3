// The items that a thread takes: FirstItem(), then every ItemStride()-th.
#ifndef PENSTOCK_KERNELS_SIMT_ITEMS_H_
#define PENSTOCK_KERNELS_SIMT_ITEMS_H_

#include <cstddef>

#include "kernels/simt/simt.h"

namespace penstock::simt {

// The number of this thread in its grid, and the number of threads in the grid.
PENSTOCK_DEVICE size_t FirstItem() { return size_t{BlockX()} * Threads() + Thread(); }
PENSTOCK_DEVICE size_t ItemStride() { return size_t{GridX()} * Threads(); }

}  // namespace penstock::simt

#endif  // PENSTOCK_KERNELS_SIMT_ITEMS_H_
