#include "trainer/app/input_options.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/decode/spec.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using testing::HasSubstr;

constexpr uint64_t kGiB = uint64_t{1} << 30;

RankInfo OneOf(uint32_t local_size) { return {.world_size = 8, .local_size = local_size}; }

TEST(ShareHostTest, TheRanksOfAHostShareItsCoresAndAQuarterOfItsMemory) {
  const MachineLimits machine{.cores = 16, .memory_bytes = 64 * kGiB};
  LoaderOptions loader;
  ShareHost(OneOf(1), machine, loader);
  EXPECT_EQ(loader.local_threads, 16u);
  EXPECT_EQ(loader.local_memory_budget, 16 * kGiB);
  ShareHost(OneOf(8), machine, loader);
  EXPECT_EQ(loader.local_threads, 2u);
  EXPECT_EQ(loader.local_memory_budget, 2 * kGiB);
  HalveForEvaluation(loader);
  EXPECT_EQ(loader.local_memory_budget, kGiB);
}

TEST(ShareHostTest, ARankHasAThreadAtLeast) {
  LoaderOptions loader;
  ShareHost(OneOf(8), {.cores = 2, .memory_bytes = kGiB}, loader);
  EXPECT_EQ(loader.local_threads, 1u);
}

TEST(ToLoaderOptionsTest, LocalIsShared) {
  TrainerOptions options;
  options.rank = OneOf(1);
  const uint64_t alone = ToLoaderOptions(options, nullptr, {}).local_memory_budget;
  options.rank = OneOf(4);
  EXPECT_EQ(ToLoaderOptions(options, nullptr, {}).local_memory_budget, alone / 4);
  options.source.servers = "a:1";
  EXPECT_EQ(ToLoaderOptions(options, nullptr, {}).local_memory_budget, 0u);
}

v1::DecodeSpec Spec(absl::string_view text) { return ParseSpec(text, "test").value(); }

class CheckImageSpecTest : public testing::Test {
 protected:
  static absl::Status Check(absl::string_view image) {
    const std::string label = R"(tensor { name: "label" label { feature: "class" } })";
    return CheckImageSpec("--spec a", ModelConfig::Named("vit").value(),
                          Spec(absl::StrCat(image, label)));
  }
};

TEST_F(CheckImageSpecTest, TakesPixelsHoweverTheirShapeIsTold) {
  EXPECT_OK(Check(R"(tensor { name: "image" bytes { feature: "p" length: 15552 } })"));
  EXPECT_OK(Check(R"(tensor { name: "image" bytes { feature: "p" shape: [ 72, 72, 3 ] } })"));
}

TEST_F(CheckImageSpecTest, NamesTheTensorsThatThereAre) {
  for (const char* image :
       {R"(tensor { name: "image" bytes { feature: "p" shape: [ 71, 72, 3 ] } })",
        R"(tensor { name: "picture" bytes { feature: "p" length: 15552 } })",
        R"(tensor { name: "image" number { feature: "p" type: FLOAT count: 3888 } })"}) {
    EXPECT_THAT(Check(image), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("--model vit reads image u8 [72, 72, 3]")));
  }
  EXPECT_THAT(Check(R"(tensor { name: "image" bytes { feature: "p" length: 3 } })").message(),
              HasSubstr("--spec a has image u8 [3], label i64 []; "));
}

TEST(CheckImageSpecLabelTest, IsAWholeNumber) {
  const v1::DecodeSpec spec = Spec(R"(
      tensor { name: "image" bytes { feature: "p" length: 15552 } }
      tensor { name: "label" label { feature: "class" type: FLOAT } })");
  EXPECT_THAT(CheckImageSpec("--spec a", ModelConfig::Named("vit").value(), spec),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("label f32 []; ")));
}

}  // namespace
}  // namespace penstock
