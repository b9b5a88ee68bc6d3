#include "metrics/http_connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "metrics/http_answer.h"

namespace penstock {
namespace {

bool MayPass(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

HttpConnection::HttpConnection(UniqueFd socket, std::string host)
    : socket_(std::move(socket)), host_(std::move(host)), until_(Clock::now() + kAskTime) {}

short HttpConnection::events() const { return state_ == State::kWriting ? POLLOUT : POLLIN; }

void HttpConnection::Advance(const Answer& answer) {
  const bool goes_on = state_ == State::kReading   ? Read(answer)
                       : state_ == State::kWriting ? Write()
                                                   : WaitForEnd();
  if (!goes_on) Close();
}

bool HttpConnection::Read(const Answer& answer) {
  std::array<char, kMaxRequestBytes> buffer;
  const ssize_t got = recv(socket(), buffer.data(), buffer.size() - bytes_.size(), MSG_DONTWAIT);
  if (got <= 0) return got < 0 && MayPass(errno);
  bytes_.append(buffer.data(), static_cast<size_t>(got));
  if (!IsWholeRequest(bytes_) && bytes_.size() < kMaxRequestBytes) return true;
  bytes_ = answer(bytes_);
  state_ = State::kWriting;
  until_ = Clock::now() + kAnswerTime;
  return Write();
}

bool HttpConnection::Write() {
  while (written_ < bytes_.size()) {
    const ssize_t sent =
        send(socket(), &bytes_[written_], bytes_.size() - written_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) return MayPass(errno);
    written_ += static_cast<size_t>(sent);
  }
  // A close() with unread bytes would reset the connection, and the answer could be lost.
  shutdown(socket(), SHUT_WR);
  bytes_ = {};
  state_ = State::kClosing;
  until_ = Clock::now() + kAskTime;
  return true;
}

bool HttpConnection::WaitForEnd() {
  std::array<char, kMaxRequestBytes> unread;
  const ssize_t got = recv(socket(), unread.data(), unread.size(), MSG_DONTWAIT);
  return got > 0 || (got < 0 && MayPass(errno));
}

}  // namespace penstock
