#include "server/port_owner.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

// Inodes of the listening sockets on `port`, from a table of /proc/net (proc(5)): field 1 is
// ADDRESS:PORT in hexadecimal, 3 the state (0A: listening), 9 the inode.
void AddListeningInodes(const char* table, uint16_t port, std::set<std::string>& inodes) {
  std::ifstream file(table);
  std::string line;
  while (std::getline(file, line)) {
    std::vector<std::string> fields = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (fields.size() < 10 || fields[3] != "0A") continue;
    size_t colon = fields[1].rfind(':');
    if (colon == std::string::npos) continue;
    if (std::strtoul(fields[1].c_str() + colon + 1, nullptr, 16) == port) inodes.insert(fields[9]);
  }
}

bool HoldsOneOf(const std::set<std::string>& inodes, const fs::path& process) {
  std::error_code error;
  for (fs::directory_iterator fd(process / "fd", error), end; !error && fd != end;
       fd.increment(error)) {
    std::error_code gone;
    std::string target = fs::read_symlink(fd->path(), gone).string();
    if (target.rfind("socket:[", 0) == 0 && inodes.count(target.substr(8, target.size() - 9)) > 0) {
      return true;
    }
  }
  return false;
}

std::string Name(const fs::path& process) {
  std::ifstream file(process / "comm");
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace

std::string DescribePortOwner(uint16_t port) {
  std::set<std::string> inodes;
  AddListeningInodes("/proc/net/tcp", port, inodes);
  AddListeningInodes("/proc/net/tcp6", port, inodes);
  if (inodes.empty()) return "";
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    int pid = 0;
    if (!absl::SimpleAtoi(entry->path().filename().string(), &pid)) continue;
    if (HoldsOneOf(inodes, entry->path())) {
      return absl::StrCat(Name(entry->path()), " (process ", pid, ")");
    }
  }
  return "";
}

}  // namespace penstock
