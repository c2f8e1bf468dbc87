#include "papers/flycoo/format/options.hpp"

#include <algorithm>
#include <boost/algorithm/string/join.hpp>

#include "common/core/message.hpp"

namespace retensor::flycoo {

template <class Choice>
Choice choice_of(const std::string& word) {
  const Words& words = kWords<Choice>;
  const auto at = std::find(words.begin(), words.end(), word);
  if (at != words.end()) return static_cast<Choice>(at - words.begin());
  throw input_error("unknown choice '{}', expected {}", word,
                    boost::algorithm::join(words, " or "));
}
template Assignment choice_of(const std::string&);
template Arrangement choice_of(const std::string&);
template Indices choice_of(const std::string&);
template Ids choice_of(const std::string&);

Options format_options(const Params& params, int processors, std::uint64_t seed) {
  const auto kappa = params.integer("kappa");
  return {.kappa = static_cast<std::uint32_t>(kappa > 0 ? kappa : processors),
          .assignment = choice_of<Assignment>(params.word("partition")),
          .arrangement = choice_of<Arrangement>(params.word("order")),
          .indices = choice_of<Indices>(params.word("indices")),
          .ids = choice_of<Ids>(params.word("ids")),
          .align = static_cast<int>(params.integer("align")),
          .seed = seed};
}

}  // namespace retensor::flycoo
