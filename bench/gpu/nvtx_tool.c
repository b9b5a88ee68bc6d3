// A tool that NVTX loads from $NVTX_INJECTION64_PATH: writes the name of each range that begins to the
// file $PENSTOCK_NVTX_SEEN, one a line. bench/gpu/pack builds it.
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>

static FILE* seen;

static int NVTX_API Push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  (void)domain;
  fprintf(seen, "%s\n", event->message.ascii);
  fflush(seen);  // A traced program may end in any way.
  return 0;
}

static int NVTX_API Pop(nvtxDomainHandle_t domain) {
  (void)domain;
  return 0;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t table) {
  const NvtxExportTableCallbacks* callbacks =
      (const NvtxExportTableCallbacks*)table(NVTX_ETID_CALLBACKS);
  NvtxFunctionTable functions = NULL;
  unsigned int size = 0;
  const char* path = getenv("PENSTOCK_NVTX_SEEN");
  if (path == NULL || callbacks == NULL ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &functions, &size) == 0) {
    return 0;
  }
  seen = fopen(path, "w");
  if (seen == NULL) return 0;
  *functions[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)Push;
  *functions[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)Pop;
  return 1;
}
