// IsOk(), IsOkAndHolds(m) and StatusIs(code, message matcher), as in newer versions of Abseil.
#ifndef PENSTOCK_TESTS_STATUS_MATCHERS_H_
#define PENSTOCK_TESTS_STATUS_MATCHERS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"

namespace penstock {

inline const absl::Status& GetStatus(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& GetStatus(const absl::StatusOr<T>& value) {
  return value.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << GetStatus(arg).ToString();
  return GetStatus(arg).ok();
}

MATCHER_P(IsOkAndHolds, value_matcher, "is OK and holds a matching value") {
  if (!arg.ok()) {
    *result_listener << arg.status().ToString();
    return false;
  }
  return ::testing::ExplainMatchResult(value_matcher, *arg, result_listener);
}

MATCHER_P2(StatusIs, code, message_matcher, "has the code and a matching message") {
  const absl::Status& status = GetStatus(arg);
  *result_listener << status.ToString();
  return status.code() == code &&
         ::testing::ExplainMatchResult(message_matcher, std::string(status.message()),
                                       result_listener);
}

}  // namespace penstock

#define ASSERT_OK(expr) ASSERT_THAT(expr, ::penstock::IsOk())
#define EXPECT_OK(expr) EXPECT_THAT(expr, ::penstock::IsOk())

#define PENSTOCK_TEST_CONCAT_INNER_(a, b) a##b
#define PENSTOCK_TEST_CONCAT_(a, b) PENSTOCK_TEST_CONCAT_INNER_(a, b)
// ASSERT_OK_AND_ASSIGN(auto value, MakeValue());
#define ASSERT_OK_AND_ASSIGN(lhs, expr) \
  ASSERT_OK_AND_ASSIGN_(PENSTOCK_TEST_CONCAT_(statusor_, __LINE__), lhs, expr)
#define ASSERT_OK_AND_ASSIGN_(statusor, lhs, expr) \
  auto statusor = (expr);                          \
  ASSERT_THAT(statusor, ::penstock::IsOk());       \
  lhs = *std::move(statusor)

#endif  // PENSTOCK_TESTS_STATUS_MATCHERS_H_
