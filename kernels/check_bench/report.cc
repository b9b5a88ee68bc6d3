#include "kernels/check_bench/report.h"

#include <cmath>
#include <cstdio>

namespace penstock::check_bench {
namespace {

std::string Number(double x) {
  if (!std::isfinite(x)) return "null";
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", x);
  return text;
}

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string Of(const Outcome& o) {
  return "{\"check\": " + Quoted(o.check) + ", \"what\": " + Quoted(o.what) +
         ", \"error\": " + Number(o.error) + ", \"bound\": " + Number(o.bound) +
         ", \"passed\": " + (o.passed() ? "true" : "false") + "}";
}

std::string Of(const Measurement& m) {
  return "{\"benchmark\": " + Quoted(m.name) + ", \"runs\": " + std::to_string(m.runs) +
         ", \"median_us\": " + Number(m.median_us) + ", \"least_us\": " + Number(m.least_us) +
         ", \"most_us\": " + Number(m.most_us) + ", \"bytes\": " + Number(m.bytes) +
         ", \"gb_per_s\": " + Number(m.gb_per_s()) + "}";
}

std::string Of(const LeftOut& l) {
  return "{\"name\": " + Quoted(l.name) + ", \"shared_bytes\": " + std::to_string(l.needed) +
         ", \"most_shared_bytes\": " + std::to_string(l.most) + "}";
}

template <typename T>
std::string List(const std::vector<T>& items) {
  std::string text = "[";
  for (const T& item : items) text += (text.size() > 1 ? ",\n  " : "\n  ") + Of(item);
  return text + "]";
}

}  // namespace

std::string Report(const Findings& found) {
  return "{\"device\": " + Quoted(found.device) + ",\n\"checks\": " + List(found.checks) +
         ",\n\"benchmarks\": " + List(found.benchmarks) +
         ",\n\"left_out\": {\"checks\": " + List(found.left_out_checks) +
         ",\n\"benchmarks\": " + List(found.left_out_benchmarks) + "}}\n";
}

}  // namespace penstock::check_bench
