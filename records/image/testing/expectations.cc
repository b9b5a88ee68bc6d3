#include "records/image/testing/expectations.h"

#include <cstdlib>
#include <fstream>

#include "absl/strings/escaping.h"

namespace penstock {
namespace {

std::map<std::string, std::vector<uint8_t>> DecodeBase64(const nlohmann::json& section) {
  std::map<std::string, std::vector<uint8_t>> files;
  for (const auto& [name, text] : section.items()) {
    std::string bytes;
    if (!absl::Base64Unescape(text.get<std::string>(), &bytes)) std::abort();
    files[name].assign(bytes.begin(), bytes.end());
  }
  return files;
}

}  // namespace

const Expectations& Expectations::Get() {
  static const Expectations* const expectations = new Expectations();
  return *expectations;
}

Expectations::Expectations() {
  std::ifstream file(PENSTOCK_IMAGE_TESTING "/expectations.json");
  if (!file) std::abort();
  json_ = nlohmann::json::parse(file);
  files_ = DecodeBase64(json_.at("files"));
  refused_ = DecodeBase64(json_.at("refused"));
}

}  // namespace penstock
