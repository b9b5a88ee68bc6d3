#include "kernels/check_bench/outcome.h"

#include <cmath>
#include <cstdio>

namespace penstock::check_bench {
namespace {

std::string Format(const char* format, double x) {
  // A NaN may have a sign, which says nothing.
  if (std::isnan(x)) return "nan";
  char text[32];
  std::snprintf(text, sizeof text, format, x);
  return text;
}

std::string Description(const WrongElements& w) {
  const std::string array = w.array.empty() ? "" : w.array + ": ";
  if (w.elements != w.expected_elements) {
    return array + "elements: " + std::to_string(w.elements) + " instead of " +
           std::to_string(w.expected_elements);
  }
  return array + "element " + std::to_string(w.index) + " is " + AllDigits(w.value) +
         " instead of " + AllDigits(w.expected) + "; wrong elements: " + std::to_string(w.wrong) +
         " of " + std::to_string(w.elements);
}

}  // namespace

std::string AllDigits(double x) { return Format("%.17g", x); }

std::string Description(const Outcome& o) {
  std::string text = o.check.empty() ? "" : o.check + ": ";
  text += o.what + ": error " + Format("%.3g", o.error) + ", bound " + Format("%.3g", o.bound);
  if (!o.shape.empty()) text += "; " + o.shape;
  if (o.wrong) text += "; " + Description(*o.wrong);
  return text;
}

}  // namespace penstock::check_bench
