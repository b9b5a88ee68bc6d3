// The columns that the files of a table share.
#ifndef PENSTOCK_CLI_PACK_TABLE_COLUMNS_H_
#define PENSTOCK_CLI_PACK_TABLE_COLUMNS_H_

#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "cli/pack/columns.h"

namespace penstock {

// The columns of a table. The first file determines them. Not thread-safe.
class TableColumns {
 public:
  // The types of columns depend on this many rows of the first file.
  static constexpr size_t kSampleRows = 1000;

  explicit TableColumns(Columns columns) : columns_(std::move(columns)) {}

  Columns& columns() { return columns_; }
  const Columns& columns() const { return columns_; }

  // Whether a file has determined the columns, and its name.
  bool known() const { return !first_file_.empty(); }
  const std::string& first_file() const { return first_file_; }
  void SetKnown(absl::string_view first_file) { first_file_ = std::string(first_file); }

 private:
  Columns columns_;
  std::string first_file_;
};

// Returns the beginning of a value, for messages.
inline std::string Shortened(absl::string_view text) {
  constexpr size_t kShown = 40;
  return text.size() <= kShown ? std::string(text) : std::string(text.substr(0, kShown)) + "...";
}

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_TABLE_COLUMNS_H_
