#include "common/method/form.hpp"

#include <algorithm>

namespace retensor {

bool Form::is_published(const std::function<std::string(const std::string&)>& told) const {
  return !own && std::all_of(published.begin(), published.end(), [&](const auto& entry) {
    const auto value = told(entry.first);
    const auto& papers = entry.second;
    return value.empty() || std::find(papers.begin(), papers.end(), value) != papers.end();
  });
}

}  // namespace retensor
