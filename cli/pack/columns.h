// The columns of a table that become features.
#ifndef PENSTOCK_CLI_PACK_COLUMNS_H_
#define PENSTOCK_CLI_PACK_COLUMNS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "records/format/example.h"

namespace penstock {

struct Column {
  std::string name;
  FeatureType type = FeatureType::kNone;  // kNone if it is not known yet.
};

// Columns by their names. Not thread-safe.
class Columns {
 public:
  // If `text` chooses columns, only those are wanted and no others are added. `text` is
  // "id:int64,price:float,name" or empty. kInvalidArgument: an unknown type, or a name that is
  // empty or repeated.
  static absl::StatusOr<Columns> Parse(absl::string_view text);

  // Whether the text of Parse() chose columns.
  bool chosen() const { return chosen_; }
  const std::vector<Column>& all() const { return columns_; }

  // Returns null if there is no such column.
  const Column* Find(absl::string_view name) const;
  // Returns the column of this name. Adds it unless columns are chosen. Returns null if it is not
  // wanted.
  Column* FindOrAdd(absl::string_view name);

  // Returns the columns in the form that Parse() reads: "id:int64,price:float".
  std::string Text() const;

 private:
  std::vector<Column> columns_;
  absl::flat_hash_map<std::string, size_t> numbers_;  // The place of each name in `columns_`.
  bool chosen_ = false;
};

// Returns the type that holds values of both: float for int64 and float, bytes for bytes and a
// number. kNone stands for no values.
FeatureType CommonType(FeatureType a, FeatureType b);

// Returns the type of a number or text in a cell; kNone for an empty cell. A whole number that
// int64 cannot hold is bytes, because it would lose digits as a float.
FeatureType TypeOfCell(absl::string_view cell);

// Each returns false if `text` is no such number, or if int64 or float cannot hold it.
bool ParseInt64(absl::string_view text, int64_t& value);
bool ParseFloat(absl::string_view text, float& value);
// Returns false if the number is finite but its float is not.
bool NarrowToFloat(double number, float& value);

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_COLUMNS_H_
