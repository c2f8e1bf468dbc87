#include "experiments/driver/spec/foreign.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>

#include <fmt/format.h>

#include "common/core/hash.hpp"
#include "common/core/message.hpp"
#include "common/core/text.hpp"
#include "common/io/files.hpp"
#include "common/numeric/rounding.hpp"
#include "experiments/driver/spec/case.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// TF32 keeps ten bits behind the point, which kernels cut off rather than round.
constexpr double kTruncationTf32 = 1.0 / 1024;
/// Tensor cores cut off sums instead of rounding them.
constexpr double kSumsF32 = 2 * kUnitRoundoffF32;

constexpr const char* kForeignId = "[a-z0-9_]+\\.(cpu|cuda)(\\.[a-z0-9_]+)?";

std::vector<ParamSpec> distributed_params(Backend backend) {
  const auto registry = all_methods();
  const auto& all = registry.methods();
  const auto standard = std::ranges::find_if(all, [&](const auto& method) {
    return method->is_default_of_passes() && method->backend() == backend;
  });
  return {param("ranks", 1, "processes, each with a GPU where the method uses one").range(1, 4096),
          param("dist", "allreduce",
                "how nonzeros lie: in even shares, by the slices of each mode, or in a grid")
              .words({"allreduce", "owner", "medium"}),
          param("mttkrp", std::string((*standard)->id()),
                "the method of each process; its parameters may stand beside it")};
}

std::string located_file(const std::string& path, const fs::path& folder) {
  const bool bare = path.find('/') == std::string::npos;
  const auto beside = (folder / path).lexically_normal();
  std::error_code ignored;
  if (fs::is_regular_file(beside, ignored)) return beside.string();
  return bare ? found_in_path(path) : "";
}

void add_file(Sha256& hash, const std::string& path) {
  const MappedFile file(path);
  hash.update(file.view().data(), file.view().size());
}

/// Only its description: what a plan and a row ask of a method.
class ForeignMethod final : public Method {
 public:
  ForeignMethod(std::string id, ParamSchema params, std::vector<Operation> operations,
                std::string precision)
      : id_(std::move(id)),
        params_(std::move(params)),
        operations_(std::move(operations)),
        precision_(std::move(precision)) {}
  std::string_view id() const override { return id_; }
  std::string_view summary() const override { return "code outside this process"; }
  Backend backend() const override { return is_gpu_method(id_) ? Backend::cuda : Backend::cpu; }
  ParamSchema params() const override { return params_; }
  std::vector<Operation> operations() const override { return operations_; }
  bool takes_all_modes() const override { return true; }
  Support supports(const Problem& problem, const Params&) const override {
    std::vector<std::string_view> names;
    for (const auto operation : operations_) {
      if (operation == problem.operation()) return Support::yes();
      names.push_back(name(operation));
    }
    return Support::no(fmt::format("{} solves only {}, not {}", id_, fmt::join(names, ", "),
                                   name(problem.operation())));
  }
  reference::Precision precision(const Problem& problem, const Params&) const override {
    return precision_of(precision_, problem);
  }
  std::unique_ptr<Prepared> prepare(const Problem&, const Params&) const override {
    throw LogicError(id_ + ": external code has no run in this process");
  }

 private:
  const std::string id_;
  const ParamSchema params_;
  const std::vector<Operation> operations_;
  const std::string precision_;
};

/// Operands that are multiplied with each other in one product.
int factors_of(const Problem& problem) {
  switch (problem.operation()) {
    case Operation::mttkrp:
    case Operation::mttkrp_all:
    case Operation::ttm_chain:
      return problem.x().order();
    default:
      return 2;
  }
}

bool is_distributed(std::string_view id) {
  return id == "distributed.cpu" || id == "distributed.cuda";
}

/// Programs of this project stand beside the one that runs.
std::string beside_this(const std::string& name) {
  return (fs::read_symlink("/proc/self/exe").parent_path() / name).string();
}

}  // namespace

const std::vector<std::string>& foreign_precisions() {
  static const std::vector<std::string> words = {"f32", "tf32", "bf16", "f16", "f16_sums"};
  return words;
}

reference::Precision precision_of(const std::string& word, const Problem& problem) {
  auto p = reference::Precision::of(problem.dtype());
  if (word.empty()) return p;
  place_among(foreign_precisions(), word, "precision: found");
  p.roundings = factors_of(problem);
  p.accumulate_eps = kSumsF32;
  if (word == "f32") {
    p.operand_eps = problem.dtype() == DType::f64 ? kUnitRoundoffF32 : 0;
    p.accumulate_eps = kUnitRoundoffF32;
  }
  if (word == "tf32") p.operand_eps = kTruncationTf32;
  if (word == "bf16") p.operand_eps = kUnitRoundoffBf16;
  if (!word.starts_with("f16")) return p;
  p.operand_eps = kUnitRoundoffFp16;
  p.underflow = kUnderflowFp16;
  if (word == "f16_sums") {
    ++p.roundings;
    p.accumulate_eps = kUnitRoundoffFp16;
  }
  return p;
}

std::string found_in_path(const std::string& name) {
  const char* const folders = std::getenv("PATH");
  std::istringstream list(folders == nullptr ? "" : folders);
  for (std::string folder; std::getline(list, folder, ':');) {
    const auto path = fs::path(folder) / name;
    if (access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path)) return path.string();
  }
  return "";
}

ForeignCode foreign_code(const ForeignEntry& entry) {
  const fs::path folder = entry.folder;
  const auto path = entry.own ? beside_this(entry.path) : entry.path;
  ForeignCode code{entry.is_library, located_file(path, folder), {}, ""};
  if (code.path.empty())
    throw input_error("found no file '{}', expected {}", path,
                      !entry.is_library ? "an executable"
                      : path.find('=') == std::string::npos
                          ? "a shared library"
                          : "a shared library, or ID=FILE with an id such as mine.cpu");
  if (!entry.is_library && access(code.path.c_str(), X_OK) != 0)
    throw input_error("{}: the file is not executable", code.path);
  Sha256 hash;
  add_file(hash, code.path);
  for (const auto& arg : entry.args) {
    hash.update(arg.data(), arg.size());
    std::error_code ignored;
    const bool names_file = fs::is_regular_file(folder / arg, ignored);
    code.args.push_back(names_file ? fs::absolute(folder / arg).lexically_normal().string() : arg);
    if (names_file) add_file(hash, code.args.back());
  }
  code.sha256 = hash.hex();
  return code;
}

ForeignLibrary foreign_library(const std::string& text) {
  static const std::regex named("(" + std::string(kForeignId) + ")=(.+)");
  std::smatch found;
  if (std::regex_match(text, found, named))
    return {found[1], {true, found[found.size() - 1], {}, "tns", "", ""}};
  return {default_foreign_id(text), {true, text, {}, "tns", "", ""}};
}

std::string default_foreign_id(const std::string& path) {
  std::string word;
  for (const char c : fs::path(path).stem().string()) {
    const auto byte = static_cast<unsigned char>(c);
    word += std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte)) : '_';
  }
  return "foreign.cpu." + word;
}

json to_json(const ForeignEntry& entry) {
  json j = {{"kind", entry.own          ? "distributed"
                     : entry.is_library ? "library"
                                        : "program"},
            {"path", entry.path},
            {"args", entry.args},
            {"format", entry.format},
            {"folder", entry.folder}};
  if (!entry.precision.empty()) j["precision"] = entry.precision;
  return j;
}

ForeignEntry foreign_from_json(const json& j) {
  return {.is_library = j.at("kind") == "library",
          .path = j.at("path"),
          .args = j.at("args"),
          .format = j.at("format"),
          .folder = j.at("folder"),
          .precision = j.value("precision", std::string()),
          .own = j.at("kind") == "distributed"};
}

std::unique_ptr<Method> foreign_method(const std::string& id,
                                       const std::map<std::string, ParamValue>& params,
                                       const std::string& precision) {
  std::vector<ParamSpec> specs;
  if (is_distributed(id))
    specs = distributed_params(is_gpu_method(id) ? Backend::cuda : Backend::cpu);
  for (const auto& [name, value] : params)
    if (std::ranges::none_of(specs, [&name = name](const auto& s) { return s.name == name; }))
      specs.push_back(param(name, value, "given by the spec"));
  const std::vector<Operation> single = {
      Operation::mttkrp, Operation::mttkrp_all, Operation::ttm_chain,
      Operation::spmm,   Operation::ttv,        Operation::ttm,
      Operation::tew,    Operation::ts,         Operation::contraction};
  return std::make_unique<ForeignMethod>(
      id, ParamSchema(specs), is_distributed(id) ? std::vector{Operation::mttkrp_all} : single,
      precision);
}

std::optional<ForeignEntry> distributed_entry(std::string_view id) {
  if (!is_distributed(id)) return std::nullopt;
  return ForeignEntry{
      .path = "retensor-mpi", .args = {"serve"}, .format = "tnsb", .folder = "", .own = true};
}

ShapePtr foreign_shape(bool is_library) {
  using namespace shape;
  std::vector<Member> members = {
      optional("id", pattern("an id such as theirs.cpu.mttkrp or theirs.cuda", kForeignId)),
      optional("precision", word("precision", foreign_precisions())),
      optional("params", map_of("params", list_or_one("a value", scalar("a value"))))};
  if (is_library) {
    members.push_back(required("library", scalar("the path of a shared library")));
  } else {
    members.push_back(required("command", scalar("the path of an executable")));
    members.push_back(optional("args", list_or_one("args", scalar("an argument"))));
    members.push_back(optional("format", word("format", {"tns", "tnsb", "mtx"})));
  }
  return map({.what = "an external method", .members = members});
}

ShapePtr foreign_file_shape() {
  using namespace shape;
  const auto method = by_key("library", foreign_shape(true), foreign_shape(false));
  return file({.what = "a list of external methods",
               .members = {required("methods", list("methods", method))}});
}

std::optional<ForeignEntry> foreign_entry(const YamlNode& method) {
  const auto* command = method.find("command");
  const auto* library = method.find("library");
  if (command == nullptr && library == nullptr) return std::nullopt;
  ForeignEntry entry;
  entry.is_library = library != nullptr;
  entry.path = (entry.is_library ? library : command)->text;
  if (const auto* args = method.find("args"))
    entry.args = args->is_list() ? texts_of(args) : std::vector<std::string>{args->text};
  entry.format = text_or(method, "format", entry.format);
  entry.folder = fs::path(method.at.file).parent_path().string();
  entry.precision = text_or(method, "precision", "");
  return entry;
}

}  // namespace retensor::driver
