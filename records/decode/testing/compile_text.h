// Compiles specs from text, and checks that Compile() refuses them.
#ifndef PENSTOCK_RECORDS_DECODE_TESTING_COMPILE_TEXT_H_
#define PENSTOCK_RECORDS_DECODE_TESTING_COMPILE_TEXT_H_

#include <string>

#include "gmock/gmock.h"
#include "records/decode/program.h"
#include "records/decode/spec.h"
#include "tests/status_matchers.h"

namespace penstock {

inline absl::StatusOr<Program> CompileText(const std::string& text,
                                           WireDtype dtype = WireDtype::kI8) {
  absl::StatusOr<v1::DecodeSpec> spec = ParseSpec(text, "test");
  if (!spec.ok()) return spec.status();
  return Program::Compile(*spec, dtype);
}

// Expects this error with any wire dtype.
inline void ExpectRefused(const std::string& text, absl::StatusCode code,
                          const std::string& message) {
  for (const WireDtype dtype : {WireDtype::kI8, WireDtype::kF64, WireDtype::kPacked}) {
    EXPECT_THAT(CompileText(text, dtype), StatusIs(code, ::testing::HasSubstr(message))) << text;
  }
}

inline void ExpectInvalid(const std::string& text, const std::string& message) {
  ExpectRefused(text, absl::StatusCode::kInvalidArgument, message);
}

inline void ExpectOverLimit(const std::string& text, const std::string& message) {
  ExpectRefused(text, absl::StatusCode::kResourceExhausted, message);
}

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_TESTING_COMPILE_TEXT_H_
