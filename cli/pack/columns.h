// The columns of a table that become features.
#ifndef PENSTOCK_CLI_PACK_COLUMNS_H_
#define PENSTOCK_CLI_PACK_COLUMNS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "records/format/example.h"

namespace penstock {

struct Column {
  std::string name;
  FeatureType type = FeatureType::kNone;  // kNone: not known yet.
};

// Columns by their names. Not thread-safe.
class Columns {
 public:
  // With `chosen`, only those are wanted and no others are added. `text`:
  // "id:int64,price:float,name" or empty. kInvalidArgument: an unknown type, a name that is empty
  // or there twice.
  static absl::StatusOr<Columns> Parse(absl::string_view text);

  // Whether Parse() named the wanted ones.
  bool chosen() const { return chosen_; }
  const std::vector<Column>& all() const { return columns_; }

  // Returns null if there is no such column.
  const Column* Find(absl::string_view name) const;
  // The column of this name, which is added unless columns are chosen; null: it is not wanted.
  Column* FindOrAdd(absl::string_view name);

  // "id:int64,price:float", as Parse() reads it.
  std::string Text() const;

 private:
  std::vector<Column> columns_;
  bool chosen_ = false;
};

// The type that holds values of both, kNone being of no value: float for int64 and float, bytes
// for bytes and a number.
FeatureType CommonType(FeatureType a, FeatureType b);

// The type of a number or text in a cell; kNone for an empty one. A whole number that int64 does
// not hold is bytes: as a float it would lose digits.
FeatureType TypeOfCell(absl::string_view cell);

// False: it is none, or float does not hold it.
bool ParseInt64(absl::string_view text, int64_t& value);
bool ParseFloat(absl::string_view text, float& value);
// False: the number is finite, and no float is.
bool NarrowToFloat(double number, float& value);

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_COLUMNS_H_
