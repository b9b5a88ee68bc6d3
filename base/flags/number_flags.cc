#include "base/flags/number_flags.h"

#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/number_range.h"

namespace penstock {
namespace {

std::string RangeName(uint64_t least, uint64_t most) {
  if (most == UINT64_MAX) return least > 0 ? "POSITIVE" : "";
  return absl::StrCat(least, "..", most);
}

// The help shows 1000000, where StrCat() would print 1e+06.
std::string RangeName(double least, double most) {
  if (most == DBL_MAX) return least > 0 ? "POSITIVE" : "";
  return absl::StrFormat("%.15g..%.15g", least, most);
}

}  // namespace

CLI::Validator WholeNumber(uint64_t least, uint64_t most) {
  return {[least, most](std::string& text) {
            return std::string(CheckWholeNumber(text, least, most).message());
          },
          RangeName(least, most)};
}

CLI::Validator Number(double least, double most) {
  return {[least, most](std::string& text) {
            return std::string(CheckNumber(text, least, most).message());
          },
          RangeName(least, most)};
}

CLI::Validator PositiveNumber() {
  return {[](std::string& text) { return std::string(CheckPositiveNumber(text).message()); },
          "POSITIVE"};
}

void CheckNumbers(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_type_name() == "UINT") option->check(WholeNumber());
    if (option->get_type_name() == "FLOAT") option->check(Number(0));
  }
  for (CLI::App* command : app.get_subcommands({})) CheckNumbers(*command);
}

}  // namespace penstock
