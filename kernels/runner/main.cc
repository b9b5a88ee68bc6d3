// kernels_runner [--check [PREFIX]] [--bench] [--json FILE]: checks the kernels against the
// references in double, times them. Ends with 0 if all checks passed, 77 without a GPU (ctest:
// skipped), 2 for a wrong option, else 1.
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

#include "kernels/runner/bench.h"
#include "kernels/runner/check.h"
#include "kernels/runner/report.h"

namespace penstock::runner {
namespace {

constexpr int kSkipped = 77;

struct Options {
  bool check = false, bench = false;
  std::string prefix, json;
};

std::optional<Options> Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const bool has_value = i + 1 < argc && argv[i + 1][0] != '-';
    if (std::strcmp(argv[i], "--check") == 0) {
      options.check = true;
      if (has_value) options.prefix = argv[++i];
    } else if (std::strcmp(argv[i], "--bench") == 0) {
      options.bench = true;
    } else if (std::strcmp(argv[i], "--json") == 0 && has_value) {
      options.json = argv[++i];
    } else {
      return std::nullopt;
    }
  }
  if (!options.check && !options.bench) return std::nullopt;
  return options;
}

#if defined(PENSTOCK_SIMT_EMULATION)
std::optional<std::string> DeviceName() { return "emulation"; }
std::vector<Measurement> Benchmarks() { return {}; }  // Its times would say nothing of a GPU.
#else
std::optional<std::string> DeviceName() {
  cudaDeviceProp properties;
  const cudaError_t error = cudaGetDeviceProperties(&properties, 0);
  if (error == cudaSuccess) return properties.name;
  std::fprintf(stderr, "kernels_runner: skipped, no CUDA device: %s\n", cudaGetErrorString(error));
  return std::nullopt;
}
std::vector<Measurement> Benchmarks() { return RunBenchmarks(); }
#endif

std::vector<Outcome> Checks(const std::string& prefix) {
  Checker checker(prefix);
  CheckActivations(checker);
  CheckAttention(checker);
  CheckBoardFeatures(checker);
  CheckHalves(checker);
  CheckImages(checker);
  CheckLayerNorms(checker);
  CheckLosses(checker);
  CheckPools(checker);
  CheckUpdates(checker);
  if (checker.names().empty()) checker.True("no check begins with " + prefix, false);
  return checker.outcomes();
}

// Prints what failed; the number of failures.
int PrintChecks(const std::vector<Outcome>& outcomes) {
  int failures = 0;
  for (const Outcome& o : outcomes) {
    if (o.passed()) continue;
    ++failures;
    std::printf("FAILED %s: %s: error %.3g, bound %.3g\n", o.check.c_str(), o.what.c_str(), o.error,
                o.bound);
  }
  std::printf("%zu comparisons, %d failed\n", outcomes.size(), failures);
  return failures;
}

void PrintMeasurements(const std::vector<Measurement>& measurements) {
  for (const Measurement& m : measurements) {
    std::printf("%-36s %10.1f us %8.0f GB/s %5.1f %% of copy\n", m.name.c_str(), m.median_us,
                m.gb_per_s(), 100 * m.gb_per_s() / measurements[0].gb_per_s());
  }
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
    std::fprintf(stderr, "usage: kernels_runner [--check [PREFIX]] [--bench] [--json FILE]\n");
    return 2;
  }
  const std::optional<std::string> device = DeviceName();
  if (!device) return kSkipped;
  std::vector<Outcome> checks;
  if (options->check) checks = Checks(options->prefix);
  const int failures = options->check ? PrintChecks(checks) : 0;
  std::vector<Measurement> measurements;
  if (options->bench) measurements = Benchmarks();
  PrintMeasurements(measurements);
  if (!options->json.empty() && !Write(options->json, Report(*device, checks, measurements))) {
    std::fprintf(stderr, "kernels_runner: cannot write %s\n", options->json.c_str());
    return 1;
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace penstock::runner

int main(int argc, char** argv) { return penstock::runner::Main(argc, argv); }
