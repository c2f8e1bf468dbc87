#include "common/advise/experience.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/core/message.hpp"

namespace retensor::advise {

extern const char* const kModelLines[];  ///< model.json, written by embed.py; null at its end

namespace {

using nlohmann::json;

constexpr int kSchema = 1;
constexpr std::size_t kBeforeAspects = 6;  ///< members of a problem's line

/// Four digits tell more than any two measurements agree in.
std::string digits(double x) {
  return fmt::format("{:.4g}", x);
}

std::string json_text(std::string_view text) {
  return json(text).dump();
}

json device_json(const Device& d) {
  return {{"name", d.name},     {"backend", name(d.backend)}, {"cores", d.cores},
          {"gbytes", d.gbytes}, {"gflops", d.gflops},         {"cache_bytes", d.cache_bytes}};
}

Device device_from(const json& j) {
  return {j.at("name"),   j.at("backend") == name(Backend::cuda) ? Backend::cuda : Backend::cpu,
          j.at("cores"),  j.at("gbytes"),
          j.at("gflops"), j.at("cache_bytes")};
}

std::string line_of(const SeenProblem& p) {
  std::string at;
  for (const double x : p.at) at += ", " + digits(x);
  return fmt::format("[{}, {}, {}, {}, {}, {}{}]", p.device, json_text(name(p.operation)),
                     json_text(p.data), json_text(p.family), p.is_real, digits(p.tensor_bytes), at);
}

SeenProblem problem_from(const json& j) {
  SeenProblem p{j.at(0), operation_from_name(j.at(1).get<std::string>()), j.at(2), j.at(3), j.at(4),
                j.at(5)};
  if (j.size() != kBeforeAspects + p.at.size())
    throw input_error("found {} aspects, expected {}", j.size() - kBeforeAspects, p.at.size());
  for (std::size_t k = 0; k < p.at.size(); ++k) p.at[k] = j[kBeforeAspects + k];
  return p;
}

std::string line_of(const SeenTimes& t) {
  return fmt::format("[{}, {}, {}, {}, {}, {}, {}]", t.problem, t.candidate, digits(t.run),
                     digits(t.prepare), digits(t.format_bytes), digits(t.device_bytes),
                     digits(t.error));
}

SeenTimes times_from(const json& j, const Experience& seen) {
  const SeenTimes t{j.at(0), j.at(1), j.at(2), j.at(3), j.at(4), j.at(5), j.at(6)};
  if (t.problem >= seen.problems.size() || t.candidate >= seen.candidates.size() || t.run <= 0)
    throw input_error("times of a problem or a candidate that is not there, or of no seconds");
  return t;
}

/// `"member": [` and the lines with commas between them.
template <class List, class Line>
std::string listed(const char* member, const List& list, Line line) {
  std::string text;
  for (const auto& item : list)
    text += fmt::format("{}\n  {}", text.empty() ? "" : ",", line(item));
  return fmt::format("\"{}\": [{}\n]", member, text);
}

Experience from_json(const json& j) {
  if (j.at("schema") != kSchema)
    throw input_error("schema {}, expected {}", j["schema"].dump(), kSchema);
  Experience seen;
  for (const auto& d : j.at("devices")) seen.devices.push_back(device_from(d));
  for (const auto& c : j.at("candidates")) seen.candidates.push_back({c.at(0), c.at(1), c.at(2)});
  for (const auto& p : j.at("problems")) {
    seen.problems.push_back(problem_from(p));
    if (seen.problems.back().device >= seen.devices.size())
      throw input_error("a problem on a device that is not there");
  }
  for (const auto& t : j.at("times")) seen.times.push_back(times_from(t, seen));
  return seen;
}

}  // namespace

Experience Experience::parse(std::string_view text) {
  try {
    return from_json(json::parse(text));
  } catch (const json::parse_error& e) {
    throw input_error(
        "model of the planner: found text that is no JSON at byte {}, expected what 'retensor "
        "advise --train' writes",
        e.byte);
  } catch (const json::exception&) {
    throw input_error(
        "model of the planner: found JSON without the lists of a model, expected what 'retensor "
        "advise --train' writes");
  } catch (InputError& e) {
    e.add_context("model of the planner");
    throw;
  }
}

std::string Experience::text() const {
  const auto line = [](const auto& item) { return line_of(item); };
  const auto aspect = [](const char* name) { return json_text(name); };
  const auto device = [](const Device& d) { return device_json(d).dump(); };
  const auto candidate = [](const Candidate& c) {
    return fmt::format("[{}, {}, {}]", json_text(c.method), json_text(c.params), c.rounds);
  };
  return fmt::format("{{\"schema\": {},\n{},\n{},\n{},\n{},\n{}}}\n", kSchema,
                     listed("aspects", kAspectNames, aspect), listed("devices", devices, device),
                     listed("candidates", candidates, candidate),
                     listed("problems", problems, line), listed("times", times, line));
}

const Experience& Experience::built_in() {
  static const Experience seen = [] {
    std::string text;
    for (const auto* line = kModelLines; *line != nullptr; ++line) text += *line;
    return parse(text);
  }();
  return seen;
}

std::string family_of(std::string_view data) {
  std::string name(data.substr(0, data.find('@')));
  constexpr std::array kCollections = {"tca-", "dlmc-", "bcb-", "peers-"};
  for (const std::string_view collection : kCollections)
    if (name.starts_with(collection)) name.erase(0, collection.size());
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool digits = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) != 0;
  const auto end = std::find_if(name.begin(), name.end(), [digits](unsigned char c) {
    return (digits ? std::isdigit(c) : std::isalpha(c)) == 0;
  });
  name.erase(end, name.end());
  // Sizes are letters too: irrS, regM, nell2s; and so is "like" without a dash.
  for (const std::string_view suffix : {"like", "s", "m", "l"})
    if (name.size() > suffix.size() + 2 && name.ends_with(suffix)) {
      name.erase(name.size() - suffix.size());
      break;
    }
  return name;
}

}  // namespace retensor::advise
