// A spec comes in three forms: cases to measure, the view of another spec's rows, and a part of
// either, such as a fragment, a file that includes others, and the overlay of a profile.
#include "experiments/driver/spec/axes.hpp"
#include "experiments/driver/spec/case.hpp"
#include "experiments/driver/spec/foreign.hpp"
#include "experiments/driver/spec/spec.hpp"

namespace retensor::driver {
namespace {

using namespace shape;

constexpr std::int64_t kMostRuns = 100'000;

ShapePtr variant_shape() {
  return list_or_one("variant",
                     either("variant", {pattern("an einsum such as abk,kcd->abcd", ".*->.*"),
                                        word("variant", elementwise_variants())}));
}

ShapePtr axes_shape() {
  return named("axes", map({.what = "axes", .members = axis_members()}));
}

ShapePtr any_of_scalars(const std::string& what) {
  return list_or_one(what, scalar(what));
}

ShapePtr exclusion_shape() {
  auto conditions = axis_members();
  conditions.insert(conditions.end(), {optional("operation", operation_shape()),
                                       optional("variant", any_of_scalars("a variant")),
                                       optional("method", any_of_scalars("the id of a method"))});
  const auto when = map({.what = "conditions as a map from axes to values",
                         .members = conditions,
                         .others = any_of_scalars("a value of a parameter"),
                         .other_names = "params\\..+",
                         .key = "condition",
                         .may_be_empty = false});
  return map({.what = "an exclusion",
              .members = {required("when", when), required("reason", scalar("a reason"))}});
}

ShapePtr method_shape() {
  const auto params = map_of("params", any_of_scalars("a value of a parameter"));
  const auto own =
      map({.what = "a method",
           .members = {required("id", scalar("the id of a method")), optional("params", params)}});
  return by_key("command", foreign_shape(false), by_key("library", foreign_shape(true), own));
}

std::vector<std::string> order_words() {
  auto words = names_up_to(Order::blocked);
  words.emplace_back(kInterleaved);
  return words;
}

ShapePtr time_shape() {
  return pattern("a time such as 500ms, 60s, 5m or 1h", "[1-9][0-9]{0,5}(ms|s|m|h)");
}

ShapePtr measure_shape() {
  const auto count = [](const char* what, int lowest) {
    return optional(what, integer(what, lowest, kMostRuns));
  };
  const std::vector<std::string> failures = {"unsupported", "wrong",   "failed",
                                             "oom",         "timeout", "crashed"};
  return map(
      {.what = "measure",
       .members = {count("warmup", 0), count("samples", 1), count("preparations", 1),
                   count("launches", 1), optional("timeout", time_shape()),
                   optional("precision", pattern("a share of the median such as 1% or 0.5%",
                                                 "[0-9]{1,2}(\\.[0-9]{1,3})?%")),
                   optional("at_most", time_shape()), optional("batch", integer("batch", 1, 64)),
                   optional("memory", pattern("a size such as 512MiB or 8GiB (0: no limit)",
                                              "[0-9]{1,9}(KiB|MiB|GiB)?", true)),
                   optional("order", word("order", order_words())),
                   optional("cache", word("cache", names_up_to(Cache::flushed))),
                   optional("ceilings", flag("ceilings")), optional("counters", flag("counters")),
                   optional("expected", list_or_one("expected", word("status", failures)))}});
}

enum class Form { whole, part };

/// Its kind says how a figure is drawn (plots/retensor/figures); whether its fields are those of
/// rows is checked with the methods at hand (check_figure).
ShapePtr figure_shape(Form form) {
  auto kind = optional("kind", word("kind", figure_kinds()));
  kind.required = form == Form::whole;
  const auto name = scalar("a field of a row");
  const auto scale = word("scale", {"linear", "log"});
  const auto to = either("what is compared with: a series, or fields with their values",
                         {scalar("a series"), map_of("fields", scalar("a value of a field"))});
  return map(
      {.what = "figure",
       .members = {
           kind,
           optional("x", name),
           optional("y", name),
           optional("facet", either("a field of a row", {nothing(), name})),
           optional("hue", name),
           optional("absent", scalar("the value of hue in rows that do not record it")),
           optional("names", map_of("names", scalar("what the legend calls a value of hue"))),
           optional("label", name),
           optional("mark", name),
           optional("stack", list_or_one("stack", name)),
           optional("to", to),
           optional("of", to),
           optional("distance_from", number("a number")),
           optional("place", list_or_one("place", scalar("the place of a claim"))),
           optional("overlay", either("overlay", {nothing(), word("overlay", {"roofline"})})),
           optional("share", flag("share")),
           optional("originals", flag("originals")),
           optional("xscale", scale),
           optional("yscale", scale),
           optional("width", word("width", {"single", "double"})),
           optional("xlabel", scalar("a label")),
           optional("ylabel", scalar("a label"))}});
}

/// What a profile may overlay.
std::vector<Member> sections(Form form) {
  std::vector<Member> members = {
      required("title", scalar("a title")),
      required("operation", operation_shape()),
      optional("variant", variant_shape()),
      required("axes", axes_shape()),
      optional("zip", list("zip", axes_shape())),
      optional("exclude", list("exclude", named("exclusion", exclusion_shape()))),
      required("methods", list("methods", named("method", method_shape()))),
      optional("measure", named("measure", measure_shape())),
      optional("figure", figure_shape(form))};
  if (form == Form::part)
    for (auto& member : members) member.required = false;
  return members;
}

Member profiles_member() {
  const auto overlay = named(
      "overlay", either("a profile",
                        {nothing(), map({.what = "a profile", .members = sections(Form::part)})}));
  const auto profiles = transformed(
      profile_names(), [&](const std::string& name) { return optional(name, overlay); });
  return optional("profiles", map({.what = "profiles", .members = profiles, .key = "profile"}));
}

ShapePtr part_shape() {
  auto members = sections(Form::part);
  const auto path = scalar("the path of a file");
  members.insert(members.end(),
                 {optional("artifact", artifact_shape()),
                  optional("include", list_or_one("include as a list of files", path)),
                  optional("of", artifact_shape()), profiles_member()});
  return file({.what = "a spec", .members = members});
}

ShapePtr cases_shape() {
  auto members = sections(Form::whole);
  members.insert(members.begin(), required("artifact", artifact_shape()));
  members.push_back(profiles_member());
  return file({.what = "a spec", .members = members});
}

ShapePtr view_shape() {
  return file({.what = "a spec that draws the rows of another",
               .members = {required("artifact", artifact_shape()),
                           required("title", scalar("a title")), required("of", artifact_shape()),
                           required("figure", figure_shape(Form::whole)), profiles_member()}});
}

}  // namespace

const std::vector<std::string>& figure_kinds() {
  static const std::vector<std::string> kinds = {
      "grouped-bars", "lines",  "scatter", "roofline", "stacked-bars",
      "table",        "claims", "curves",  "speedups", "performance-profile"};
  return kinds;
}

const std::vector<std::string>& profile_names() {
  static const std::vector<std::string> names = {"quick", "device", "full"};
  return names;
}

ShapePtr artifact_shape() {
  return shape::pattern("<paper>/<artifact>", "[A-Za-z0-9_-]+/[A-Za-z0-9_-]+");
}

ShapePtr spec_part_shape() {
  static const auto part = part_shape();
  return part;
}

ShapePtr whole_spec_shape() {
  static const auto whole = by_key("of", view_shape(), cases_shape());
  return whole;
}

ShapePtr spec_shape() {
  static const auto any = by_key("include", spec_part_shape(),
                                 by_key("artifact", whole_spec_shape(), spec_part_shape()));
  return any;
}

}  // namespace retensor::driver
