// What `retensor cp` and `retensor tucker` share: options and files.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "common/advise/trial.hpp"
#include "common/decompose/als.hpp"
#include "common/method/registry.hpp"
#include "common/tensor/coo.hpp"
#include "common/tensor/matrix.hpp"
#include "experiments/driver/commands/options.hpp"

namespace retensor::driver {

struct SweepLimits {
  int max_sweeps;
  double tolerance;
  std::uint64_t seed;
};

/// --starts, --method, --params, --max-sweeps, --tolerance, --seed, --output, --json and the
/// locations; `method` is what the help says about --method.
void add_decomposition_options(Options& add, const char* method, const SweepLimits& standard);
/// Throws InputError for no sweep, and for a tolerance that is negative or no number.
SweepLimits limits_of(const Given& given);
/// --starts; throws InputError for none, and for several of a law that does not depend on the seed.
int starts_of(const Given& given, cpd::Start law);
/// A table of starts: its head and a start's columns, to which commands add their own.
std::string starts_head();
std::string start_columns(int number, std::uint64_t seed, std::size_t sweeps, double fit,
                          const char* stopped_by);
/// The line below the table.
std::string best_line(int number, double fit);
/// --solve, which each command describes itself; throws InputError for another word.
cpd::Place solve_of(const Given& given);
/// --type, which each command describes itself; none where it was not given.
std::optional<DType> type_of(const Given& given);
/// The tensor of the positional argument, whose values a file by its path has in the type; data
/// sets of the registry are kept in single precision. Says on stderr where the model, which is
/// derived from its values, may not be passed on. Throws InputError where it has no nonzero.
std::shared_ptr<const Coo> tensor_of(const Given& given, std::optional<DType> type);

/// A file that can be written at `path`, else an InputError that names the option: said before a
/// long run, whose result would be lost.
void expect_writable(const std::string& option, const std::filesystem::path& path);
/// Makes the folder of --output, where one is asked for. Throws InputError where no file can be
/// written there.
void make_output(const Given& given);
/// Removes files of an older model that would pass for parts of one with `order` factors:
/// `foreign`, and further factors.
void remove_older_model(const std::filesystem::path& folder, std::size_t order,
                        const char* foreign);

/// The name of a factor's text file.
std::string factor_file(std::size_t mode);

/// The line that names the folder of --output; none without one.
std::string written(const std::string& output);

/// A method of a registry, which lives longer.
std::shared_ptr<const Method> of_registry(const Method& method);

struct TakenMethod {
  std::shared_ptr<const Method> method = nullptr;
  std::map<std::string, ParamValue> params = {};
  std::string note = {};  ///< on the choice; empty where the user named the method
  /// The method where the planner takes it.
  std::shared_ptr<const advise::Planned> planned = nullptr;
  /// Why this method; of the planner's choice once it has been prepared.
  std::string why() const;
  /// Seconds that the first preparation spent on other methods and on runs of a trial.
  double trial_beside_winner() const;
};
/// --method with --params, or what the planner takes for `calls` runs of the operation on the
/// tensor of those that are allowed: where --method is auto or not given. The registry lives as
/// long. Throws InputError where no method takes it.
TakenMethod taken_method(const Given& given, const Registry& registry, const ProblemSpec& spec,
                         std::shared_ptr<const Coo> tensor, double calls,
                         const advise::Allowed& allowed = {});
/// The fit of a run on stderr: redrawn after every sweep on a terminal, elsewhere a line a second
/// at most, so that a short run prints none.
class FitProgress {
 public:
  FitProgress(bool quiet, std::string run, std::size_t max_sweeps);
  ~FitProgress();
  FitProgress(const FitProgress&) = delete;
  FitProgress& operator=(const FitProgress&) = delete;
  void show(const std::vector<double>& fit);

 private:
  const bool quiet_, redraws_;
  const std::string run_;
  const std::size_t max_sweeps_;
  std::chrono::steady_clock::time_point shown_ = std::chrono::steady_clock::now();
};

/// A line of numbers with blanks between them per row, as numpy.loadtxt reads them; with as many
/// digits as tell values of the type apart.
void write_text(const std::filesystem::path& path, const Matrix& matrix);
/// A number a line.
void write_text(const std::filesystem::path& path, const std::vector<double>& numbers);

/// The components in the order of their weights, the largest first.
KruskalModel by_weight(const KruskalModel& model);
/// The model as one .npz file.
void write_arrays(const std::filesystem::path& path, const KruskalModel& model);
/// The same and text files in the folder of --output.
void write_model(const std::filesystem::path& folder, const KruskalModel& model);

}  // namespace retensor::driver
