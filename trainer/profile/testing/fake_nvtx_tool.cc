// The tool that NVTX loads from $NVTX_INJECTION64_PATH. Records ranges: "<name number" for a begin,
// ">" for an end.
#include <nvtx3/nvToolsExt.h>

#include <string>

namespace {

std::string& Seen() {
  static std::string seen;
  return seen;
}

int NVTX_API Push(nvtxDomainHandle_t, const nvtxEventAttributes_t* event) {
  Seen() += std::string("<") + event->message.ascii;
  if (event->payloadType == NVTX_PAYLOAD_TYPE_UNSIGNED_INT64) {
    Seen() += " " + std::to_string(event->payload.ullValue);
  }
  return 0;
}

int NVTX_API Pop(nvtxDomainHandle_t) {
  Seen() += ">";
  return 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const char* FakeNvtxSeen() {
  return Seen().c_str();
}

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t table) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable functions = nullptr;
  unsigned int size = 0;
  if (callbacks == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &functions, &size) == 0) {
    return 0;
  }
  *functions[NVTX_CBID_CORE2_DomainRangePushEx] = reinterpret_cast<NvtxFunctionPointer>(Push);
  *functions[NVTX_CBID_CORE2_DomainRangePop] = reinterpret_cast<NvtxFunctionPointer>(Pop);
  return 1;
}
