// kernels_check_bench [--check [PREFIX]] [--bench] [--json FILE] [--most-shared BYTES]: checks the
// kernels against the references in double, and times them. Work that needs more shared memory than
// a block has is left out and named; --most-shared lowers that limit. --list names the checks, with
// or without a GPU. Exit codes: 0 if all checks passed, 77 without a GPU (ctest: skipped), 2 for a
// wrong option, else 1. A check's inputs are the same in every run, because no generator is seeded:
// --check NAME repeats a failure.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include "kernels/check_bench/bench.h"
#include "kernels/check_bench/check.h"
#include "kernels/check_bench/report.h"
#include "kernels/simt/runtime.h"

#if defined(PENSTOCK_SIMT_EMULATION)
#include "kernels/simt/simt.h"
#endif

namespace penstock::check_bench {
namespace {

constexpr int kSkipped = 77;
constexpr char kUsage[] =
    "usage: kernels_check_bench [--check [PREFIX]] [--bench] [--json FILE] [--most-shared BYTES]\n"
    "       kernels_check_bench --list\n"
    "The inputs of a check are the same in every run, so --check NAME repeats its failure.\n";

struct Options {
  const char* program = "";
  bool check = false, bench = false, list = false, help = false;
  std::string prefix, json;
  unsigned most_shared = std::numeric_limits<unsigned>::max();
};

bool ReadNumber(const char* text, unsigned& number) {
  const char* end = text + std::strlen(text);
  const auto read = std::from_chars(text, end, number);
  return read.ec == std::errc() && read.ptr == end;
}

std::optional<Options> Parse(int argc, char** argv) {
  Options options;
  options.program = argv[0];
  for (int i = 1; i < argc; ++i) {
    const bool has_value = i + 1 < argc && argv[i + 1][0] != '-';
    if (std::strcmp(argv[i], "--check") == 0) {
      options.check = true;
      if (has_value) options.prefix = argv[++i];
    } else if (std::strcmp(argv[i], "--bench") == 0) {
      options.bench = true;
    } else if (std::strcmp(argv[i], "--list") == 0) {
      options.list = true;
    } else if (std::strcmp(argv[i], "--help") == 0 || std::strcmp(argv[i], "-h") == 0) {
      options.help = true;
    } else if (std::strcmp(argv[i], "--json") == 0 && has_value) {
      options.json = argv[++i];
    } else if (std::strcmp(argv[i], "--most-shared") == 0 && has_value) {
      if (!ReadNumber(argv[++i], options.most_shared)) return std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  if (!options.check && !options.bench && !options.list && !options.help) return std::nullopt;
  return options;
}

#if defined(PENSTOCK_SIMT_EMULATION)
std::optional<std::string> DeviceName() {
  if (const char* name = simt::ArithmeticName()) return name;
  std::fputs("kernels_check_bench: skipped, this CPU has no FMA\n", stderr);
  return std::nullopt;
}
void LimitShared(unsigned bytes) { simt::SetMostShared(std::min(bytes, simt::kMostShared)); }
// Errors are derived for a GPU's arithmetic. The emulation that is as inexact must stay within
// them, so that a GPU's bounds have a margin of two.
double Margin() { return simt::kArithmeticIsInexact ? 1 : 2; }
// Timings of the emulation say nothing about a GPU.
std::vector<Measurement> Benchmarks(BlockLimit&) { return {}; }
#else
std::optional<std::string> DeviceName() {
  cudaDeviceProp properties;
  const cudaError_t error = cudaGetDeviceProperties(&properties, 0);
  if (error == cudaSuccess) return properties.name;
  std::fprintf(stderr, "kernels_check_bench: skipped, no CUDA device: %s\n",
               cudaGetErrorString(error));
  return std::nullopt;
}
void LimitShared(unsigned) {}  // A GPU's limit cannot be lowered.
double Margin() { return 2; }
std::vector<Measurement> Benchmarks(BlockLimit& limit) { return RunBenchmarks(limit); }
#endif

// Bytes of shared memory that a block has: what the device reports, but at most `limit`.
unsigned MostShared(unsigned limit) {
  LimitShared(limit);
  int bytes = 0;
  Require(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0),
          "asking for a block's shared memory");
  return std::min(static_cast<unsigned>(bytes), limit);
}

void RunChecks(Checker& checker) {
  CheckActivations(checker);
  CheckAttention(checker);
  CheckBoardFeatures(checker);
  CheckDropouts(checker);
  CheckHalves(checker);
  CheckImages(checker);
  CheckLayerNorms(checker);
  CheckLosses(checker);
  CheckNarrowLinears(checker);
  CheckPools(checker);
  CheckUpdates(checker);
}

std::vector<Outcome> Checks(const std::string& prefix, BlockLimit& limit) {
  Checker checker(prefix, Margin(), limit);
  RunChecks(checker);
  if (checker.names().empty())
    checker.True("no check has a name that begins with " + prefix, false);
  return checker.outcomes();
}

void List() {
  BlockLimit limit(std::numeric_limits<unsigned>::max());
  Checker checker("", Margin(), limit, /*only_names=*/true);
  RunChecks(checker);
  for (const std::string& name : checker.names()) std::printf("%s\n", name.c_str());
}

// The command runs the check again, with the same inputs.
void PrintFailure(const char* program, const Outcome& o) {
  std::printf("FAILED %s", Description(o).c_str());
  if (!o.check.empty()) std::printf("; to repeat it: %s --check %s", program, o.check.c_str());
  std::printf("\n");
}

// Prints the failures and returns their number.
int PrintChecks(const char* program, const std::vector<Outcome>& outcomes) {
  int failures = 0;
  const Outcome* closest = nullptr;  // The one nearest to its bound; exact ones have none.
  for (const Outcome& o : outcomes) {
    const bool is_closer =
        closest == nullptr || o.error * closest->bound > closest->error * o.bound;
    if (o.bound > 0 && is_closer) closest = &o;
    if (o.passed()) continue;
    ++failures;
    PrintFailure(program, o);
  }
  std::printf("%zu comparisons, %d failed\n", outcomes.size(), failures);
  if (closest != nullptr) {
    std::printf("closest to its bound: %s\n", Description(*closest).c_str());
  }
  return failures;
}

void PrintMeasurements(const std::vector<Measurement>& measurements) {
  for (const Measurement& m : measurements) {
    std::printf("%-36s %10.1f us %8.0f GB/s %5.1f %% of copy\n", m.name.c_str(), m.median_us,
                m.gb_per_s(), 100 * m.gb_per_s() / measurements[0].gb_per_s());
  }
}

void PrintLeftOut(const std::vector<LeftOut>& left_out) {
  for (const LeftOut& l : left_out) {
    std::printf("left out %s: it needs %zu bytes of shared memory, and a block has %zu\n",
                l.name.c_str(), l.needed, l.most);
  }
}

// Returns the number of failures.
int Check(const Options& options, unsigned most_shared, Findings& found) {
  if (!options.check) return 0;
  BlockLimit limit(most_shared);
  found.checks = Checks(options.prefix, limit);
  found.left_out_checks = limit.left_out();
  PrintLeftOut(found.left_out_checks);
  return PrintChecks(options.program, found.checks);
}

void Bench(const Options& options, unsigned most_shared, Findings& found) {
  if (!options.bench) return;
  BlockLimit limit(most_shared);
  found.benchmarks = Benchmarks(limit);
  found.left_out_benchmarks = limit.left_out();
  PrintMeasurements(found.benchmarks);
  PrintLeftOut(found.left_out_benchmarks);
}

bool Write(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return false;
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fclose(file) == 0 && written;
}

int Main(int argc, char** argv) {
  const std::optional<Options> options = Parse(argc, argv);
  if (!options) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  if (options->help) std::fputs(kUsage, stdout);
  if (options->list) List();
  if (options->help || options->list) return 0;
  const std::optional<std::string> device = DeviceName();
  if (!device) return kSkipped;
  const unsigned most_shared = MostShared(options->most_shared);
  Findings found;
  found.device = *device;
  const int failures = Check(*options, most_shared, found);
  Bench(*options, most_shared, found);
  if (!options->json.empty() && !Write(options->json, Report(found))) {
    std::fprintf(stderr, "kernels_check_bench: cannot write %s\n", options->json.c_str());
    return 1;
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace penstock::check_bench

int main(int argc, char** argv) { return penstock::check_bench::Main(argc, argv); }
