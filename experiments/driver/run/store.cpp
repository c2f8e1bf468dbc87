// A line becomes durable before the next case starts, so that whatever kills the driver costs the
// running case alone. A line that a kill or a power cut left half-written is the last one; it is
// cut off when the file is opened again.
#include "experiments/driver/run/store.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "common/core/message.hpp"
#include "common/io/files.hpp"
#include "experiments/driver/run/results.hpp"
#include "experiments/driver/run/session.hpp"
#include "experiments/driver/spec/case.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw system_error("{}: {}: {}", path, what, std::strerror(errno));
}

/// A new file survives a power cut once its folder is flushed too.
void sync_folder(const fs::path& folder) {
  const int fd = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

/// What the answer of supports() can depend on; clocks change from one look to the next.
std::string devices(const json& machine) {
  auto facts = json::array();
  for (const auto* part : {"cpu.model", "cpu.simd", "gpu", "cuda", "driver", "memory_bytes"})
    facts.push_back(field(machine, part));
  return facts.dump();
}

}  // namespace

struct Store::State {
  std::string path;
  int fd = -1;
  off_t size = 0;  ///< bytes of whole lines
  std::size_t torn = 0;
  std::map<std::string, std::string> devices_of;  ///< by session of this build
  std::map<std::string, driver::Session> sessions;
  /// The last row of a case on a machine.
  struct Held {
    RowCode code;
    Status status;
    std::string devices;  ///< that supports() may ask for
    Backend backend;
    std::string device;   ///< of its backend
    std::string machine;  ///< that one; empty where the session does not tell
  };
  std::map<std::string, std::vector<Held>> rows;  ///< by key
  Confirmations confirmations;

  ~State() {
    if (fd >= 0) close(fd);
  }

  void open_locked();
  void note(const json& line);
  void repair(const FileEnd& end);
  void write_all(const std::string& text);
};

void Store::State::open_locked() {
  const auto folder = fs::path(path).parent_path();
  make_folder(folder);
  std::error_code error;
  const bool existed = fs::exists(path, error);
  if (existed && !fs::is_regular_file(path, error))
    throw InputError(path + ": rows can be written only to a regular file");
  // O_NONBLOCK: what has become a pipe meanwhile must not hang.
  fd = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0644);
  if (fd < 0) fail(path, "can't be opened for writing");
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK)
      throw SystemError(path +
                        ": another driver is writing to this file; wait for it or use --out");
    fail(path, "can't be locked");
  }
  if (!existed) sync_folder(folder);
}

void Store::State::note(const json& line) {
  const auto session = text_of(line, "session");
  if (line["kind"] == "session" && line.value("build", json()) == build_facts())
    devices_of[session] = devices(line.value("machine", json()));
  if (line["kind"] == "session") sessions[session].line = line;
  if (line["kind"] == "confirmation") confirmations.take(line, sessions[session].devices());
  const auto known = devices_of.find(session);
  if (line["kind"] != "row" || known == devices_of.end()) return;
  const auto backend =
      is_gpu_method(text_of(line.value("case", json()), "method")) ? Backend::cuda : Backend::cpu;
  const auto& on = sessions[session];
  Held held{stated_code(line), status_of(line),    known->second,
            backend,           on.device(backend), on.machine(backend)};
  auto& of_case = rows[text_of(line, "key")];
  std::erase_if(of_case, [&](const Held& earlier) {
    return earlier.machine == held.machine && earlier.devices == held.devices;
  });
  of_case.push_back(std::move(held));
}

void Store::State::repair(const FileEnd& end) {
  size = static_cast<off_t>(end.whole);
  torn = end.torn;
  if (torn > 0 && ftruncate(fd, size) != 0) fail(path, "the torn last line can't be cut off");
  if (end.lacks_newline) {
    write_all("\n");
    ++size;
  }
}

void Store::State::write_all(const std::string& text) {
  for (std::size_t sent = 0; sent < text.size();) {
    const auto n = write(fd, text.data() + sent, text.size() - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int cause = errno;
      if (ftruncate(fd, size) != 0) fail(path, "a half-written row can't be cut off");
      errno = cause;
      fail(path, "a row can't be written, the rows before it are safe");
    }
    sent += static_cast<std::size_t>(n);
  }
  // Some file systems have nothing to flush and say EINVAL.
  if (fdatasync(fd) != 0 && errno != EINVAL) fail(path, "can't be flushed to disk");
}

Store::Store(const std::string& path) : state_(std::make_unique<State>()) {
  state_->path = path;
  state_->open_locked();
  // Reading changes nothing, so that a refused file stays as it was.
  const auto end = for_each_line(path, [this](const json& line) { state_->note(line); });
  state_->repair(end);
}

Store::~Store() = default;

std::size_t Store::repaired() const {
  return state_->torn;
}

Stored Store::find(const std::string& key, const RowCode& today, const json& machine) const {
  const auto found = state_->rows.find(key);
  if (found == state_->rows.end()) return Stored::nothing;
  const driver::Session here{{{"machine", machine}}, {}};
  auto best = Stored::nothing;
  for (const auto& held : found->second) {
    if (compare_code(held.code, today) == Currency::stale &&
        !state_->confirmations.cover(key, today, held.device))
      continue;
    const auto& mine = here.machine(held.backend);
    const bool other = !held.machine.empty() && !mine.empty() && held.machine != mine;
    const bool ok = held.status == Status::ok;
    if (ok && !other) return Stored::ok;
    if (ok) best = Stored::elsewhere;
    if (best == Stored::nothing && held.status == Status::unsupported &&
        held.devices == devices(machine))
      best = Stored::unsupported;
  }
  return best;
}

void Store::append(const json& line) {
  const auto text = line.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
  state_->write_all(text);
  state_->size += static_cast<off_t>(text.size());
}

}  // namespace retensor::driver
