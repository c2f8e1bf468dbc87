#include "experiments/driver/mpi/serve.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/core/message.hpp"
#include "common/device/device.hpp"
#include "common/distribute/passes.hpp"
#include "common/measure/timing.hpp"
#include "common/method/registry.hpp"
#include "experiments/driver/mpi/job.hpp"
#include "experiments/driver/run/foreign/folder.hpp"
#include "experiments/driver/yaml/yaml_tree.hpp"

namespace retensor::mpi {
using communicate::Communicator;
using communicate::Parts;
using nlohmann::json;

namespace {

json read_problem() {
  std::ifstream in("problem.json");
  auto problem = json::parse(in, nullptr, false);
  if (!problem.is_object())
    throw input_error(
        "found no problem.json in the working directory, expected the folder of a "
        "problem: specs name methods such as distributed.cpu");
  return problem;
}

/// What the first process has read, to all.
std::string told_by_first(Communicator& processes, std::string line) {
  Parts parts(static_cast<std::size_t>(processes.size()), 0);
  parts[0] = 1;
  Count length = line.size();
  processes.all_gather(std::span(&length, 1), parts);
  parts[0] = length;
  line.resize(length);
  processes.all_gather(std::span(line.data(), line.size()), parts);
  return line;
}

double most_of_all(Communicator& processes, double own) {
  Parts parts(static_cast<std::size_t>(processes.size()), 1);
  std::vector<double> all(parts.size());
  all[static_cast<std::size_t>(processes.rank())] = own;
  processes.all_gather(std::span(all), parts);
  return *std::ranges::max_element(all);
}

std::string word_of(const json& params, const char* name) {
  const auto found = params.find(name);
  if (found == params.end() || !found->is_string())
    throw input_error("found no parameter '{}', expected a word", name);
  return *found;
}

class Served {
 public:
  explicit Served(Communicator& processes) : processes_(processes), problem_(read_problem()) {}

  json answer(const std::string& line) {
    const auto verb = line.substr(0, line.find(' '));
    const auto rest = verb.size() < line.size() ? line.substr(verb.size() + 1) : "";
    if (verb == "read") return read();
    if (verb == "prepare") return prepare();
    if (verb == "ping") return json::object();
    if (verb == "operands") return operands(rest);
    if (verb == "run") return run();
    if (verb == "result") return result(rest);
    throw input_error("found the step '{}', expected read, prepare, ping, operands, run or result",
                      verb);
  }

 private:
  json read();
  json prepare();
  json operands(const std::string& folder);
  json run();
  json result(const std::string& file);
  Count checked_traffic();

  Communicator& processes_;
  const json problem_;
  ProblemSpec spec_;
  Registry registry_ = all_methods();
  const Method* method_ = nullptr;
  Coo mine_;
  std::unique_ptr<Communicator> devices_;  // before what uses it
  distribute::Share share_;
  std::shared_ptr<std::vector<Matrix>> factors_ = std::make_shared<std::vector<Matrix>>();
  std::unique_ptr<Prepared> passes_;
  std::unique_ptr<StageTimer> timer_;
};

json Served::read() {
  const auto& params = problem_.at("params");
  if (problem_.at("operation") != "mttkrp_all")
    throw input_error("distributed methods solve mttkrp_all alone");
  spec_.operation = Operation::mttkrp_all;
  spec_.rank = problem_.at("rank");
  spec_.dtype = dtype_from_name(problem_.at("dtype").get<std::string>());
  method_ = &registry_.find(word_of(params, "mttkrp"));
  mine_ = read_part(problem_.at("tensor"), spec_.dtype, processes_);
  for (const auto length : mine_.dims) factors_->emplace_back(length, spec_.rank, spec_.dtype);
  return json::object();
}

/// Runs all modes once, and what they send has to be the closed form.
Count Served::checked_traffic() {
  auto& exchanging = devices_ ? *devices_ : processes_;
  sent_by_all(processes_, exchanging);
  timer_->start();
  passes_->run(*timer_);
  timer_->stop();
  const auto sent = sent_by_all(processes_, exchanging).total();
  const bool padded = passes_->executed().at("rows exchanged") == "on the device";
  const Count row = spec_.rank * size_of(spec_.dtype);
  Count expected = 0;
  for (std::size_t m = 0; m < factors_->size(); ++m)
    expected +=
        distribute::bytes_of_pass(share_.rule, processes_.size(), share_.grid[m],
                                  (*factors_)[m].rows(), padded ? (row + 15) / 16 * 16 : row);
  if (sent != expected) throw logic_error("{} bytes sent, expected {}", sent, expected);
  return sent;
}

json Served::prepare() {
  auto params = problem_.at("params");
  const auto rule = distribute::rule_from_name(word_of(params, "dist"));
  std::map<std::string, ParamValue> given;
  for (const auto& [name, value] : params.items())
    if (name != "ranks" && name != "dist" && name != "mttkrp")
      given[name] = driver::param_value(value);
  devices_ = devices_for(*method_, processes_);
  share_ = distribute::share_out(
      processes_, mine_, rule, distribute::cost_of_mttkrp(mine_.order(), spec_.rank, spec_.dtype));
  mine_ = Coo();
  passes_ = distribute::passes_over(devices_ ? *devices_ : processes_, share_, spec_, factors_,
                                    *method_, given);
  timer_ = method_->backend() == Backend::cuda ? device::make_event_timer() : make_host_timer();
  const auto sent = checked_traffic();
  auto executed = passes_->executed();
  executed["bytes sent"] = std::to_string(sent);
  executed["grid"] = fmt::format("{}", fmt::join(share_.grid, " x "));
  executed["imbalance"] =
      fmt::format("{:.3f}", fmt::join(distribute::imbalance(processes_, share_), " "));
  std::vector<std::string> loads;  // by tensor of the share
  for (const auto& each : distribute::loads(processes_, share_))
    loads.push_back(fmt::format("{:.3f}", fmt::join(each, " ")));
  executed["loads"] = fmt::format("{}", fmt::join(loads, "; "));
  std::vector<Count> bytes = {passes_->footprint().format_bytes, passes_->footprint().device_bytes};
  processes_.all_reduce(std::span(bytes));
  return {{"executed", executed}, {"format_bytes", bytes[0]}, {"device_bytes", bytes[1]}};
}

json Served::operands(const std::string& folder) {
  for (std::size_t m = 0; m < factors_->size(); ++m) {
    const auto path = std::filesystem::path(folder) / fmt::format("{}.bin", m);
    auto& factor = (*factors_)[m];
    std::ifstream in(path, std::ios::binary);
    factor.values().visit([&](auto& values) {
      in.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(factor.bytes()));
    });
    if (!in) throw InputError(path.string() + ": the file can't be read");
    passes_->refresh(static_cast<int>(m));
  }
  return json::object();
}

/// The time of the slowest process, from one moment on.
json Served::run() {
  processes_.barrier();
  const auto start = std::chrono::steady_clock::now();
  timer_->start();
  passes_->run(*timer_);
  const auto own = timer_->stop();
  processes_.barrier();
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  json stages = json::object();
  for (const auto& [stage, seconds] : own) stages[stage] = most_of_all(processes_, seconds);
  return {{"seconds", most_of_all(processes_, spent.count())}, {"stages", stages}};
}

json Served::result(const std::string& file) {
  const auto all = std::get<Matrix>(passes_->result());
  if (processes_.rank() != 0) return json::object();
  driver::write_values(file, all);
  return json::object();
}

/// An error is told as the answer too, before it ends all processes.
void step(Communicator& processes, const Answers& answers, Served& served,
          const std::string& line) {
  const auto say = [&](const json& said) {
    if (processes.rank() == 0) answers.write(said.dump() + '\n');
  };
  try {
    say(served.answer(line));
  } catch (const OutOfMemory& e) {
    say({{"status", "oom"}, {"reason", e.what()}});
    throw;
  } catch (const InputError& e) {
    say({{"status", "unsupported"}, {"reason", e.what()}});
    throw;
  }
}

}  // namespace

int launch_ranks() {
  const auto params = read_problem().value("params", json::object());
  const auto ranks = params.value("ranks", 1);
  if (ranks < 1) throw input_error("found {} ranks, expected at least 1", ranks);
  const auto self = std::filesystem::read_symlink("/proc/self/exe").string();
  const auto count = std::to_string(ranks);
  execlp("mpirun", "mpirun", "--oversubscribe", "--bind-to", "none", "-np", count.c_str(),
         self.c_str(), "serve", nullptr);
  throw system_error("mpirun can't be started: {}", std::strerror(errno));
}

Answers::Answers() : descriptor_(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) {
  if (descriptor_ < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    throw system_error("no descriptor of one's own for answers: {}", std::strerror(errno));
}

void Answers::write(const std::string& line) const {
  for (std::size_t sent = 0; sent < line.size();) {
    const auto n = ::write(descriptor_, line.data() + sent, line.size() - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error("an answer can't be written: {}", std::strerror(errno));
    sent += static_cast<std::size_t>(n);
  }
}

int serve(Communicator& processes, const Answers& answers) {
  Served served(processes);
  for (std::string line;;) {
    const bool more = processes.rank() != 0 || std::getline(std::cin, line);
    line = told_by_first(processes, more ? line : "end");
    if (line == "end") return 0;
    step(processes, answers, served, line);
  }
}

}  // namespace retensor::mpi
