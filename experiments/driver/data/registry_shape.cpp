// Each generator has the parameters of generators(); a recipe those that recipes.yaml names.
#include "experiments/driver/data/datasets.hpp"

namespace retensor::driver {
namespace {

using namespace shape;

constexpr std::int64_t kMaxLength = std::int64_t{1} << 32;  ///< 32-bit indices
constexpr std::int64_t kMaxCount = std::numeric_limits<std::int64_t>::max();
/// Names become names of files.
constexpr const char* kPlainName = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}";

ShapePtr sha256_shape() {
  return pattern("64 lower-case hexadecimal digits", "[0-9a-f]{64}");
}

/// An https address without user name, in printable characters; the last part of its path is the
/// name under which the file is kept.
ShapePtr url_shape() {
  return pattern("https://host/.../file", std::string("https://([!-\"$->A-z|~]*/)?") + kPlainName +
                                              "([{][0-9]{1,4}[.][.][0-9]{1,4}[}][A-Za-z0-9_.-]*)?"
                                              "([?#][!-?A-z|~]*)?");
}

/// Few sources publish a checksum or a length.
ShapePtr fetch_shape() {
  return map({.what = "fetch",
              .members = {required("url", url_shape()), optional("sha256", sha256_shape()),
                          optional("bytes", integer("the length of a file", 1, kMaxCount))}});
}

std::vector<Member> params_of(const std::string& generator) {
  return transformed(generators().at(generator).params,
                     [](const std::string& name) { return optional(name, anything()); });
}

ShapePtr make_shape() {
  const auto recipe = required("recipe", pattern("the name of a generator or recipe", kPlainName));
  std::map<std::string, ShapePtr> makes;
  for (const auto& [name, generator] : generators()) {
    auto members = params_of(name);
    members.push_back(recipe);
    makes[name] = map({.what = "make", .members = members});
  }
  const auto other = map({.what = "make",
                          .members = {recipe, optional("needs", word("needs", {"input", "file"}))},
                          .others = anything()});
  return by_word("recipe", makes, other);
}

ShapePtr length_shape() {
  const std::string what = "a mode length, or '?' where it is not published";
  return either(what, {word(what, {"?"}), integer(what, 1, kMaxLength)});
}

ShapePtr stand_in_shape() {
  const auto variants = transformed(stand_in_variants(), [](const std::string& name) {
    return required(name, map_of("a variant", anything()));
  });
  return map({.what = "stand_in",
              .members = {required("for", scalar("a data set")), required("fitted_to", anything()),
                          required("residual", map_of("residual", anything())),
                          optional("assumed", anything()),
                          required("variants", map({.what = "variants", .members = variants}))}});
}

ShapePtr dataset_shape() {
  return map(
      {.what = "a data set",
       .members = {
           required("kind",
                    word("kind", {"real", "real pattern", "stand-in", "generated", "private"})),
           required("form", word("form", {"tensor", "matrix"})),
           required("dims", list("dims", length_shape(), 1, kMaxOrder)),
           required("nnz", integer("nnz", 0, kMaxCount)), required("source", scalar("a source")),
           required("licence", scalar("a licence")), optional("cite", scalar("a publication")),
           optional("pass_on", flag("whether others than the publisher may pass it on")),
           optional("aliases", list("aliases", pattern("a name", kPlainName))),
           optional("index_base", word("index_base", {"one", "zero", "by_content"})),
           optional("mode_order", word("mode_order", {"any"})),
           optional("paper", map_of("paper", anything())), optional("sha256", sha256_shape()),
           optional("file", scalar("the path of a file")), optional("make", make_shape()),
           optional("fetch", fetch_shape()), optional("stand_in", stand_in_shape())}});
}

}  // namespace

ShapePtr registry_shape() {
  static const auto registry = file(
      {.what = "a registry",
       .members = {optional("include", list("include", scalar("the path of a file"))),
                   required("datasets",
                            map({.what = "datasets",
                                 .others = dataset_shape(),
                                 .other_names = kPlainName,
                                 .other_what = "a name of at most 200 letters, digits, _ . -"}))}});
  return registry;
}

ShapePtr checksums_shape() {
  const auto record =
      map({.what = "a record",
           .members = {required("url", url_shape()), required("sha256", sha256_shape()),
                       required("bytes", integer("the length of a file", 1, kMaxCount)),
                       required("by", scalar("who recorded it, and when"))}});
  static const auto checksums =
      file({.what = "a list of checksums",
            .members = {required("checksums", list("checksums", record, 0))}});
  return checksums;
}

ShapePtr recipes_shape() {
  static const auto params = list("parameters", pattern("a parameter", "[a-z][a-z0-9_]*"), 0);
  static const auto recipes = file(
      {.what = "a list of recipes",
       .members = {required("recipes", map({.what = "recipes",
                                            .others = params,
                                            .other_names = kPlainName,
                                            .other_what = "a name of letters, digits, _ . -"}))}});
  return recipes;
}

ShapePtr stand_in_variant_shape(const std::string& generator) {
  auto members = params_of(generator);
  std::erase_if(members, [](const Member& m) { return m.name == "dims" || m.name == "nnz"; });
  return map({.what = "a variant", .members = members});
}

}  // namespace retensor::driver
