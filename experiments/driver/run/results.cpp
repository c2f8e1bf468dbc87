// Result files as their readers see them; Store adds the lock and the repair.
#include "experiments/driver/run/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/core/message.hpp"
#include "common/core/text.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

constexpr int kDeepest = 32;  // levels of lists and objects; a row has 6

/// Discarded where the text is no JSON, or deeper than any line of this program.
json parse_line(const std::string& text) {
  bool deep = false;
  auto line = json::parse(
      text,
      [&](int depth, json::parse_event_t, json&) { return !(deep = deep || depth > kDeepest); },
      false);
  return deep ? json(json::value_t::discarded) : line;
}

/// Whether a death of the writer may have left the last line like this: a kill leaves a beginning
/// without newline, a power cut also zeros for what had not reached the disk.
bool is_torn(const std::string& text, bool ended) {
  if (text.find('\0') != text.npos) return true;
  return !ended && !text.empty() && text.front() == '{';
}

std::ifstream opened(const std::string& path) {
  std::error_code error;
  const bool is_there = std::filesystem::exists(path, error);
  if (error == std::errc::filename_too_long) throw InputError(path + ": " + error.message());
  if (!is_there && !error) throw input_error("{}: there is no such file", path);
  if (is_there && !std::filesystem::is_regular_file(path, error))
    throw InputError(path + ": not a regular file");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw system_error("{}: can't be read: {}", path, std::strerror(errno));
  return in;
}

void check_line(const json& line, const std::string& path, std::uint64_t number) {
  if (!line.is_object() || !line.contains("kind") || !line.contains("schema") ||
      !line["schema"].is_number_integer())
    throw ParseError({path, number}, "JSON without kind and schema", "a line of a result file");
  if (line["schema"] > kSchema)
    throw input_error(
        "{}:{}: schema {} is newer than this program's {}; use a newer "
        "retensor or another file",
        path, number, line["schema"].get<std::int64_t>(), kSchema);
}

json::json_pointer pointer_to(const std::string& path) {
  return json::json_pointer("/" + boost::replace_all_copy(path, ".", "/"));
}

/// A row with these members alone.
json part_of(const json& row, const Members& kept) {
  static const Members identity = {"kind",        "session",   "key",        "case",   "code",
                                   "file",        "line",      "finished",   "status", "reason",
                                   "source_hash", "host_hash", "kernel_hash"};
  json part;
  for (const auto* paths : {&identity, &kept})
    for (const auto& path : *paths)
      if (const auto& member = field(row, path); !member.is_null()) part[pointer_to(path)] = member;
  return part;
}

json packed(const json& row) {
  auto bytes = json::to_cbor(row);
  bytes.shrink_to_fit();
  return json::binary(std::move(bytes));
}

/// The lines of result files by what they tell.
struct Lines {
  Lines(const std::vector<std::string>& paths, const Members& members) : kept(members) {
    for (const auto& path : paths) read(path);
  }

  struct FoundRow {
    json line;         ///< where members were chosen packed, as binary CBOR
    std::size_t file;  ///< in the order of reading
    std::string where;
  };
  const Members& kept;                                       ///< of rows
  std::map<std::string, std::shared_ptr<Session>> sessions;  ///< by id
  Confirmations confirmations;
  std::vector<FoundRow> rows;
  std::vector<std::string> warnings;
  std::size_t files = 0;

  void read(const std::string& path);
  /// Returns the line's session.
  std::shared_ptr<Session> take(json line, const std::string& where);
  /// Takes the line away where it is not packed.
  Row row(std::size_t place);
};

/// `retensor confirm` measures rows again without ceilings: a session without any takes those of
/// the session before it in its file that was on such a machine.
void lend_ceilings(const std::vector<std::shared_ptr<Session>>& of_file) {
  std::map<std::string, json> latest;
  for (const auto& session : of_file)
    for (const auto backend : {Backend::cpu, Backend::cuda}) {
      const auto& threads = field(session->line, "machine.cpu.threads_used");
      const auto machine = fmt::format("{} {} {}", name(backend), session->device(backend),
                                       backend == Backend::cpu ? threads.dump() : "");
      if (const auto own = session->ceilings.find(backend); own != session->ceilings.end()) {
        latest[machine] = own->second;
      } else if (const auto lent = latest.find(machine); lent != latest.end()) {
        session->ceilings[backend] = lent->second;
        session->ceilings[backend]["session"] = text_of(session->line, "session");
      }
    }
}

void Lines::read(const std::string& path) {
  const auto file = std::filesystem::path(path).filename().string();
  std::vector<std::shared_ptr<Session>> of_file;
  std::uint64_t number = 0;
  const auto end = for_each_line(path, [&](json line) {
    line["file"] = file;
    line["line"] = ++number;
    auto session = take(std::move(line), fmt::format("{}:{}", path, number));
    if (std::ranges::find(of_file, session) == of_file.end()) of_file.push_back(std::move(session));
  });
  lend_ceilings(of_file);
  ++files;
  if (end.torn > 0)
    warnings.push_back(
        fmt::format("{}:{}: the last line is torn and was left out", path, number + 1));
}

std::shared_ptr<Session> Lines::take(json line, const std::string& where) {
  const auto kind = text_of(line, "kind"), id = text_of(line, "session");
  if (id.empty()) throw InputError(where + ": found a line without a session");
  auto& session = sessions[id];
  if (!session) session = std::make_shared<Session>();
  if (kind == "session")
    session->line = std::move(line);
  else if (kind == "ceilings")
    session->take_ceilings(std::move(line));
  else if (kind == "confirmation")
    confirmations.take(line, session->devices());
  else if (kind == "row")
    rows.push_back({kept.empty() ? std::move(line) : packed(part_of(line, kept)), files, where});
  else
    warnings.push_back(fmt::format("{}: a line of kind '{}' was left out", where, kind));
  return session;
}

Row Lines::row(std::size_t place) {
  auto& [line, file, where] = rows[place];
  auto whole = line.is_binary() ? json::from_cbor(line.get_binary()) : std::move(line);
  const auto& session = sessions.at(text_of(whole, "session"));
  return in_context(where, [&] { return Row(std::move(whole), session, confirmations); });
}

/// Whether the command line of its session has this option.
bool was_asked(const Row& row, std::string_view option) {
  const auto words = texts_at(row.session().line, "argv");
  return std::ranges::find(words, option) != words.end();
}

/// Whether `run --rerun` measured it in place of the row that its file had of any machine. A run
/// that failed tells nothing of what another machine measured.
bool replaced_any(const Row& row) {
  return row.status() == Status::ok && was_asked(row, "--rerun") &&
         !was_asked(row, "--each-machine");
}

/// A row and where it was found.
struct Candidate {
  std::optional<Row> row;
  std::size_t file, place;
  std::string finished = row->finished();
  std::string machine = row->machine();
  bool ok = row->ok(), stale = row->is_stale(), unknown_machine = machine.empty();
  bool again = replaced_any(*row);
};

/// Of one case on one machine in two files.
bool finished_later(const Candidate& later, const Candidate& known) {
  return std::tie(known.finished, known.file, known.place) <
         std::tie(later.finished, later.file, later.place);
}

/// Of one case on two machines: what failed on one tells nothing of an ok row of another.
bool speaks_before(const Candidate& one, const Candidate& other) {
  return one.ok != other.ok ? one.ok : finished_later(one, other);
}

/// Of the last rows of a case on two machines of a model.
bool replaces(const Candidate& later, const Candidate& known) {
  const bool elsewhere =
      !later.unknown_machine && !known.unknown_machine && later.machine != known.machine;
  if (elsewhere && later.ok != known.ok) return later.ok;
  return later.file == known.file ? later.place > known.place : finished_later(later, known);
}

/// The same case measured on two machines is two results, and so is that of another code.
std::string identity(const Row& row) {
  return row.key() + '\n' + row.device() + '\n' + text_of(row.line(), "code") + '\n' +
         row.machine();
}

/// What the identities of a case on machines of a model share.
std::string without_machine(const std::string& identity) {
  return identity.substr(0, identity.rfind('\n') + 1);
}

using Newest = std::map<std::string, Candidate>;  ///< by identity

/// Whether a row of one machine steps back behind one of another machine of its model.
bool gives_way(const Candidate& row, const Candidate& other) {
  return replaces(other, row) && (row.unknown_machine || (row.stale && !other.stale) ||
                                  (other.again && row.file == other.file));
}

void drop_what_gives_way(Newest& newest) {
  for (auto first = newest.begin(); first != newest.end();) {
    const auto shared = without_machine(first->first);
    const auto last = std::find_if(
        first, newest.end(), [&](const auto& found) { return !found.first.starts_with(shared); });
    std::vector<Newest::iterator> dropped;
    for (auto at = first; at != last; ++at)
      if (std::any_of(first, last,
                      [&](const auto& other) { return gives_way(at->second, other.second); }))
        dropped.push_back(at);
    for (const auto at : dropped) newest.erase(at);
    first = last;
  }
}

/// Whether a row is the sample by which rows of another machine of its model were confirmed: it
/// says that they hold, and is no result of its own. `measured_on` has the machine of the last
/// result of each case, by identity.
bool confirms_elsewhere(const Row& row, const Confirmations& confirmations,
                        std::map<std::string, std::string>& measured_on) {
  auto& machine = measured_on[without_machine(identity(row))];
  const auto& argv = field(row.session().line, "argv");
  if (!machine.empty() && machine != row.machine() && argv.size() > 1 && argv[1] == "confirm" &&
      confirmations.cover(row.key(), stated_code(row.line()), row.device()))
    return true;
  machine = row.machine();
  return false;
}

/// Puts newer candidates in the place of older ones.
class NewestRows {
 public:
  explicit NewestRows(const Confirmations& confirmations) : confirmations_(confirmations) {}

  /// A row, or where it is: of one machine in one file the last line counts, whatever the clock
  /// said; of files and machines what finished last.
  void take(std::string id, Candidate found) {
    if (found.file != file_) end_file();
    file_ = found.file;
    place(of_file_, std::move(id), std::move(found), [](const auto&, const auto&) { return true; });
  }

  /// By identity.
  Newest taken(Machines machines) {
    end_file();
    if (machines == Machines::each) return std::move(newest_);
    Newest of_models;
    for (auto& [id, found] : newest_)
      place(of_models, without_machine(id), std::move(found), speaks_before);
    return of_models;
  }

 private:
  void end_file() {
    for (auto& [id, found] : of_file_) place(newest_, id, std::move(found), finished_later);
    of_file_.clear();
  }

  template <class Replaces>
  void place(Newest& among, std::string id, Candidate found, const Replaces& replaces_known) {
    auto [known, fresh] = among.try_emplace(std::move(id), std::move(found));
    if (fresh || !replaces_known(found, known->second)) return;
    // What `retensor confirm` measured again for its time has the counters of the row it confirmed.
    if (found.row &&
        confirmations_.cover(found.row->key(), stated_code(found.row->line()), found.row->device()))
      found.row->keep_counters(*known->second.row);
    known->second = std::move(found);
  }

  const Confirmations& confirmations_;
  Newest of_file_, newest_;
  std::size_t file_ = 0;
};

/// The newest row of each case; without `rows` only where it is.
Newest newest_of(Lines& lines, Machines machines, bool rows) {
  NewestRows newest(lines.confirmations);
  std::map<std::string, std::string> measured_on;
  for (std::size_t place = 0; place < lines.rows.size(); ++place) {
    Candidate found{lines.row(place), lines.rows[place].file, place};
    if (confirms_elsewhere(*found.row, lines.confirmations, measured_on)) continue;
    auto id = identity(*found.row);
    if (!rows) found.row.reset();
    newest.take(std::move(id), std::move(found));
  }
  auto taken = newest.taken(machines);
  if (machines == Machines::each) drop_what_gives_way(taken);
  return taken;
}

}  // namespace

FileEnd for_each_line(const std::string& path, const std::function<void(const json&)>& take) {
  auto in = opened(path);
  return for_each_line(in, path, take);
}

FileEnd for_each_line(std::istream& in, const std::string& path,
                      const std::function<void(const json&)>& take) {
  FileEnd end;
  std::uint64_t number = 0;
  for (std::string text; std::getline(in, text);) {
    ++number;
    const bool ended = !in.eof();
    const auto bytes = text.size() + (ended ? 1 : 0);
    const auto line = parse_line(text);
    if (line.is_discarded()) {
      // Other damage is for the user to look at.
      const bool last = !ended || in.peek() == std::istream::traits_type::eof();
      if (!last || !is_torn(text, ended))
        throw ParseError({path, number}, fmt::format("'{}'", printable(text.substr(0, 40))),
                         "a line of a result file (JSON); to go on without it, keep a copy of the "
                         "file and remove the line");
      end.torn = bytes;
      break;
    }
    check_line(line, path, number);
    take(line);
    end.whole += bytes;
    end.lacks_newline = !ended;
  }
  if (in.bad()) throw SystemError(path + ": reading failed");
  return end;
}

std::string text_of(const json& line, const char* member) {
  const auto found = line.find(member);
  return found != line.end() && found->is_string() ? found->get<std::string>() : "";
}

const json& field(const json& object, std::string_view path) {
  static const json none;
  const json* at = &object;
  while (at->is_object()) {
    const auto dot = path.find('.');
    const auto found = at->find(path.substr(0, dot));
    if (found == at->end()) return none;
    if (dot == path.npos) return *found;
    at = &*found;
    path.remove_prefix(dot + 1);
  }
  return none;
}

double number_at(const json& object, std::string_view path) {
  const auto& value = field(object, path);
  return value.is_number() ? value.get<double>() : 0;
}

std::vector<std::string> texts_at(const json& object, const char* member) {
  std::vector<std::string> texts;
  const auto found = object.find(member);
  if (found == object.end() || !found->is_array()) return texts;
  for (const auto& text : *found)
    if (text.is_string()) texts.push_back(text);
  return texts;
}

std::vector<double> numbers_in(const json& list) {
  const auto is_number = [](const json& item) { return item.is_number(); };
  const bool plain = list.is_array() && std::all_of(list.begin(), list.end(), is_number);
  return plain ? list.get<std::vector<double>>() : std::vector<double>();
}

double middle_of(std::vector<double> numbers) {
  if (numbers.empty()) return 0;
  std::ranges::sort(numbers);
  return (numbers[(numbers.size() - 1) / 2] + numbers[numbers.size() / 2]) / 2;
}

Results read_results(const std::vector<std::string>& paths, const Members& kept,
                     Machines machines) {
  Lines lines(paths, kept);
  std::vector<Candidate> chosen;
  for (auto& [id, of_case] : newest_of(lines, machines, true)) chosen.push_back(std::move(of_case));
  std::ranges::sort(chosen, [](const auto& a, const auto& b) { return a.place < b.place; });
  Results results{{lines.sessions.begin(), lines.sessions.end()}, {}, std::move(lines.warnings)};
  for (auto& of_case : chosen) results.rows.push_back(std::move(*of_case.row));
  return results;
}

std::string newest_session(const std::string& path) {
  std::string session;
  for_each_line(path, [&](const json& line) {
    if (text_of(line, "kind") == "session") session = text_of(line, "session");
  });
  return session;
}

namespace {

/// What machines of one model measured of an artifact.
struct Measured {
  std::map<std::string, std::set<std::string>> keys;  ///< by machine
  bool asked = false;  ///< for rows of each machine, of a case that another one has too
};

bool stand_apart(const Measured& of) {
  if (of.keys.size() < 2) return false;
  const auto& first = of.keys.begin()->second;
  return of.asked ||
         std::ranges::all_of(of.keys, [&](const auto& by) { return by.second == first; });
}

}  // namespace

std::set<SharedModel> shared_models(const std::vector<Row>& rows) {
  std::map<SharedModel, Measured> measured;
  for (const auto& row : rows) {
    // That a method declines a case says nothing about the machine.
    if (row.machine().empty() || row.status() == Status::unsupported) continue;
    auto& of = measured[{text_of(row.row_case(), "artifact"), row.device()}];
    const auto has_it = [&](const auto& other) { return other.second.contains(row.key()); };
    of.asked |= was_asked(row, "--each-machine") && std::ranges::any_of(of.keys, has_it);
    of.keys[row.machine()].insert(row.key());
  }
  std::set<SharedModel> shared;
  for (const auto& [model, of] : measured)
    if (stand_apart(of)) shared.insert(model);
  return shared;
}

std::string machine_label(const std::string& device, const std::string& machine, bool shared) {
  return shared && !machine.empty() ? fmt::format("{} #{}", device, machine) : device;
}

void tell_warnings(const std::vector<std::string>& warnings) {
  for (const auto& warning : warnings) std::cerr << "warning: " << printable(warning) << '\n';
}

std::vector<Row> newest_rows(const std::vector<std::string>& paths, const Members& kept) {
  Lines lines(paths, kept);
  tell_warnings(lines.warnings);
  std::vector<Row> rows;
  for (auto& [id, found] : newest_of(lines, Machines::of_a_model, true))
    rows.push_back(std::move(*found.row));
  return rows;
}

void for_each_newest_row(const std::vector<std::string>& paths, const Members& kept,
                         const std::function<void(const Row&)>& take, Machines machines) {
  Lines lines(paths, kept);
  tell_warnings(lines.warnings);
  for (const auto& [id, found] : newest_of(lines, machines, false)) take(lines.row(found.place));
}

}  // namespace retensor::driver
