// A window of the plan as a server has to open it.
#ifndef PENSTOCK_CLIENT_LOADER_WINDOW_MESSAGE_H_
#define PENSTOCK_CLIENT_LOADER_WINDOW_MESSAGE_H_

#include "client/fetch/scheduler_actions.h"
#include "client/plan/plan.h"
#include "records/dataset/manifest.h"
#include "records/engine/messages.h"

namespace penstock {

OpenWindow MakeOpenWindow(const Manifest& manifest, const Plan& plan, const WindowRequest& request);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_WINDOW_MESSAGE_H_
