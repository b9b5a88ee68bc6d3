#include "records/base/json_text.h"

#include "gtest/gtest.h"

namespace penstock {
namespace {

TEST(JsonTextTest, BytesThatAreNoUtf8AreReplaced) {
  EXPECT_EQ(JsonText(nlohmann::json{{"file", "a\xff.tfrecord"}}),
            "{\"file\":\"a\xef\xbf\xbd.tfrecord\"}");
}

TEST(JsonTextTest, IndentedAndInTheOrderOfTheObject) {
  EXPECT_EQ(JsonText(nlohmann::ordered_json{{"b", 1}, {"a", "ä"}}, 2),
            "{\n  \"b\": 1,\n  \"a\": \"ä\"\n}");
}

}  // namespace
}  // namespace penstock
