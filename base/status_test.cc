#include "base/status.h"

#include <cerrno>

#include "absl/strings/cord.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<int> Halve(int value) {
  if (value % 2 != 0) return absl::InvalidArgumentError("odd");
  return value / 2;
}

absl::StatusOr<int> Quarter(int value) {
  PENSTOCK_ASSIGN_OR_RETURN(int half, Halve(value));
  PENSTOCK_ASSIGN_OR_RETURN(int quarter, Halve(half));
  return quarter;
}

TEST(StatusTest, AssignOrReturnPassesValuesAndErrors) {
  EXPECT_THAT(Quarter(8), IsOkAndHolds(2));
  EXPECT_THAT(Quarter(6), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("odd")));
}

TEST(StatusTest, AnnotateKeepsCodeAndPayload) {
  absl::Status status = absl::DataLossError("bad CRC");
  status.SetPayload("detail", absl::Cord("x"));
  absl::Status annotated = Annotate(status, "train-00001");
  EXPECT_THAT(annotated, StatusIs(absl::StatusCode::kDataLoss, "train-00001: bad CRC"));
  EXPECT_TRUE(annotated.GetPayload("detail").has_value());
}

TEST(StatusTest, AnnotateLeavesOkAlone) { EXPECT_THAT(Annotate(absl::OkStatus(), "x"), IsOk()); }

TEST(StatusTest, ErrnoChoosesTheCode) {
  EXPECT_THAT(ErrnoToStatus(ENOENT, "open a"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("open a: ")));
  EXPECT_THAT(ErrnoToStatus(ENOSPC, "write"),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("write")));
  EXPECT_THAT(ErrnoToStatus(EIO, "read"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("read")));
}

}  // namespace
}  // namespace penstock
