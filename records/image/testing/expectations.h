// The output of Pillow and torchvision for the same images: expectations.json.
#ifndef PENSTOCK_RECORDS_IMAGE_TESTING_EXPECTATIONS_H_
#define PENSTOCK_RECORDS_IMAGE_TESTING_EXPECTATIONS_H_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/sha256.h"

namespace penstock {

class Expectations {
 public:
  // Reads the file once. Ends the test if the file cannot be read.
  static const Expectations& Get();

  const nlohmann::json& operator[](const char* section) const { return json_.at(section); }
  // An encoded image, by its name.
  std::span<const uint8_t> file(const std::string& name) const { return files_.at(name); }
  const std::map<std::string, std::vector<uint8_t>>& files() const { return files_; }
  const std::map<std::string, std::vector<uint8_t>>& refused() const { return refused_; }

 private:
  Expectations();

  nlohmann::json json_;
  std::map<std::string, std::vector<uint8_t>> files_;
  std::map<std::string, std::vector<uint8_t>> refused_;
};

// Returns the part of the SHA-256 that the file keeps.
inline std::string HexDigest(std::span<const uint8_t> bytes) {
  Sha256 digest;
  digest.Update(bytes);
  return digest.Hex().substr(0, 32);
}

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_TESTING_EXPECTATIONS_H_
