// The names of classes, by label: the file classes.txt beside shards.
#ifndef PENSTOCK_RECORDS_DATASET_CLASS_NAMES_H_
#define PENSTOCK_RECORDS_DATASET_CLASS_NAMES_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock {

// One name a line; the first is that of label 0.
inline constexpr char kClassNamesFile[] = "classes.txt";

inline constexpr size_t kMaxClassNames = size_t{1} << 20;
inline constexpr size_t kMaxClassNameBytes = 4096;
// The most bytes of all names, with one for each line's end.
inline constexpr size_t kMaxClassNamesBytes = size_t{16} << 20;

// kInvalidArgument: more or longer names than these, or one with a line feed or carriage return. A
// name may be empty, and need not be UTF-8.
absl::Status CheckClassNames(std::span<const std::string> names);

// The text of the file. REQUIRES: CheckClassNames() is OK.
std::string ClassNamesText(std::span<const std::string> names);

// The names in the file at `path`; carriage returns before line feeds are no part of them, and
// empty lines at the end are none. Errors as FileSource::Open(); kInvalidArgument:
// CheckClassNames(), no names, or a name twice that is not empty. Each names the file.
absl::StatusOr<std::vector<std::string>> ReadClassNames(const std::string& path);

// The names in the files beside `files`; none where there are no such files.
// kInvalidArgument: two of them differ, or ReadClassNames().
absl::StatusOr<std::vector<std::string>> ClassNamesBeside(std::span<const std::string> files);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_CLASS_NAMES_H_
