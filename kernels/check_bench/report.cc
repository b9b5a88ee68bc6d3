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

// JSON has neither NaN nor infinity, but a wrong value may be one.
std::string Value(double x) { return std::isfinite(x) ? AllDigits(x) : Quoted(AllDigits(x)); }

// Begins with a comma.
std::string FieldsOf(const WrongElements& w) {
  std::string fields = w.array.empty() ? "" : ", \"array\": " + Quoted(w.array);
  if (w.elements != w.expected_elements) {
    return fields + ", \"elements\": " + std::to_string(w.elements) +
           ", \"expected_elements\": " + std::to_string(w.expected_elements);
  }
  return fields + ", \"index\": " + std::to_string(w.index) + ", \"value\": " + Value(w.value) +
         ", \"expected\": " + Value(w.expected) + ", \"wrong\": " + std::to_string(w.wrong) +
         ", \"elements\": " + std::to_string(w.elements);
}

std::string Of(const Outcome& o) {
  return "{\"check\": " + Quoted(o.check) +
         (o.shape.empty() ? "" : ", \"shape\": " + Quoted(o.shape)) +
         ", \"what\": " + Quoted(o.what) + ", \"error\": " + Number(o.error) +
         ", \"bound\": " + Number(o.bound) + (o.wrong ? FieldsOf(*o.wrong) : "") +
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
