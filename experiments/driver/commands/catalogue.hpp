// What several commands list: specs and result files of the tree, data sets of a registry.
#pragma once

#include <string>
#include <vector>

#include "common/core/types.hpp"
#include "common/tensor/coo.hpp"
#include "experiments/driver/commands/options.hpp"
#include "experiments/driver/data/datasets.hpp"
#include "experiments/driver/judge/calibration.hpp"
#include "experiments/driver/run/table.hpp"
#include "experiments/driver/spec/spec.hpp"

namespace retensor::driver {

/// Specs below experiments/ by path, fragments for inclusion left out; with a profile only those
/// that belong to it. Paths are relative to the working directory where they lie below it.
std::vector<Spec> all_specs(const std::string& profile);
/// Result files (.jsonl) of this tree: reference results, then what was measured below out/ of the
/// working directory; sorted.
std::vector<std::string> result_files();
/// The first of these alone, on which verdicts stand: they are the same on every machine.
std::vector<std::string> committed_results();
/// Those named, of a folder all below it, by default all of this tree; throws InputError where
/// there are none.
std::vector<std::string> required_results(std::vector<std::string> named);
/// The files `kind`.yaml (claims, findings) of the papers named, of all that have one by default,
/// relative to the working directory where they lie below it; `retensor` names those of the project
/// about itself (experiments/`kind`.yaml), which are in no default. Throws InputError for a paper
/// without one.
std::vector<std::string> files_of_papers(const std::string& kind,
                                         const std::vector<std::string>& papers);
/// The methods of the registry in its order, as `list methods --json` prints them: id, summary,
/// backend, operations, problems, runs_here, obstacle, converts_least, params.
nlohmann::json methods();
/// The same as a table.
std::string methods_text(const nlohmann::json& methods);
/// The data sets of the registry, as `list datasets --json` prints them: name, kind, form, nnz,
/// dims, state, obstacle, and of a stand-in `for`.
nlohmann::json datasets_json(const DatasetRegistry& datasets, const std::string& cache_dir);
/// The same as a table.
std::string datasets_text(const nlohmann::json& datasets);

/// Papers with a file `kind`.yaml (claims, findings).
std::vector<std::string> papers_with(const std::string& kind);

/// Verdicts on the claims of papers (all when none is named) by the rows of result files and the
/// facts of the registry's data sets that can be had with this cache folder, as `verdict --json`
/// prints them.
nlohmann::json verdicts(const std::vector<std::string>& papers,
                        const std::vector<std::string>& files, const Locations& at,
                        const std::vector<Calibration>& calibrations);

/// What `retensor rows` prints of result files (experiments/schema).
std::string rows_text(const std::vector<std::string>& files);

/// Tables and figures of the papers in their order, then the other artifacts of specs, as
/// `list artifacts --json` prints them (experiments/schema). With a profile the specs and cases of
/// it alone. Throws ParseError for an artifact of a paper whose spec is not there.
nlohmann::json artifacts(const std::string& profile, const std::vector<std::string>& files,
                         const Locations& at);
/// The same as a table.
std::string artifacts_text(const nlohmann::json& artifacts);

/// calibration.json of the folders of reference results and of out/results.
std::vector<Calibration> known_calibrations();
/// The files of --calibration, then known_calibrations().
std::vector<Calibration> calibrations_of(const Given& given);

/// The audits of papers (all with findings when none is named), as `audit --json` prints them.
nlohmann::json audits(const std::vector<std::string>& papers);

/// Throws InputError for --mode, --rank or --variant where the operation has none.
void refuse_options_of_others(Operation operation, const Given& given);

void add_convert_options(Options& add);
/// Writes INPUT as OUTPUT in the format that --to or the ending names, reads it back and compares.
int convert_dataset(const std::string& input, const std::string& output, const Given& given);

void add_fetch_options(Options& add);
/// Fetches the data sets named, or those that --paper needs: sizes and disk space first, then file
/// by file. One that fails does not stop the others; returns the worst exit code.
int fetch_datasets(const Args& names, const DatasetRegistry& datasets, const Given& given);

/// What the formats are made with.
struct LayoutChoice {
  int block_bits = 7;
  std::vector<int> plain;  ///< modes that gHiCOO leaves in coordinates; none: no gHiCOO
  std::vector<int> dense;  ///< modes that sCOO and sHiCOO store dense; none: neither
};

struct Layout {
  std::string format;
  Count bytes = 0;
  /// A column an array, below its name (i or bi, ei, ... of a mode, bptr, value or values); a line
  /// an entry, or a fiber with dense modes; block pointers and indices where a block begins.
  std::vector<TableRow> rows;
};

/// A layout is to be read; larger tensors only fill the screen.
inline constexpr Count kMostInLayout = 1000;

/// COO, HiCOO and what else the choice asks for.
std::vector<Layout> layouts_of(const Coo& tensor, const LayoutChoice& choice);

/// "bptr 0 3; bi 0 1; ei 0 0 1; value 1 2 3".
std::string arrays_text(const Layout& layout);

}  // namespace retensor::driver
