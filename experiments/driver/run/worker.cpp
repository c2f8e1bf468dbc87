// The parent's side of a worker: spawning, waiting with a limit, and finding out how a child died.
#include "experiments/driver/run/worker.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>

#include <array>
#include <csignal>

#include "common/core/message.hpp"
#include "common/core/text.hpp"
#include "experiments/driver/data/bytes.hpp"
#include "experiments/driver/run/child_process.hpp"
#include "experiments/driver/run/results.hpp"

namespace retensor::driver {
using nlohmann::json;
using std::chrono::milliseconds;

namespace {

using Clock = std::chrono::steady_clock;

/// A dying child may still write a core or release device memory.
constexpr milliseconds kDeathLimit{10000};
/// For a signal that killed the worker to reach this process too.
constexpr milliseconds kOwnSignalLimit{500};

}  // namespace

json ended(Status status, const std::string& reason) {
  return {{"status", name(status)}, {"reason", reason}};
}

std::vector<std::string> worker_command_line(const WorkerSetup& setup) {
  return {"retensor",   "worker",
          "--registry", setup.at.registry,
          "--recipes",  setup.at.recipes,
          "--cache",    setup.at.cache,
          "--memory",   std::to_string(setup.memory_limit),
          "--paths-in", std::string(name(setup.paths_in))};
}

Worker::Worker(WorkerSetup setup, StopSignals& stop) : setup_(std::move(setup)), stop_(stop) {}

Worker::~Worker() = default;

void Worker::restart() {
  child_.reset();
  loaded_.clear();
}

json Worker::ask(const json& request, milliseconds limit) {
  if (!child_)
    child_ =
        std::make_unique<ConnectedChild>(worker_command_line(setup_), std::vector{kWorkerSocket});
  child_->process.forget_output();
  child_->socket.send(request.dump());  // to a dead one: the wait for its answer finds out how
  return wait_for_answer(limit);
}

json Worker::wait_for_answer(milliseconds limit) {
  const auto start = Clock::now();
  for (;;) {
    if (const auto line = child_->socket.next()) {
      auto answer = json::parse(*line, nullptr, false);
      if (answer.is_object() && answer.contains("status") && answer.contains("reason"))
        return answer;
      restart();
      return ended(Status::crashed, "the worker's answer is not a row");
    }
    const auto spent = std::chrono::duration_cast<milliseconds>(Clock::now() - start);
    if (spent >= limit) {
      restart();
      return ended(Status::timeout,
                   fmt::format("no result within {}",
                               duration_text(std::chrono::duration<double>(limit).count())));
    }
    // At most a minute at a time: poll() takes an int.
    const auto wait = std::min(limit - spent, milliseconds{60000});
    std::array<pollfd, 2> watched{
        {{child_->socket.descriptor(), POLLIN, 0}, {stop_.descriptor(), POLLIN, 0}}};
    poll(watched.data(), watched.size(), static_cast<int>(wait.count()));
    stop_.update();
    if (stop_.at_once()) {
      restart();
      throw StoppedAtOnce("stopped at once by the second signal");
    }
    if (watched[0].revents != 0 && !child_->socket.receive()) return autopsy();
  }
}

/// A job scheduler that takes a job away signals all of its processes, the worker perhaps first:
/// that is no crash of the case.
bool Worker::is_taken_away(int status) {
  if (!WIFSIGNALED(status)) return false;
  const int by = WTERMSIG(status);
  if (by != SIGTERM && by != SIGINT && by != SIGKILL) return false;
  pollfd watched{stop_.descriptor(), POLLIN, 0};
  if (!stop_.requested()) poll(&watched, 1, static_cast<int>(kOwnSignalLimit.count()));
  stop_.update();
  return stop_.requested();
}

json Worker::autopsy() {
  const bool half = child_->socket.waiting() > 0;
  const int status = child_->process.reap(kDeathLimit);
  const auto words = child_->process.last_words();
  restart();
  if (is_taken_away(status)) throw StoppedAtOnce("stopped together with the worker");
  const auto said = words.empty() ? "" : "; its last words: " + words;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kOomExit)
    return ended(Status::oom, setup_.memory_limit == 0
                                  ? "the worker ran out of memory" + said
                                  : fmt::format("the worker passed its memory limit of {}{}",
                                                bytes_text(setup_.memory_limit), said));
  const auto when = half ? "in the middle of its row" : "before its row";
  if (WIFSIGNALED(status))
    return ended(Status::crashed, fmt::format("the worker died of SIG{} {}{}",
                                              sigabbrev_np(WTERMSIG(status)), when, said));
  return ended(Status::crashed, fmt::format("the worker ended with exit code {} {}{}",
                                            WEXITSTATUS(status), when, said));
}

json Worker::ask_twice(const json& request, milliseconds limit) {
  auto answer = ask(request, limit);
  return status_of(answer) == Status::crashed ? ask(request, limit) : answer;
}

json Worker::machine(milliseconds limit) {
  return ask_twice({{"do", "machine"}}, limit);
}

json Worker::facts(const std::string& dataset, milliseconds limit) {
  return ask_twice({{"do", "facts"}, {"dataset", dataset}}, limit);
}

json Worker::shape(const std::string& dataset, milliseconds limit) {
  const auto answer = ask_twice({{"do", "shape"}, {"dataset", dataset}}, limit);
  return is_ok(answer) ? answer["facts"] : json{{"reason", answer["reason"]}};
}

json Worker::choose(const Case& c, milliseconds limit) {
  return ask_twice({{"do", "choose"}, {"case", driver::to_json(c, json::object())}}, limit);
}

json Worker::probe(const Case& c, std::size_t order, milliseconds limit) {
  return ask({{"do", "probe"},
              {"case", driver::to_json(c, json::object())},
              {"order", order},
              {"timeout", limit.count()}},
             limit);
}

json Worker::load(const std::string& dataset, const json& data, milliseconds limit) {
  const auto answer = ask({{"do", "load"}, {"dataset", dataset}}, limit);
  if (!is_ok(answer)) return answer;
  if (answer["data"] != data)
    return ended(Status::failed,
                 fmt::format("{} changed while the sweep ran: its checksum was {} and is {}",
                             dataset, text_of(data, "sha256"), text_of(answer["data"], "sha256")));
  loaded_ = dataset;
  return answer;
}

json Worker::attempt(const std::vector<Case>& together, const MeasureSpec& measure,
                     const json& data) {
  if (loaded_ != together.front().dataset) {
    auto answer = load(together.front().dataset, data, measure.load_timeout());
    if (!is_ok(answer)) return answer;
  }
  const auto cases =
      transformed(together, [](const Case& c) { return driver::to_json(c, json::object()); });
  auto answer = ask({{"do", "measure"},
                     {"cases", cases},
                     {"warmup", measure.timing.warmup},
                     {"samples", measure.timing.samples},
                     {"precision", measure.precision},
                     {"at_most", measure.at_most.count()},
                     {"batch", measure.batch},
                     {"preparations", measure.preparations},
                     {"timeout", (measure.timeout * static_cast<int>(together.size())).count()},
                     {"seed", measure.timing.seed}},
                    measure.timeout * static_cast<int>(together.size()));
  if (is_ok(answer) && answer["rows"].size() != together.size()) {
    restart();
    return ended(Status::crashed, "the worker answered with a wrong number of rows");
  }
  if (!answer.contains("unfit")) return answer;
  // No later call of that process would succeed. What a case alone says of it stands.
  restart();
  return together.size() == 1 ? answer["rows"][0] : ended(Status::crashed, answer["unfit"]);
}

std::vector<json> Worker::run(const std::vector<Case>& together, const MeasureSpec& measure,
                              const json& data) {
  const auto rows_of = [](const json& answer, std::size_t cases) {
    return is_ok(answer) ? answer["rows"].get<std::vector<json>>()
                         : std::vector<json>(cases, answer);
  };
  auto answer = attempt(together, measure, data);
  if (is_ok(answer) || together.size() == 1) return rows_of(answer, together.size());

  std::vector<json> rows(together.size());
  std::vector<std::size_t> alive;
  std::vector<Case> rest;
  for (std::size_t k = 0; k < together.size(); ++k) {
    auto alone = attempt({together[k]}, measure, data);
    if (is_ok(alone)) {
      alive.push_back(k);
      rest.push_back(together[k]);
    } else {
      rows[k] = std::move(alone);
    }
  }
  if (rest.empty()) return rows;
  const auto again = rows_of(attempt(rest, measure, data), rest.size());
  for (std::size_t k = 0; k < alive.size(); ++k) rows[alive[k]] = again[k];
  return rows;
}

}  // namespace retensor::driver
