// A library with NCCL's functions that moves bytes of host memory between ranks over Unix sockets.
// Ranks are threads of one process or processes on one host. Streams are FakeStreams. On a stream
// with a queue, a group takes its turn: its data is read when the turn comes, and received data is
// written when the group is done. Like NCCL, it ends a communicator only once no graph and no
// stream has a group of it.
//
//   FAKE_NCCL_VERSION  result of ncclGetVersion(); 21800 if not set
//   FAKE_NCCL_LOG      file to which every call is appended, as "RANK CALL ARGUMENTS"; also
//                      "RANK hang"
//   FAKE_NCCL_FAULT    "RANK KIND GROUP": fault in group number GROUP, from 0, of rank RANK. KIND
//                      `error` is an asynchronous error, `hang` never ends; `init-error` and
//                      `init-hang` do so while connecting. Faults before a group is launched:
//                      `post-error` and `post-hang` without blocking, `block` in a blocking call
//   FAKE_NCCL_LAUNCH   `thread`: without blocking, groups are launched by another thread, while
//                      the communicator is in progress
//
// A communicator that blocks connects and launches before its calls return. It stops connecting
// after three seconds, because nothing can abort it then.
//
// This library returns an error where NCCL would hang or read wrong data. It does so for a message
// of another size than its receiver's, and for a call while the previous one is in progress.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "trainer/cuda/testing/fake_stream.h"

namespace {

using penstock::FakeStream;

enum Result : int {
  kSuccess = 0,
  kSystemError = 2,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7,
};

struct Id {
  char bytes[128];
};

// The part of ncclConfig_t that is read.
struct Config {
  size_t size;
  unsigned magic;
  unsigned version;
  int blocking;
};

constexpr int kPollMs = 5;

void Log(int rank, const std::string& call) {
  const char* path = std::getenv("FAKE_NCCL_LOG");
  if (path == nullptr) return;
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  const std::string line = std::to_string(rank) + " " + call + "\n";
  (void)!write(file, line.data(), line.size());  // One write: lines of several ranks stay whole.
  close(file);
}

struct Fault {
  int rank = -1;
  std::string kind;
  int group = 0;

  Fault() {
    const char* text = std::getenv("FAKE_NCCL_FAULT");
    if (text != nullptr) std::istringstream(text) >> rank >> kind >> group;
  }
};

struct Message {
  int peer;
  bool is_send;
  char* bytes;
  size_t size;
};

struct Group {
  std::vector<Message> messages;
  std::function<void()> finish;
};

// One direction of one peer: its messages in order, each after its size.
struct Channel {
  std::vector<Message> messages;
  size_t current = 0;
  size_t done = 0;         // Bytes of the size and the message that are done.
  uint64_t announced = 0;  // The sender's size, at a receiver.

  bool finished() const { return current == messages.size(); }
};

struct Comm {
  int rank = 0, ranks = 0;
  std::string id;
  Fault fault;
  std::vector<int> sockets;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Group> queue;
  std::atomic<int> state{kInProgress};
  std::atomic<bool> aborted{false};
  bool finishing = false;
  int groups = 0;
  bool blocking = false;
  int posted = 0;                  // Number of groups that were posted.
  std::atomic<int> references{0};  // Number of them from streams and graphs.
  std::atomic<int> calls{0};       // Number of calls under way, which may block.
  std::thread worker;
  std::vector<std::thread> launches;

  void Run();
  bool Connect();
  int Listen() const;
  int ConnectTo(int peer) const;
  bool Accept(int listener);
  int Move(const Group& group);
  void Hang() const;
  bool Has(const char* kind) const { return fault.rank == rank && fault.kind == kind; }
};

thread_local int group_depth = 0;
thread_local Comm* group_comm = nullptr;
thread_local Group group;
thread_local FakeStream* group_stream = nullptr;

// A group that takes its turn on a stream.
class QueuedGroup {
 public:
  QueuedGroup(Comm& comm, std::vector<Message> messages)
      : comm_(comm), messages_(std::move(messages)) {
    ++comm_.references;
  }
  ~QueuedGroup() { --comm_.references; }

  void Start() {
    copies_.clear();
    finished_ = std::make_shared<std::atomic<bool>>(false);
    Group next{.finish = [finished = finished_] { *finished = true; }};
    for (const Message& message : messages_) {
      copies_.push_back(
          std::make_shared<std::vector<char>>(message.bytes, message.bytes + message.size));
      Message copy = message;
      copy.bytes = copies_.back()->data();
      next.messages.push_back(copy);
    }
    // Keeps the copies alive for the communicator's thread, which may still use them after an
    // abort.
    next.finish = [finish = next.finish, kept = copies_] { finish(); };
    std::lock_guard lock(comm_.mutex);
    comm_.queue.push_back(std::move(next));
    comm_.changed.notify_all();
  }
  bool Done() {
    if (comm_.aborted) return true;
    if (!*finished_) return false;
    for (size_t i = 0; i < messages_.size(); ++i) {
      if (!messages_[i].is_send)
        std::copy(copies_[i]->begin(), copies_[i]->end(), messages_[i].bytes);
    }
    return true;
  }

 private:
  Comm& comm_;
  const std::vector<Message> messages_;
  std::vector<std::shared_ptr<std::vector<char>>> copies_;
  std::shared_ptr<std::atomic<bool>> finished_;
};

sockaddr_un Address(const std::string& name, socklen_t& size) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());  // Abstract name.
  size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

// Used for hangs that only ncclCommAbort() ends.
void Comm::Hang() const {
  while (!aborted) std::this_thread::sleep_for(std::chrono::milliseconds(kPollMs));
}

int Comm::Listen() const {
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  socklen_t size = 0;
  const sockaddr_un address = Address(id + "-" + std::to_string(rank), size);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
      listen(listener, ranks) == 0) {
    return listener;
  }
  close(listener);
  return -1;
}

int Comm::ConnectTo(int peer) const {
  socklen_t size = 0;
  const sockaddr_un address = Address(id + "-" + std::to_string(peer), size);
  while (!aborted) {
    const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(connection, reinterpret_cast<const sockaddr*>(&address), size) == 0) {
      (void)!write(connection, &rank, sizeof(rank));
      return connection;
    }
    close(connection);
    // The peer may not listen yet.
    std::this_thread::sleep_for(std::chrono::milliseconds(kPollMs));
  }
  return -1;
}

bool Comm::Accept(int listener) {
  for (int missing = ranks - 1 - rank; missing > 0 && !aborted;) {
    pollfd ready = {listener, POLLIN, 0};
    if (poll(&ready, 1, kPollMs) <= 0) continue;
    const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    int peer = 0;
    if (connection < 0 || read(connection, &peer, sizeof(peer)) != sizeof(peer)) continue;
    sockets[static_cast<size_t>(peer)] = connection;
    --missing;
  }
  return !aborted;
}

bool Comm::Connect() {
  if (Has("init-hang")) Hang();
  if (Has("init-error")) return false;
  const int listener = Listen();
  if (listener < 0) return false;
  for (int peer = 0; peer < rank; ++peer) sockets[static_cast<size_t>(peer)] = ConnectTo(peer);
  const bool connected = Accept(listener);
  close(listener);
  for (const int connection : sockets) {
    if (connection >= 0) fcntl(connection, F_SETFL, O_NONBLOCK);
  }
  return connected;
}

// Returns the number of bytes moved, 0 if none can move now, or -1.
ssize_t Transfer(int socket, bool is_send, char* bytes, size_t size) {
  const ssize_t count =
      is_send ? send(socket, bytes, size, MSG_NOSIGNAL) : recv(socket, bytes, size, 0);
  if (count > 0) return count;
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  return -1;
}

// Moves as much as possible now.
int Advance(Channel& channel, int socket) {
  while (!channel.finished()) {
    const Message& message = channel.messages[channel.current];
    uint64_t size = message.size;
    const bool in_size = channel.done < sizeof(size);
    char* number = reinterpret_cast<char*>(message.is_send ? &size : &channel.announced);
    char* from = in_size ? number + channel.done : message.bytes + channel.done - sizeof(size);
    const size_t left = (in_size ? sizeof(size) : sizeof(size) + message.size) - channel.done;
    const ssize_t count = Transfer(socket, message.is_send, from, left);
    if (count < 0) return kRemoteError;
    if (count == 0) return kSuccess;
    channel.done += static_cast<size_t>(count);
    if (channel.done < sizeof(size)) continue;
    if (!message.is_send && channel.announced != message.size) return kInvalidUsage;
    if (channel.done < sizeof(size) + message.size) continue;
    ++channel.current;
    channel.done = 0;
  }
  return kSuccess;
}

// Moves all messages concurrently.
int Comm::Move(const Group& moved) {
  std::vector<Channel> channels(2 * static_cast<size_t>(ranks));
  for (const Message& message : moved.messages) {
    channels[2 * static_cast<size_t>(message.peer) + message.is_send].messages.push_back(message);
  }
  while (!aborted) {
    std::vector<pollfd> waits;
    for (size_t i = 0; i < channels.size(); ++i) {
      const int socket = sockets[i / 2];
      if (const int result = Advance(channels[i], socket); result != kSuccess) return result;
      const short event = i % 2 == 1 ? POLLOUT : POLLIN;
      if (!channels[i].finished()) waits.push_back({socket, event, 0});
    }
    if (waits.empty()) return kSuccess;
    poll(waits.data(), waits.size(), kPollMs);
  }
  return kInProgress;
}

void Comm::Run() {
  if (!Connect()) {
    if (!aborted || blocking) state = kSystemError;
    return;
  }
  state = kSuccess;
  while (true) {
    Group next;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return aborted || finishing || !queue.empty(); });
      if (aborted || queue.empty()) return;
      next = std::move(queue.front());
      queue.pop_front();
    }
    const bool due = fault.group == groups++;
    if (due && Has("hang")) {
      Log(rank, "hang");
      Hang();
    }
    const int result = due && Has("error") ? kSystemError : Move(next);
    if (result != kSuccess && !aborted) {
      std::lock_guard lock(mutex);
      queue.push_front(std::move(next));  // Its kernel spins until the end of the communicator.
      state = result;
      return;
    }
    next.finish();
  }
}

int End(Comm* comm) {
  {
    std::lock_guard lock(comm->mutex);
    comm->finishing = true;
    comm->changed.notify_all();
  }
  if (comm->worker.joinable()) comm->worker.join();
  for (std::thread& launch : comm->launches) launch.join();
  while (comm->calls > 0) std::this_thread::sleep_for(std::chrono::milliseconds(kPollMs));
  for (const Group& left : comm->queue) left.finish();
  while (comm->references > 0) std::this_thread::sleep_for(std::chrono::milliseconds(kPollMs));
  for (const int socket : comm->sockets) {
    if (socket >= 0) close(socket);
  }
  delete comm;
  return kSuccess;
}

int Post(Comm* comm, const Message& message, FakeStream* stream) {
  Log(comm->rank, (message.is_send ? "send " : "recv ") + std::to_string(message.peer) + " " +
                      std::to_string(message.size));
  if (group_depth == 0 || (group_comm != nullptr && group_comm != comm)) return kInvalidUsage;
  if (message.peer < 0 || message.peer >= comm->ranks || message.peer == comm->rank) {
    return kInvalidArgument;
  }
  if (comm->state == kInProgress) return kInvalidUsage;
  group_comm = comm;
  group.messages.push_back(message);
  group_stream = stream;
  return kSuccess;
}

// Keeps the communicator while a call uses it.
class Use {
 public:
  explicit Use(Comm& comm) : comm_(comm) { ++comm_.calls; }
  ~Use() { --comm_.calls; }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  Comm& comm_;
};

// Queues the messages on the stream, or gives them to the communicator's thread.
void Launch(Comm* comm, Group posted, FakeStream& stream) {
  if (stream.queue) {
    auto queued = std::make_shared<QueuedGroup>(*comm, std::move(posted.messages));
    stream.queue({[queued] { queued->Start(); }, [queued] { return queued->Done(); }});
    return;
  }
  ++stream.pending;
  posted.finish = [&stream] { --stream.pending; };
  std::lock_guard lock(comm->mutex);
  comm->queue.push_back(std::move(posted));
  comm->changed.notify_all();
}

int LaunchFromThread(Comm* comm, Group posted, FakeStream& stream) {
  comm->state = kInProgress;
  comm->launches.emplace_back([comm, posted = std::move(posted), &stream]() mutable {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    Launch(comm, std::move(posted), stream);
    int expected = kInProgress;
    comm->state.compare_exchange_strong(expected, kSuccess);
  });
  return kInProgress;
}

// Ends when the communicator is aborted.
int Block(Comm* comm) {
  Log(comm->rank, "block");
  comm->Hang();
  return kSystemError;
}

}  // namespace

extern "C" {

int ncclGetVersion(int* version) {
  const char* text = std::getenv("FAKE_NCCL_VERSION");
  *version = text == nullptr ? 21800 : std::atoi(text);
  return kSuccess;
}

int ncclGetUniqueId(Id* id) {
  static std::atomic<int> count{0};
  *id = {};
  std::snprintf(id->bytes, sizeof(id->bytes), "penstock-fake-nccl-%d-%d", getpid(), count++);
  Log(0, "id");
  return kSuccess;
}

int ncclCommInitRankConfig(Comm** comm, int ranks, Id id, int rank, Config* config) {
  const bool blocking = config->blocking == 1;
  Log(rank, "init " + std::to_string(ranks) + (blocking ? " blocking" : ""));
  if (config->magic != 0xcafebeef || (!blocking && config->blocking != 0)) return kInvalidArgument;
  *comm = new Comm;
  (*comm)->blocking = blocking;
  (*comm)->rank = rank;
  (*comm)->ranks = ranks;
  (*comm)->id = id.bytes;
  (*comm)->sockets.assign(static_cast<size_t>(ranks), -1);
  (*comm)->worker = std::thread([made = *comm] { made->Run(); });
  for (int ms = 0; blocking && (*comm)->state == kInProgress; ++ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (ms > 3000) (*comm)->aborted = true;
  }
  return blocking ? (*comm)->state.load() : kInProgress;
}

int ncclCommGetAsyncError(Comm* comm, int* error) {
  *error = comm->state;
  return kSuccess;
}

int ncclGroupStart() {
  ++group_depth;
  return kSuccess;
}

int ncclGroupEnd() {
  if (group_depth == 0) return kInvalidUsage;
  if (--group_depth > 0 || group_comm == nullptr) return kSuccess;
  Comm* comm = std::exchange(group_comm, nullptr);
  const Use use(*comm);
  Log(comm->rank, "group");
  Group posted = std::exchange(group, {});
  FakeStream& stream = *group_stream;
  const bool due = comm->fault.group == comm->posted++;
  if (due && comm->blocking && comm->Has("block")) return Block(comm);
  if (due && !comm->blocking && comm->Has("post-error")) comm->state = kSystemError;
  if (due && !comm->blocking && comm->Has("post-hang")) comm->state = kInProgress;
  if (comm->state != kSuccess) return comm->state;
  const char* launch = std::getenv("FAKE_NCCL_LAUNCH");
  if (!comm->blocking && launch != nullptr && std::string(launch) == "thread") {
    return LaunchFromThread(comm, std::move(posted), stream);
  }
  Launch(comm, std::move(posted), stream);
  return kSuccess;
}

int ncclSend(const void* from, size_t count, int type, int peer, Comm* comm, void* stream) {
  if (type != 1) return kInvalidArgument;
  char* bytes = const_cast<char*>(static_cast<const char*>(from));
  return Post(comm, {peer, true, bytes, count}, static_cast<FakeStream*>(stream));
}

int ncclRecv(void* to, size_t count, int type, int peer, Comm* comm, void* stream) {
  if (type != 1) return kInvalidArgument;
  return Post(comm, {peer, false, static_cast<char*>(to), count}, static_cast<FakeStream*>(stream));
}

int ncclCommAbort(Comm* comm) {
  Log(comm->rank, "abort");
  {
    std::lock_guard lock(comm->mutex);
    comm->aborted = true;
  }
  return End(comm);
}

int ncclCommFinalize(Comm* comm) {
  Log(comm->rank, "finalize");
  return kSuccess;
}

int ncclCommDestroy(Comm* comm) {
  Log(comm->rank, "destroy");
  return End(comm);
}

const char* ncclGetErrorString(int result) {
  if (result == kRemoteError) return "remote process exited or there was a network error";
  return result == kInvalidUsage ? "invalid usage" : "unhandled system error";
}
}
