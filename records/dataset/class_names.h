// Reads and checks class names: the file classes.txt beside shards.
#ifndef PENSTOCK_RECORDS_DATASET_CLASS_NAMES_H_
#define PENSTOCK_RECORDS_DATASET_CLASS_NAMES_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock {

// The file has one name per line. The first line names label 0.
inline constexpr char kClassNamesFile[] = "classes.txt";

inline constexpr size_t kMaxClassNames = size_t{1} << 20;
inline constexpr size_t kMaxClassNameBytes = 4096;
// Limit for all names together, including line ends.
inline constexpr size_t kMaxClassNamesBytes = size_t{16} << 20;

// kInvalidArgument: there are more or longer names than these limits allow, or a name contains a
// line feed or carriage return. A name may be empty, and need not be UTF-8.
absl::Status CheckClassNames(std::span<const std::string> names);

// Returns the text of a file with these names. REQUIRES: CheckClassNames() is OK.
std::string ClassNamesText(std::span<const std::string> names);

// Reads the names in the file at `path`. Ignores carriage returns before line feeds, and empty
// lines at the end. Every error names the file.
// Returns the errors of FileSource::Open(). Also returns kInvalidArgument if CheckClassNames()
// fails, there are no names, or a name that is not empty appears twice.
absl::StatusOr<std::vector<std::string>> ReadClassNames(const std::string& path);

// Reads the names in the classes.txt beside each of `files`. Returns no names if there is no such
// file. Returns the errors of ReadClassNames(), and kInvalidArgument if two of these files differ.
absl::StatusOr<std::vector<std::string>> ClassNamesBeside(std::span<const std::string> files);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_CLASS_NAMES_H_
