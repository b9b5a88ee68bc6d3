#include "records/decode/stored_axes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "records/decode/compile_checks.h"

namespace penstock {

absl::StatusOr<std::vector<uint32_t>> TransposeOf(const StoredAxes& stored) {
  const int axes = stored.dims.size();
  std::vector<uint32_t> transpose(stored.transpose.begin(), stored.transpose.end());
  if (transpose.empty()) {
    for (int i = 0; i < axes; ++i) transpose.push_back(static_cast<uint32_t>(i));
  }
  std::vector<uint32_t> sorted = transpose;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size() || i < static_cast<size_t>(axes); ++i) {
    if (sorted.size() != static_cast<size_t>(axes) || sorted[i] != i) {
      return absl::InvalidArgumentError(absl::StrCat("transpose [", absl::StrJoin(transpose, ", "),
                                                     "] is no permutation of the ", axes,
                                                     " axes of dims"));
    }
  }
  return transpose;
}

absl::StatusOr<std::vector<uint32_t>> ShapeOf(const StoredAxes& axes, size_t size,
                                              std::span<const uint32_t> transpose, size_t limit,
                                              absl::string_view unit) {
  if (axes.shape.empty()) {
    std::vector<uint32_t> shape;
    for (const uint32_t axis : transpose) shape.push_back(axes.dims[static_cast<int>(axis)]);
    return shape;
  }
  PENSTOCK_ASSIGN_OR_RETURN(const size_t product, Product(axes.shape, "shape", limit, unit));
  if (product != size) {
    return absl::InvalidArgumentError(absl::StrCat("shape [", absl::StrJoin(axes.shape, ", "),
                                                   "] holds ", product, " elements, dims [",
                                                   absl::StrJoin(axes.dims, ", "), "] ", size));
  }
  return std::vector<uint32_t>(axes.shape.begin(), axes.shape.end());
}

}  // namespace penstock
