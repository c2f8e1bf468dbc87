// An executable that gets a line for each step on its standard input and answers with a line.
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "common/core/message.hpp"
#include "experiments/driver/run/child_process.hpp"
#include "experiments/driver/run/foreign/folder.hpp"
#include "experiments/driver/run/foreign/foreign_run.hpp"
#include "experiments/driver/run/results.hpp"

namespace retensor::driver {
using nlohmann::json;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t kLongestAnswer = std::size_t{1} << 20;
constexpr milliseconds kLastMoment{1000};  ///< to end after its input has closed

class ProgramRun final : public ForeignRun {
 public:
  ProgramRun(const Case& c, const ForeignCode& code, const Problem& problem, Deadline deadline)
      : folder_(c, problem),
        deadline_(deadline),
        child_(std::make_unique<ConnectedChild>(launch_command(code, folder_.path()),
                                                std::vector{STDIN_FILENO, STDOUT_FILENO})) {}
  ~ProgramRun() override {
    if (!child_) return;
    child_->socket.leave();
    child_->process.reap(kLastMoment);
  }

  Step read() override { return ask("read"); }
  Step prepare() override { return ask("prepare"); }
  Step ping() override { return ask("ping"); }
  Step run() override { return ask("run"); }
  Step operands(const std::vector<Matrix>& dense) override {
    return ask("operands " + folder_.write_operands(dense));
  }
  Step result(Result& into) override {
    constexpr const char* kFile = "result.bin";
    folder_.remove(kFile);
    auto step = ask(fmt::format("result {}", kFile));
    try {
      folder_.read_result(kFile, into);
    } catch (const InputError& e) {
      throw ForeignFault(Status::failed, fmt::format("answer to `result`: {}", e.what()));
    }
    return step;
  }

 private:
  Step ask(const std::string& line);
  std::string answer_to(const std::string& line);
  [[noreturn]] void bury(const std::string& line);

  ProblemFolder folder_;
  Deadline deadline_;
  std::unique_ptr<ConnectedChild> child_;  ///< until it is dead
};

Step ProgramRun::ask(const std::string& line) {
  const auto start = std::chrono::steady_clock::now();
  if (!child_->socket.send(line)) bury(line);
  const auto answer = answer_to(line);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  Step step{json::parse(answer, nullptr, false), spent.count()};
  if (!step.said.is_object())
    throw ForeignFault(Status::failed,
                       fmt::format("answer to `{}`: found '{}', expected a JSON object on a line",
                                   line, answer.substr(0, 80)));
  if (const auto status = text_of(step.said, "status"); !status.empty() && status != "ok") {
    const bool known = status == "unsupported" || status == "oom" || status == "failed";
    throw ForeignFault(known ? status_from_name(status) : Status::failed,
                       fmt::format("`{}`: {}", line, text_of(step.said, "reason")));
  }
  return step;
}

std::string ProgramRun::answer_to(const std::string& line) {
  auto& socket = child_->socket;
  for (;;) {
    if (auto answer = socket.next()) return *answer;
    if (socket.waiting() > kLongestAnswer)
      throw ForeignFault(
          Status::failed,
          fmt::format("answer to `{}`: no end of line within {} bytes", line, kLongestAnswer));
    const auto left = std::chrono::ceil<milliseconds>(deadline_ - std::chrono::steady_clock::now());
    pollfd watched{socket.descriptor(), POLLIN, 0};
    if (left.count() <= 0 || poll(&watched, 1, static_cast<int>(left.count())) == 0) {
      child_.reset();
      throw ForeignFault(Status::timeout,
                         fmt::format("the program had not answered `{}` at the end of the time "
                                     "that its case has",
                                     line));
    }
    if (!socket.receive()) bury(line);
  }
}

void ProgramRun::bury(const std::string& line) {
  const int status = child_->process.reap(kLastMoment);
  const auto words = child_->process.last_words();
  child_.reset();
  const auto how = WIFSIGNALED(status)
                       ? fmt::format("died of SIG{}", sigabbrev_np(WTERMSIG(status)))
                       : fmt::format("ended with exit code {}", WEXITSTATUS(status));
  throw ForeignFault(Status::crashed,
                     fmt::format("the program {} in place of an answer to `{}`{}", how, line,
                                 words.empty() ? "" : "; its last words: " + words));
}

}  // namespace

std::unique_ptr<ForeignRun> start_program(const Case& c, const ForeignCode& code,
                                          const Problem& problem, Deadline deadline) {
  return std::make_unique<ProgramRun>(c, code, problem, deadline);
}

std::vector<std::string> launch_command(const ForeignCode& code, const std::string& folder) {
  std::vector<std::string> argv = {std::filesystem::absolute(code.path).string()};
  argv.insert(argv.end(), code.args.begin(), code.args.end());
  const json request = {{"folder", folder}, {"argv", argv}, {"parent", getpid()}};
  return {"retensor", "worker", "--launch", request.dump()};
}

int launch_main(const std::string& request_text) {
  const auto request = json::parse(request_text);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != request.at("parent").get<pid_t>()) return kNoLaunch;
  const auto folder = request.at("folder").get<std::string>();
  auto words = request.at("argv").get<std::vector<std::string>>();
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  if (chdir(folder.c_str()) == 0) execv(argv[0], argv.data());
  std::fprintf(stderr, "%s can't be started: %s\n", argv[0], std::strerror(errno));
  return kNoLaunch;
}

}  // namespace retensor::driver
