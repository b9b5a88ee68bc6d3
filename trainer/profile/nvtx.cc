#include "trainer/profile/nvtx.h"

#include <nvtx3/nvToolsExt.h>

namespace penstock {
namespace {

nvtxDomainHandle_t Domain() {
  static const nvtxDomainHandle_t domain = nvtxDomainCreateA("penstock");
  return domain;
}

void Push(const char* name, nvtxPayloadType_t type, uint64_t number) {
  nvtxEventAttributes_t event = {};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = name;
  event.payloadType = type;
  event.payload.ullValue = number;
  nvtxDomainRangePushEx(Domain(), &event);
}

}  // namespace

void NvtxPush(const char* name) { Push(name, NVTX_PAYLOAD_UNKNOWN, 0); }

void NvtxPush(const char* name, uint64_t number) {
  Push(name, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64, number);
}

void NvtxPop() { nvtxDomainRangePop(Domain()); }

}  // namespace penstock
