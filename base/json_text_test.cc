#include "base/json_text.h"

#include "gtest/gtest.h"

namespace penstock {
namespace {

TEST(JsonTextTest, BytesThatAreNoUtf8AreReplaced) {
  EXPECT_EQ(JsonText(nlohmann::json{{"file", "a\xff.tfrecord"}}),
            "{\"file\":\"a\xef\xbf\xbd.tfrecord\"}");
}

TEST(JsonTextTest, ControlCharactersAreEscapedAndComeBack) {
  const std::string name = "\x1b]0;x\a\x7f\u0080\u009b\u009f\u00a0\u00e9";
  const std::string text = JsonText(nlohmann::json{{"file", name}});
  EXPECT_EQ(text, "{\"file\":\"\\u001b]0;x\\u0007\\u007f\\u0080\\u009b\\u009f\u00a0\u00e9\"}");
  EXPECT_EQ(nlohmann::json::parse(text)["file"], name);
}

TEST(JsonTextTest, IndentedAndInTheOrderOfTheObject) {
  EXPECT_EQ(JsonText(nlohmann::ordered_json{{"b", 1}, {"a", "ä"}}, 2),
            "{\n  \"b\": 1,\n  \"a\": \"ä\"\n}");
}

}  // namespace
}  // namespace penstock
