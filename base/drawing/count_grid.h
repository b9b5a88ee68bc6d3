// A table of counts as a picture, such as a confusion matrix.
#ifndef PENSTOCK_BASE_DRAWING_COUNT_GRID_H_
#define PENSTOCK_BASE_DRAWING_COUNT_GRID_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/drawing/picture.h"

namespace penstock {

struct CountGrid {
  std::string title;
  std::string subtitle;
  std::string row_title;     // What the rows are, such as "true class".
  std::string column_title;  // And the columns, such as "predicted class".
  std::vector<std::string> row_names;
  std::vector<std::string> column_names;
  std::vector<uint64_t> counts;  // [row_names.size()][column_names.size()]
};

// A cell is the darker, the larger its share of its row is. Counts are written into the cells, 0
// excepted. More than 40 rows or columns have smaller cells without counts, more than 200 no names.
// REQUIRES: there are rows and columns, and as many counts as cells.
Picture DrawCountGrid(const CountGrid& grid);

}  // namespace penstock

#endif  // PENSTOCK_BASE_DRAWING_COUNT_GRID_H_
