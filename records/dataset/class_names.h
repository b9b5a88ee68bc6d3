// Reads and checks the names of classes: the file classes.txt beside shards.
#ifndef PENSTOCK_RECORDS_DATASET_CLASS_NAMES_H_
#define PENSTOCK_RECORDS_DATASET_CLASS_NAMES_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock {

// The file has one name a line; the first line names label 0.
inline constexpr char kClassNamesFile[] = "classes.txt";

inline constexpr size_t kMaxClassNames = size_t{1} << 20;
inline constexpr size_t kMaxClassNameBytes = 4096;
// All names together have at most so many bytes, line ends included.
inline constexpr size_t kMaxClassNamesBytes = size_t{16} << 20;

// kInvalidArgument: more or longer names than these, or one with a line feed or carriage return. A
// name may be empty, and need not be UTF-8.
absl::Status CheckClassNames(std::span<const std::string> names);

// The text of the file. REQUIRES: CheckClassNames() is OK.
std::string ClassNamesText(std::span<const std::string> names);

// Reads the names in the file at `path`. Carriage returns before line feeds and empty lines at the
// end are ignored. Errors as FileSource::Open(); kInvalidArgument: CheckClassNames() fails, there
// are no names, or a name that is not empty is there twice. Each error names the file.
absl::StatusOr<std::vector<std::string>> ReadClassNames(const std::string& path);

// Reads the names in the classes.txt beside each of `files`; there are none if no such file exists.
// kInvalidArgument: two of these files differ. Further errors as ReadClassNames().
absl::StatusOr<std::vector<std::string>> ClassNamesBeside(std::span<const std::string> files);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_CLASS_NAMES_H_
