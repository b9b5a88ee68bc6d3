#include "trainer/app/devices_command.h"

#include <cstdio>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "records/base/byte_size.h"
#include "trainer/backend/cpu/gemm_onednn.h"
#include "trainer/backend/cuda/cuda_device.h"
#include "trainer/backend/cuda/cuda_libraries.h"
#include "trainer/backend/cuda/library_search.h"
#include "trainer/comm/gloo_communicator.h"

namespace penstock {
namespace {

std::string Line(bool there, absl::string_view what) {
  return absl::StrCat("    [", there ? "X" : " ", "] ", what, "\n");
}

std::string Missing(absl::string_view what, const absl::Status& why) {
  return Line(false, absl::StrCat(what, ": ", why.message()));
}

std::string DescribeGpus() {
  const absl::StatusOr<size_t> gpus = CountGpus();
  if (!gpus.ok()) return Missing("GPU", gpus.status());
  std::string lines;
  for (size_t i = 0; i < *gpus; ++i) {
    const std::string name = absl::StrCat("GPU ", i);
    const absl::StatusOr<std::unique_ptr<Device>> gpu = OpenGpu(i);
    lines += gpu.ok() ? Line(true, absl::StrCat(name, ": ", (*gpu)->info().name, ", ",
                                                FormatByteSize((*gpu)->info().total_bytes)))
                      : Missing(name, gpu.status());
  }
  return lines;
}

std::string DescribeLibrary(const LibrarySpec& spec, const std::vector<std::string>& folders) {
  const absl::StatusOr<SharedLibrary> library = SharedLibrary::Open(spec, folders);
  if (!library.ok()) return Missing(spec.name, library.status());
  return Line(true,
              absl::StrCat(spec.name, " ", spec.print(library->version()), ": ", library->path()));
}

}  // namespace

void AddDevicesOptions(CLI::App& app, DevicesOptions&) {
  app.footer("Example:\n  penstock-train devices");
}

std::string DescribeDevices() {
  const std::vector<std::string> folders = LibraryFolders(LibraryEnvironment::FromProcess());
  std::string text = "Devices:\n";
  text += Line(true, HasOneDnn() ? "CPU: fp32 and bf16" : "CPU: fp32 (no oneDNN in this build)");
  text += DescribeGpus();
  text += "\nLibraries of GPUs:\n";
  for (const LibrarySpec& spec : {CublasLtSpec(), NcclSpec(), CuptiSpec()}) {
    text += DescribeLibrary(spec, folders);
  }
  text += "\nBetween ranks:\n";
  text += Line(HasGloo(), "Gloo (TCP): ranks on CPUs");
  const bool nccl = CountGpus().ok() && SharedLibrary::Open(NcclSpec(), folders).ok();
  text += Line(nccl, "NCCL: a GPU each");
  text += Line(CountGpus().ok(), "host memory: ranks that share a GPU (--allow-shared-gpu)");
  return text;
}

absl::Status RunDevices(const DevicesOptions&) {
  std::fputs(DescribeDevices().c_str(), stdout);
  return absl::OkStatus();
}

}  // namespace penstock
