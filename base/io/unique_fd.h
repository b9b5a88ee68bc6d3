// A file descriptor with one owner, which closes it.
#ifndef PENSTOCK_BASE_IO_UNIQUE_FD_H_
#define PENSTOCK_BASE_IO_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace penstock {

// Thread-compatible.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      Reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~UniqueFd() { Reset(); }

  // The descriptor, or -1.
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void Reset() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  // Gives the descriptor to the caller, who must close it.
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_IO_UNIQUE_FD_H_
