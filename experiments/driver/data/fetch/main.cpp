// The program `retensor-fetch`, started by `retensor dataset fetch`. It stands alone because
// libcurl brings libraries that a program for bare machines can't be linked with statically.
#include <unistd.h>

#include <csignal>
#include <exception>
#include <iostream>
#include <optional>

#include <curl/curl.h>
#include <fmt/format.h>
#include <boost/program_options.hpp>

#include "common/core/error.hpp"
#include "experiments/driver/data/fetch/download.hpp"

namespace {

using namespace retensor;
namespace po = boost::program_options;

/// Percent on stderr: redrawn on a terminal, else a line for each tenth.
class Meter {
 public:
  Meter() = default;
  ~Meter() { end_line(); }
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  /// Nothing where the server does not say how long the file is.
  void show(std::uint64_t have, std::uint64_t length) {
    if (length == 0) return;
    const auto percent =
        static_cast<int>(100.0 * static_cast<double>(have) / static_cast<double>(length));
    const int step = terminal_ ? 1 : 10;
    if (percent / step == shown_) return;
    shown_ = percent / step;
    drawn_ = terminal_;
    std::cerr << fmt::format("{}{:3} % of {} bytes{}", terminal_ ? "\r" : "", percent, length,
                             terminal_ ? "" : "\n")
              << std::flush;
  }
  void note(const std::string& text) {
    end_line();
    std::cerr << text << '\n';
  }

 private:
  void end_line() {
    if (drawn_) std::cerr << '\n';
    drawn_ = false;
  }

  bool terminal_ = isatty(STDERR_FILENO) == 1;
  int shown_ = -1;
  bool drawn_ = false;
};

std::optional<fetch::Request> request_of(int argc, char** argv) {
  fetch::Request r;
  po::options_description options("Usage: retensor-fetch OPTIONS\n\nFetches one file over https");
  const auto text = [](std::string& to) { return po::value<std::string>(&to); };
  options.add_options()("help,h", "print this help")("url", text(r.url)->required(), "https://...")(
      "sha256", text(r.sha256),
      "of the file, lower-case hexadecimal; without it nothing is compared")(
      "bytes", po::value<std::uint64_t>(&r.bytes)->default_value(0),
      "length of the file; 0: the server says it")(
      "most-bytes", po::value<std::uint64_t>(&r.most_bytes)->default_value(std::uint64_t{1} << 40),
      "what a file of unknown length may have")(
      "out", text(r.out)->required(), "final path; FILE.part beside it keeps what has arrived")(
      "cacert", text(r.cacert), "PEM file of authorities to trust instead of the system's")(
      "time-limit", po::value<double>(&r.time_limit)->default_value(4 * 3600), "seconds in all")(
      "stall-limit", po::value<double>(&r.stall_limit)->default_value(30),
      "seconds below 1 kB/s after which a connection is given up");
  po::variables_map given;
  try {
    po::store(po::parse_command_line(argc, argv, options), given);
    if (given.count("help") != 0) {
      std::cout << options;
      return std::nullopt;
    }
    po::notify(given);
  } catch (const po::error& e) {
    throw InputError(e.what());
  }
  return r;
}

int complain(const std::exception& error, int code) {
  std::cerr << "retensor-fetch: " << error.what() << '\n';
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a connection that is gone is an error of libcurl
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    return complain(SystemError("libcurl can't be started"), 3);
  int code = 0;
  try {
    if (const auto request = request_of(argc, argv)) {
      Meter meter;
      fetch::download(
          *request, [&](std::uint64_t have, std::uint64_t length) { meter.show(have, length); },
          [&](const std::string& text) { meter.note(text); });
    }
  } catch (const InputError& e) {
    code = complain(e, 2);
  } catch (const std::exception& e) {
    code = complain(e, 3);
  }
  curl_global_cleanup();
  return code;
}
