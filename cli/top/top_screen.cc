#include "cli/top/top_screen.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/wrap_words.h"
#include "cli/terminal/narrow_text.h"

namespace penstock {

namespace {

// The lines of one server. Its clients' lines are separate.
struct Block {
  std::vector<std::string> lines;
  bool down = false;
  std::vector<std::string> clients;
};

std::vector<std::string> Wrapped(const std::string& cause, size_t columns) {
  const size_t indent = columns > 2 ? 2 : 0;
  return FirstLines(WrapWords(cause, columns, indent), kMaxCauseLines, columns);
}

std::vector<Block> BlocksOf(const TopTable& table, size_t columns) {
  std::vector<Block> blocks;
  for (const TopTable::Server& server : table.servers) {
    Block block = {{server.row}, server.down, server.clients};
    if (!server.cause.empty()) {
      const std::vector<std::string> cause = Wrapped(CauseLine(server), columns);
      block.lines.insert(block.lines.end(), cause.begin(), cause.end());
    }
    blocks.push_back(std::move(block));
  }
  return blocks;
}

size_t NumLines(const std::vector<Block>& blocks) {
  size_t lines = 0;
  for (const Block& block : blocks) lines += block.lines.size() + block.clients.size();
  return lines;
}

// Numbers of servers and clients that are left out.
struct Rest {
  size_t servers = 0;
  size_t down = 0;  // Counted in `servers` too.
  size_t clients = 0;
};

std::string RestLine(const Rest& rest) {
  std::string line;
  if (rest.servers > 0) absl::StrAppend(&line, rest.servers, " more");
  if (rest.down > 0) absl::StrAppend(&line, ", ", rest.down, " of them down");
  if (rest.clients == 0) return line;
  return absl::StrCat(line, line.empty() ? "" : "; ", rest.clients, " more clients");
}

// Keeps in `blocks` the servers that fit into `room` lines, and as many of their clients as fit
// into the rest.
Rest Shorten(std::vector<Block>& blocks, size_t room) {
  std::stable_partition(blocks.begin(), blocks.end(),
                        [](const Block& block) { return block.lines.size() > 1; });
  Rest rest;
  size_t shown = 0;
  for (; shown < blocks.size() && blocks[shown].lines.size() <= room; ++shown) {
    room -= blocks[shown].lines.size();
  }
  for (size_t i = shown; i < blocks.size(); ++i) {
    ++rest.servers;
    rest.down += blocks[i].down;
    rest.clients += blocks[i].clients.size();
  }
  blocks.resize(shown);
  for (Block& block : blocks) {
    const size_t clients = std::min(block.clients.size(), room);
    rest.clients += block.clients.size() - clients;
    block.clients.resize(clients);
    room -= clients;
  }
  return rest;
}

}  // namespace

std::vector<std::string> TopScreen(const TopTable& table, const absl::Status& missing,
                                   const TerminalSize& size) {
  std::vector<std::string> below;
  if (!table.total.empty()) below.push_back(table.total);
  if (!missing.ok()) {
    const std::vector<std::string> cause = Wrapped(MissingLine(missing), size.columns);
    below.insert(below.end(), cause.begin(), cause.end());
  }
  const size_t rows = std::max<size_t>(size.rows, 2) - 1;
  const size_t room = rows - std::min(rows, 1 + below.size());
  std::vector<Block> blocks = BlocksOf(table, size.columns);
  if (NumLines(blocks) > room) {
    below.insert(below.begin(), RestLine(Shorten(blocks, room - std::min<size_t>(room, 1))));
  }
  std::vector<std::string> lines = {table.heading};
  for (const Block& block : blocks) {
    lines.insert(lines.end(), block.lines.begin(), block.lines.end());
    lines.insert(lines.end(), block.clients.begin(), block.clients.end());
  }
  lines.insert(lines.end(), below.begin(), below.end());
  lines.resize(std::min(lines.size(), rows));
  for (std::string& line : lines) line.resize(std::min(line.size(), size.columns));
  return lines;
}

}  // namespace penstock
