// A refusal is an answer; any other exception passes through and is a finding.
#pragma once

#include "common/core/error.hpp"

namespace retensor::fuzz {

/// Whether `read` took its input; false after an InputError.
template <class Read>
bool accepted(const Read& read) {
  try {
    read();
    return true;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace retensor::fuzz
