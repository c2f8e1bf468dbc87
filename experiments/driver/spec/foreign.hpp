// Code that is no part of this program: an executable that speaks the protocol of
// plots/docs/how-to/foreign-code.md, or a shared library behind common/c_api/retensor_method.h.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "common/method/method.hpp"
#include "common/method/registry.hpp"
#include "experiments/driver/yaml/shape.hpp"

namespace retensor::driver {

/// What a file says of one such method, as it stands there: a row of it names no path of a machine
/// but those that the user wrote.
struct ForeignEntry {
  bool is_library = false;
  std::string path;  ///< of the executable or the library
  std::vector<std::string> args;
  std::string format = "tns";  ///< in which an executable gets the tensor: tns, tnsb, mtx
  std::string folder;          ///< from which relative paths count
  /// In which it computes, one of foreign_precisions(); empty: in the type of the problem.
  std::string precision = {};
  bool own = false;  ///< a program of this project, beside the running one
};

/// Words for the arithmetic of external code: its operands are rounded to this type, its sums
/// are in single precision, those of f16_sums in half precision too.
const std::vector<std::string>& foreign_precisions();
/// What the word makes of the oracle's bound. Throws InputError for an unknown one.
reference::Precision precision_of(const std::string& word, const Problem& problem);

/// The same found on this machine, with what identifies it.
struct ForeignCode {
  bool is_library = false;
  std::string path;               ///< of the executable or the library, from the working directory
  std::vector<std::string> args;  ///< of an executable; files with their whole paths
  /// SHA-256 over the file, the arguments and the content of those that are files.
  std::string sha256;
};

/// The code that an entry names; a name without a slash that is no file of the folder is searched
/// in PATH. Throws InputError where there is no such file.
ForeignCode foreign_code(const ForeignEntry& entry);
/// A name without a slash as a shell finds it; empty where it finds none.
std::string found_in_path(const std::string& name);
/// foreign.cpu.<name of the file>: what a method is called that states no id.
std::string default_foreign_id(const std::string& path);

struct ForeignLibrary {
  std::string id;
  ForeignEntry entry;
};
/// What the text FILE or ID=FILE names, such as theirs.cuda=./libtheirs.so.
ForeignLibrary foreign_library(const std::string& text);

nlohmann::json to_json(const ForeignEntry& entry);
/// Throws json::exception for an object that to_json did not make.
ForeignEntry foreign_from_json(const nlohmann::json& j);

/// The method as the registry describes it: every operation but decompositions, and parameters by
/// name with their first values as defaults. It can't be prepared: foreign code is measured
/// apart (run/foreign).
std::unique_ptr<Method> foreign_method(const std::string& id,
                                       const std::map<std::string, ParamValue>& params,
                                       const std::string& precision);

/// `distributed.cpu` and `distributed.cuda`, MTTKRP over all modes by several processes: what
/// retensor-mpi serves. Nothing for another id.
std::optional<ForeignEntry> distributed_entry(std::string_view id);

/// A method of a spec that names an executable (`command`) or a library (`library`).
ShapePtr foreign_shape(bool is_library);
/// A file `methods/<name>.yaml` with such methods.
ShapePtr foreign_file_shape();
/// Nothing where the method is one of the registry.
std::optional<ForeignEntry> foreign_entry(const YamlNode& method);

}  // namespace retensor::driver
