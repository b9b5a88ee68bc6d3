// Runs commands like main(), and keeps what they print.
#ifndef PENSTOCK_CLI_TESTING_COMMAND_FIXTURE_H_
#define PENSTOCK_CLI_TESTING_COMMAND_FIXTURE_H_

#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "cli/commands.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace penstock {

class CommandFixture : public ::testing::Test {
 protected:
  using AddCommands = std::vector<void (*)(CLI::App&, absl::Status&)>;

  // `add` is AddStreamCommand or a similar function.
  explicit CommandFixture(AddCommands add) : add_(std::move(add)) {}

  // Runs `penstock WORDS...` and returns its exit code. Sets out_ and error_ to what it printed.
  int Run(const std::vector<std::string>& words) {
    CLI::App app("A tool.", "penstock");
    app.require_subcommand(1);
    absl::Status outcome;
    for (const auto add : add_) add(app, outcome);
    std::vector<const char*> argv = {"penstock"};
    for (const std::string& word : words) argv.push_back(word.c_str());
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const int code = RunApp(app, outcome, static_cast<int>(argv.size()), argv.data());
    out_ = ::testing::internal::GetCapturedStdout();
    error_ = ::testing::internal::GetCapturedStderr();
    return code;
  }

  nlohmann::json Json() const { return nlohmann::json::parse(out_); }

  std::string out_;
  std::string error_;

 private:
  const AddCommands add_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_TESTING_COMMAND_FIXTURE_H_
