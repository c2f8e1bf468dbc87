// Reading result files (experiments/schema): the one place that knows how a line looks and how a
// file ends that a death of its writer has torn.
#pragma once

#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "experiments/driver/run/row.hpp"

namespace retensor::driver {

inline constexpr int kSchema = 1;  ///< of result files; a reader refuses a newer one

/// How the end of a file looks.
struct FileEnd {
  std::size_t whole = 0;       ///< bytes of whole lines
  std::size_t torn = 0;        ///< bytes of a half-written last line
  bool lacks_newline = false;  ///< the last whole line lacks its end
};

/// Calls `take` with every whole line in order. Throws InputError for a newer schema and for damage
/// before the last line, SystemError when the file can't be read.
FileEnd for_each_line(const std::string& path,
                      const std::function<void(const nlohmann::json&)>& take);
/// The same of an open file; `path` is its name in messages.
FileEnd for_each_line(std::istream& in, const std::string& path,
                      const std::function<void(const nlohmann::json&)>& take);

/// The member as text, empty when it is missing or something else: files may come from others.
std::string text_of(const nlohmann::json& line, const char* member);
/// The member at a dotted path; null where there is none.
const nlohmann::json& field(const nlohmann::json& object, std::string_view path);
/// The same as a number; 0 where it is none.
double number_at(const nlohmann::json& object, std::string_view path);
/// The texts of a member that is a list; none where it is no list.
std::vector<std::string> texts_at(const nlohmann::json& object, const char* member);
/// The numbers of a list; none where it is no list or holds anything else.
std::vector<double> numbers_in(const nlohmann::json& list);

/// Of an even number the mean of the two in the middle; 0 of none.
double middle_of(std::vector<double> numbers);

/// What result files hold.
struct Results {
  std::map<std::string, std::shared_ptr<const Session>> sessions;  ///< by id
  /// The newest row of every case and model or machine, as they stand in the files, with `file` and
  /// `line`. Of two in one file the later line is the newer one, whatever the clock said; of two
  /// files the row that finished later, and of equals that of the file named later.
  std::vector<Row> rows;
  std::vector<std::string> warnings;  ///< of what was left out: torn lines, kinds unknown here
};

/// Dotted paths of what is kept of each row beside its identity and how it ended; none: everything.
/// Rows of a large file take several times its bytes in memory, most of it for what few readers
/// ask.
using Members = std::vector<std::string>;

/// Which rows of a case stand side by side: those of each model, of which the newest counts, or of
/// each machine. A row that does not tell its machine gives way to a newer one of its model, a
/// stale row to a newer one that is not, and any row to an ok one that `run --rerun` put into its
/// file. What confirmed rows of another machine is no result.
enum class Machines { of_a_model, each };

/// A model of which several machines stand side by side in an artifact: each has measured the same
/// cases, or `run --each-machine` has measured one of them again.
struct SharedModel {
  std::string artifact, device;
  auto operator<=>(const SharedModel&) const = default;
};
std::set<SharedModel> shared_models(const std::vector<Row>& rows);
/// Name of a machine: its model, of a shared one with the fingerprint behind it.
std::string machine_label(const std::string& device, const std::string& machine, bool shared);

/// Throws as for_each_line does, and InputError for a row without key, case or a known status.
Results read_results(const std::vector<std::string>& paths, const Members& kept = {},
                     Machines machines = Machines::of_a_model);
/// The id of the last session line of a file, empty without one.
std::string newest_session(const std::string& path);
/// On standard error, for readers whose output has no place for them.
void tell_warnings(const std::vector<std::string>& warnings);
/// The rows alone, by key and model; warnings go to standard error.
std::vector<Row> newest_rows(const std::vector<std::string>& paths, const Members& kept = {});
/// The rows of newest_rows in its order, each only while `take` looks at it: what is kept of the
/// others lies packed, in about a tenth of the bytes of a Row. Counters of earlier rows of a case
/// do not come along. Warnings go to standard error.
void for_each_newest_row(const std::vector<std::string>& paths, const Members& kept,
                         const std::function<void(const Row&)>& take,
                         Machines machines = Machines::of_a_model);

}  // namespace retensor::driver
