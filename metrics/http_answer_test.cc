#include "metrics/http_answer.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string AnswerTo(const std::string& request) {
  return HttpAnswer(request, [] { return std::string("up 1\n"); });
}

TEST(HttpAnswerTest, HasThePageOfMetrics) {
  for (const char* request :
       {"GET /metrics HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n",
        "GET /metrics HTTP/1.0\n\n", "GET /metrics?name=up HTTP/1.1\r\n\r\n"}) {
    EXPECT_THAT(AnswerTo(request),
                AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("\r\nContent-Length: 5\r\n"),
                      HasSubstr("\r\nConnection: close\r\n"), EndsWith("\r\n\r\nup 1\n")))
        << request;
  }
}

TEST(HttpAnswerTest, HeadGetsWhatGetWouldWithoutTheBody) {
  EXPECT_THAT(AnswerTo("HEAD /metrics HTTP/1.1\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("\r\nContent-Length: 5\r\n"),
                    EndsWith("\r\n\r\n")));
  EXPECT_THAT(AnswerTo("HEAD / HTTP/1.1\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 404 "), EndsWith("\r\n\r\n")));
}

TEST(HttpAnswerTest, OtherPagesAndMethodsAreRefused) {
  for (const char* target : {"/", "/metrics/", "/metricsx", "/../metrics", "metrics", "*"}) {
    EXPECT_THAT(AnswerTo("GET " + std::string(target) + " HTTP/1.1\r\n\r\n"),
                StartsWith("HTTP/1.1 404 Not Found\r\n"))
        << target;
  }
  EXPECT_THAT(AnswerTo("POST /metrics HTTP/1.1\r\nContent-Length: 9\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("\r\nAllow: GET, HEAD\r\n")));
}

TEST(HttpAnswerTest, WhatIsNoRequestIsRefused) {
  for (const char* request :
       {"\r\n\r\n", "GET\r\n\r\n", "GET /metrics\r\n\r\n", "GET  /metrics HTTP/1.1\r\n\r\n",
        "GET /metrics HTTP/1.1 x\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"}) {
    EXPECT_THAT(AnswerTo(request), StartsWith("HTTP/1.1 400 Bad Request\r\n")) << request;
  }
}

TEST(HttpAnswerTest, ARequestIsWholeWithTheEndOfItsHeaders) {
  const std::string request = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
  for (size_t size = 0; size < request.size(); ++size) {
    EXPECT_FALSE(IsWholeRequest(request.substr(0, size))) << size;
    EXPECT_THAT(AnswerTo(request.substr(0, size)), StartsWith("HTTP/1.1 431 ")) << size;
  }
  EXPECT_TRUE(IsWholeRequest(request));
}

}  // namespace
}  // namespace penstock
