// Draws a table of counts, such as a confusion matrix, as a picture.
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
  std::string row_title;     // Title of the rows, such as "true class".
  std::string column_title;  // Title of the columns, such as "predicted class".
  std::vector<std::string> row_names;
  std::vector<std::string> column_names;
  std::vector<uint64_t> counts;  // [row_names.size()][column_names.size()]
};

// The larger a cell's share of its row, the darker the cell. Counts other than 0 are written into
// the cells. With more than 40 rows or columns, cells are smaller and show no counts; with more
// than 200, there are no names either.
// REQUIRES: there is at least one row and one column, and one count for each cell.
Picture DrawCountGrid(const CountGrid& grid);

}  // namespace penstock

#endif  // PENSTOCK_BASE_DRAWING_COUNT_GRID_H_
