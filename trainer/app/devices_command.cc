#include "trainer/app/commands.h"

#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/byte_size.h"
#include "base/print_escaped.h"
#include "trainer/backend/cpu/gemm_onednn.h"
#include "trainer/comm/tcp_way.h"
#include "trainer/cuda/cuda_device.h"
#include "trainer/cuda/cuda_libraries.h"
#include "trainer/cuda/library_search.h"

namespace penstock {
namespace {

std::string Line(absl::string_view what, const absl::Status& there) {
  if (there.ok()) return absl::StrCat("    [X] ", what, "\n");
  return absl::StrCat("    [ ] ", what, ": ", there.message(), "\n");
}

// Adds a line for each GPU to `text`. Returns whether one can be used.
bool DescribeGpus(std::string& text) {
  const absl::StatusOr<size_t> gpus = CountGpus();
  if (!gpus.ok()) text += Line("GPU", gpus.status());
  bool usable = false;
  for (size_t i = 0; gpus.ok() && i < *gpus; ++i) {
    std::string name = absl::StrCat("GPU ", i);
    const absl::StatusOr<std::unique_ptr<Device>> gpu = OpenGpu(i);
    if (gpu.ok()) {
      absl::StrAppend(&name, ": ", (*gpu)->info().name, ", ",
                      FormatByteSize((*gpu)->info().total_bytes));
    }
    text += Line(name, gpu.status());
    usable |= gpu.ok();
  }
  return usable;
}

absl::Status DescribeLibrary(const LibrarySpec& spec, const std::vector<std::string>& folders,
                             std::string& text) {
  const absl::StatusOr<SharedLibrary> library = SharedLibrary::Open(spec, folders);
  if (!library.ok()) {  // The message begins with the library's name.
    absl::StrAppend(&text, "    [ ] ", library.status().message(), "\n");
    return library.status();
  }
  text +=
      Line(absl::StrCat(spec.name, " ", spec.print(library->version()), ": ", library->path()), {});
  for (const std::string& why : library->passed_over()) {
    absl::StrAppend(&text, "        passed over: ", why, "\n");
  }
  return absl::OkStatus();
}

void DescribeWays(bool gpus, const absl::Status& nccl, std::string& text) {
  const absl::Status shared =
      gpus ? absl::OkStatus() : absl::NotFoundError("there is no usable GPU");
  absl::Status apart = shared;
  apart.Update(nccl);
  text += Line(absl::StrCat(TcpWayOfThisBuild().name, " (TCP), ranks on CPUs"), {});
  text += Line("NCCL, one GPU per rank", apart);
  text += Line("host memory, ranks that share a GPU (--allow-shared-gpu)", shared);
}

}  // namespace

void AddDevicesOptions(CLI::App& app, DevicesOptions&) {
  app.footer("Example:\n  penstock-train devices");
}

std::string DescribeDevices() {
  const LibraryEnvironment environment = LibraryEnvironment::FromProcess();
  const std::vector<std::string> folders = LibraryFolders(environment);
  std::string text = "Devices:\n";
  text += Line(HasOneDnn() ? "CPU: fp32 and bf16" : "CPU: fp32 (this build has no oneDNN)", {});
  const bool gpus = DescribeGpus(text);
  text += "\nLibraries of GPUs:\n";
  DescribeLibrary(CublasLtSpec(), folders, text).IgnoreError();
  const absl::Status nccl = DescribeLibrary(NcclSpec(), folders, text);
  DescribeLibrary(CuptiSpec(), folders, text).IgnoreError();
  for (const std::string& folder : MissingFolders(environment)) {
    absl::StrAppend(&text, "    PENSTOCK_CUDA_LIBS names ", folder, ", which is not a folder\n");
  }
  text += "\nBetween ranks:\n";
  DescribeWays(gpus, nccl, text);
  return text;
}

absl::Status RunDevices(const DevicesOptions&) {
  PrintEscaped(stdout, "%s", Multiline(DescribeDevices()));
  return absl::OkStatus();
}

}  // namespace penstock
