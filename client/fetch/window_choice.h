// Chooses among the windows in use. Changes nothing.
#ifndef PENSTOCK_CLIENT_FETCH_WINDOW_CHOICE_H_
#define PENSTOCK_CLIENT_FETCH_WINDOW_CHOICE_H_

#include "client/fetch/lane_map.h"
#include "client/fetch/numbered_table.h"
#include "client/fetch/server_table.h"
#include "client/fetch/window_table.h"

namespace penstock {

// Whether the server has windows whose rows must come before those that it refused.
bool ReadsBefore(NumberedTable<WindowEntry>& windows, const ServerEntry& server, StreamId stream,
                 const RequestEntry& refused);

// Returns, among the windows that the server was asked for, the one that is needed last, if its
// lane currently reads another window. Returns null if there is none.
WindowEntry* LastReadAhead(NumberedTable<WindowEntry>& windows, const ServerEntry& server,
                           StreamId stream, const WindowEntry& window);

// Returns a window with which to probe a slow server: one of its own lanes if possible, so that the
// load may be of use later. Returns null if there is none.
const WindowEntry* WindowToProbe(NumberedTable<WindowEntry>& windows, const LaneMap& placement,
                                 const ServerEntry& server);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_WINDOW_CHOICE_H_
