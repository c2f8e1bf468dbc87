// The list of methods: unique ids of the form module.backend.variant.
#include "common/method/registry.hpp"

#include <regex>
#include <string>

#include <fmt/format.h>

#include "common/core/message.hpp"
#include "common/core/text.hpp"

namespace retensor {
namespace {

/// The id must name the backend that the method runs on, so that a row can't claim another.
bool well_formed(std::string_view id, Backend backend) {
  const std::regex form(fmt::format(R"([a-z0-9_]+\.{}(\.[a-z0-9_]+)?)", name(backend)));
  return std::regex_match(id.begin(), id.end(), form);
}

}  // namespace

void Registry::add(std::unique_ptr<Method> method) {
  const auto id = method->id();
  if (!well_formed(id, method->backend()))
    throw logic_error("method id '{}' is not of the form <module>.{}[.<variant>]", id,
                      name(method->backend()));
  for (const auto& other : methods_)
    if (other->id() == id) throw logic_error("method id '{}' is taken", id);
  methods_.push_back(std::move(method));
}

void Registry::add(MethodSpec spec) {
  auto form = spec.form;
  const auto id = spec.id;
  add(std::make_unique<DescribedMethod>(std::move(spec)));
  forms_[id] = std::move(form);
}

Form Registry::form(std::string_view id) const {
  const auto found = forms_.find(id);
  return found == forms_.end() ? Form{.own = id.ends_with(".tuned")} : found->second;
}

const Method& Registry::find(std::string_view id) const {
  std::vector<std::string> ids;
  for (const auto& method : methods_) {
    if (method->id() == id) return *method;
    ids.emplace_back(method->id());
  }
  throw input_error("unknown method '{}'{}", id, suggestion(id, ids));
}

}  // namespace retensor
