#include "experiments/driver/run/experience.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "experiments/driver/run/results.hpp"
#include "experiments/driver/spec/case.hpp"

namespace retensor::driver {
namespace {

using nlohmann::json;

/// Bits of an operand below which it counts as rounded: two halves hold 22 of an f32's 24.
constexpr double kRounds = 1e-6;

/// A number that `executed` tells, as text; 0 where it tells none.
double told_in(const Row& row, const char* path) {
  const auto& told = row.field(path);
  return told.is_string() ? std::stod(told.get<std::string>()) : 0;
}

/// Whether blocks have edge 8 in all modes: "8x8x8".
bool has_edges_of_eight(const Row& row) {
  const auto& edges = row.field("executed.x_edges");
  if (!edges.is_string()) return false;
  const auto& words = edges.get_ref<const std::string&>();
  return words.find_first_not_of("8x") == std::string::npos && words.find("88") == words.npos;
}

/// What methods count of a contraction while they prepare, on whatever machine: nonzeros of the
/// result; pairs of blocks, which tell their edges where they are those of tensors.
struct Counts {
  double entries = 0;
  advise::TilePairs tiles;
};

void take_counts(Counts& counts, const Row& row) {
  const auto keep = [](double& kept, double found) { kept = std::max(kept, found); };
  keep(counts.entries, told_in(row, "executed.result_nonzeros"));
  keep(counts.tiles.of_tensors, told_in(row, "executed.pairs_of_blocks"));
  const double pairs = told_in(row, "executed.pairs");
  if (has_edges_of_eight(row))
    keep(counts.tiles.of_tensors, pairs);
  else if (row.field("executed.x_edges").is_null())
    keep(counts.tiles.of_matrices, pairs);
}

struct DeviceKey {
  std::string name;
  Backend backend;
  int cores;
  auto operator<=>(const DeviceKey&) const = default;
};

/// Of a processor with the cores that the run took: sixteen of it are what a machine with no more
/// has.
DeviceKey device_of(const Row& row) {
  DeviceKey device{row.device(), row.backend(), 0};
  if (device.backend != Backend::cpu) return device;
  device.name = row.session().processor();
  device.cores = static_cast<int>(
      std::max(told_in(row, "executed.threads"), told_in(row, "executed.mttkrp_threads")));
  if (device.cores == 0) device.cores = static_cast<int>(row.number("machine.cpu.cores"));
  return device;
}

struct ProblemKey {
  DeviceKey device;
  Operation operation;
  std::string data;
  auto operator<=>(const ProblemKey&) const = default;
};

/// What tells the problems of an operation apart, for people too: "wordnet mode 0 rank 16".
std::string data_words(const Case& c, const Row& row) {
  const auto& row_case = row.row_case();
  auto words = c.dataset;
  if (!c.problem.variant.empty()) words += " " + c.problem.variant;
  for (const char* member : {"mode", "rank", "rank2"})
    if (!row_case[member].is_null())
      words += fmt::format(" {} {}", member, row_case[member].dump());
  // A decomposition takes as long as its sweeps: one of 20 is no measurement of one of 50.
  if (c.problem.operation == Operation::cpd)
    words += fmt::format(" sweeps {} tolerance {:g}", c.problem.max_sweeps, c.problem.tolerance);
  // What finds a factor of HOOI takes its TTM-chain and eigenvectors: no chain alone does that.
  if (c.problem.operation == Operation::ttm_chain && !row.field("executed.vectors").is_null())
    words += " factor of HOOI";
  for (const char* member : {"dtype", "values"})
    if (const auto word = row_case[member].get<std::string>(); word != "f32" && word != "stored")
      words += " " + word;
  return words;
}

/// The parameters that differ from today's defaults but for the threads, which the device tells;
/// none where the method has others, or where one has words in it.
std::optional<advise::Candidate> candidate_of(const Case& c, const Registry& methods) {
  try {
    const auto& method = methods.find(c.method);
    const auto params = method.params().resolve(c.params);
    const auto standard = method.params().resolve({});
    advise::Candidate candidate{std::string(method.id()), ""};
    for (const auto& [name, value] : params.all()) {
      if (name == "threads" || value == standard.all().find(name)->second) continue;
      if (text(value).find(' ') != std::string::npos) return std::nullopt;  // no text holds it
      candidate.params +=
          fmt::format("{}{}={}", candidate.params.empty() ? "" : " ", name, text(value));
    }
    return candidate;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// All that the rows of a candidate on a problem tell, measured of one code.
struct Samples {
  std::string newest;  ///< when the last of them was measured
  std::vector<double> run, format_bytes, device_bytes, error;
  std::vector<double> once;  ///< preparations of rows that have one, which may have loaded kernels
  std::vector<double> several;  ///< of rows that have several

  void take(const Row& row) {
    newest = std::max(newest, row.finished());
    run.push_back(row.number("stats.median"));
    format_bytes.push_back(row.number("footprint.format_bytes"));
    device_bytes.push_back(row.number("footprint.device_bytes"));
    error.push_back(row.number("check.relative_frobenius"));
    if (const auto& all = row.field("phases.preparations"); all.is_array())
      several.insert(several.end(), all.begin(), all.end());
    else
      once.push_back(row.number("phases.prepare"));
  }
};

/// By the hash of the code that a row was measured of.
using SamplesByCode = std::map<std::string, Samples>;

/// Of the newest code that `counts`; null where none does.
template <class Counts>
const Samples* newest_of(const SamplesByCode& all, Counts counts) {
  const Samples* newest = nullptr;
  for (const auto& [code, samples] : all)
    if (counts(samples) && (newest == nullptr || newest->newest < samples.newest))
      newest = &samples;
  return newest;
}

/// Seconds to prepare: a row with one preparation says next to nothing beside one with several, of
/// whatever code.
double prepare_of(const SamplesByCode& all) {
  if (const auto* best = newest_of(all, [](const Samples& of) { return !of.several.empty(); }))
    return middle_of(best->several);
  return middle_of(newest_of(all, [](const Samples&) { return true; })->once);
}

struct Problems {
  advise::Subject subject;
  std::string family;
  bool is_real = false;
  std::map<advise::Candidate, SamplesByCode> samples;
};

struct Ceilings {
  std::vector<double> gbytes, gflops;
  Count cache_bytes = 0;
};

class Gatherer {
 public:
  explicit Gatherer(const Registry& methods) : methods_(methods) {}

  void take(const Row& row) {
    const auto facts = row.field("facts");
    if (!row.ok() || !row.is_own() || !facts.contains("fibers") || row.number("stats.median") <= 0)
      return;
    const auto c = case_from_json(row.row_case());
    if (methods_.form(c.method).emulates) return;
    auto candidate = candidate_of(c, methods_);
    if (!candidate) return;
    candidate->rounds = rounds(c, row);
    const auto device = device_of(row);
    note_ceilings(device, row);
    const auto data = data_words(c, row);
    auto& problem = problems_[{device, c.problem.operation, data}];
    if (problem.samples.empty()) describe(problem, c, row);
    if (c.problem.operation == Operation::contraction) take_counts(counts_[data], row);
    problem.samples[*candidate][row.field("source_hash").get<std::string>()].take(row);
  }

  advise::Experience finish() const {
    advise::Experience seen;
    std::map<DeviceKey, std::size_t> devices;
    for (const auto& [key, ceilings] : devices_) {
      devices[key] = seen.devices.size();
      seen.devices.push_back(with_ceilings(key, ceilings));
    }
    std::map<advise::Candidate, std::size_t> candidates;
    for (const auto& [key, problem] : problems_)
      for (const auto& [candidate, samples] : problem.samples) candidates[candidate] = 0;
    for (auto& [candidate, number] : candidates) {
      number = seen.candidates.size();
      seen.candidates.push_back(candidate);
    }
    for (const auto& [key, problem] : problems_) {
      auto s = problem.subject;
      if (const auto counts = counts_.find(key.data); counts != counts_.end()) {
        s.entries = counts->second.entries;
        s.tiles = counts->second.tiles;
      }
      const auto device = devices.at(key.device);
      const double bytes =
          static_cast<double>(s.nnz * (s.dims.size() * sizeof(Index) + size_of(s.spec.dtype)));
      for (const auto& [candidate, samples] : problem.samples) {
        // A kernel that was rewritten says nothing of the one in its place.
        const auto& m = *newest_of(samples, [](const Samples&) { return true; });
        seen.times.push_back({seen.problems.size(), candidates.at(candidate), middle_of(m.run),
                              prepare_of(samples), middle_of(m.format_bytes),
                              middle_of(m.device_bytes), middle_of(m.error)});
      }
      seen.problems.push_back({device, key.operation, key.data, problem.family, problem.is_real,
                               bytes, aspects_of(s, seen.devices[device])});
    }
    return seen;
  }

 private:
  static advise::Device with_ceilings(const DeviceKey& key, const Ceilings& ceilings) {
    return {key.name,
            key.backend,
            key.cores,
            ceilings.gbytes.empty() ? 10 : middle_of(ceilings.gbytes),
            ceilings.gflops.empty() ? 100 : middle_of(ceilings.gflops),
            ceilings.cache_bytes};
  }

  void note_ceilings(const DeviceKey& device, const Row& row) {
    auto& ceilings = devices_[device];
    if (const auto gbytes = row.number("roofline.gbytes"); gbytes > 0)
      ceilings.gbytes.push_back(gbytes);
    if (const auto gflops = row.number("ceilings.peak_f32"); gflops > 0)
      ceilings.gflops.push_back(gflops);
    const char* cache =
        row.backend() == Backend::cuda ? "machine.gpu.l2_bytes" : "machine.cpu.llc_bytes";
    ceilings.cache_bytes = std::max(ceilings.cache_bytes, static_cast<Count>(row.number(cache)));
  }

  static void describe(Problems& problem, const Case& c, const Row& row) {
    auto& s = problem.subject;
    const auto& data = row.row_case().at("data");
    s.spec = c.problem;
    s.has_mode = c.has_mode;
    s.dims = data.at("dims").get<Dims>();
    s.nnz = data.at("nnz");
    s.work = {row.number("work.flops"), row.number("work.bytes"),
              row.number("work.compulsory_bytes"), row.number("work.atomics")};
    advise::take_facts(s, row.field("facts"));
    problem.family = advise::family_of(data.value("for", c.dataset));
    problem.is_real = data.value("kind", "").starts_with("real");
  }

  bool rounds(const Case& c, const Row& row) const {
    const auto& method = methods_.find(c.method);
    const auto dims = row.row_case().at("data").at("dims").get<Dims>();
    const auto problem = Problem::outline(c.problem, std::make_shared<const Coo>(dims, DType::f32));
    return method.precision(problem, method.params().resolve(c.params)).operand_eps > kRounds;
  }

  const Registry& methods_;
  std::map<DeviceKey, Ceilings> devices_;
  std::map<ProblemKey, Problems> problems_;
  std::map<std::string, Counts> counts_;  ///< of contractions, by the words for their data
};

}  // namespace

advise::Experience experience_of(const std::vector<std::string>& files, const Registry& methods) {
  Gatherer gatherer(methods);
  const Members kept = {"stats.median",
                        "phases.prepare",
                        "phases.preparations",
                        "facts",
                        "work",
                        "footprint",
                        "check.relative_frobenius",
                        "executed.result_nonzeros",
                        "executed.pairs_of_blocks",
                        "executed.pairs",
                        "executed.x_edges",
                        "executed.vectors",
                        "executed.threads",
                        "executed.mttkrp_threads"};
  for_each_newest_row(files, kept, [&](const Row& row) { gatherer.take(row); });
  return gatherer.finish();
}

}  // namespace retensor::driver
