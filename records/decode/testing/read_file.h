// Reads files in tests.
#ifndef PENSTOCK_RECORDS_DECODE_TESTING_READ_FILE_H_
#define PENSTOCK_RECORDS_DECODE_TESTING_READ_FILE_H_

#include <fstream>
#include <iterator>
#include <string>

namespace penstock {

// The bytes of the file. Empty if it cannot be read.
inline std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_TESTING_READ_FILE_H_
