// Parameters of a method within a text, for what runs another method.
#pragma once

#include <map>
#include <string>

#include "common/method/params.hpp"

namespace retensor::cpd {

/// Those of "precision=bf16 threads=2", for ParamSchema::resolve: whole numbers, numbers, true and
/// false have their types, all else is a word. Throws InputError for what is not name=value and for
/// a name that stands twice.
std::map<std::string, ParamValue> params_in(const std::string& text);

}  // namespace retensor::cpd
