// Which of many items a thread takes: from FirstItem() on, each ItemStride() further.
#ifndef PENSTOCK_KERNELS_SIMT_ITEMS_H_
#define PENSTOCK_KERNELS_SIMT_ITEMS_H_

#include <cstddef>

#include "kernels/simt/simt.h"

namespace penstock::simt {

// The number of this thread in its grid, and how many the grid has.
PENSTOCK_DEVICE size_t FirstItem() { return size_t{BlockX()} * Threads() + Thread(); }
PENSTOCK_DEVICE size_t ItemStride() { return size_t{GridX()} * Threads(); }

}  // namespace penstock::simt

#endif  // PENSTOCK_KERNELS_SIMT_ITEMS_H_
