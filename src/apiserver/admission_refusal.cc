#include "apiserver/admission_refusal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <string>

#include "apiserver/status.h"

namespace drachma::apiserver {

Error AdmissionRefusal(const AdmissionRequest& request, std::string_view why) {
  std::string name = request.name;
  // Names are generated after plugins that change objects.
  for (const char* field : {"name", "generateName"}) {
    if (name.empty()) name = request.object.At({"metadata", field}).AsString();
  }
  if (name.empty()) name = "Unknown";
  return ForbiddenError(request.group, request.resource, name, why);
}

std::string AggregateText(const std::vector<std::string>& errors) {
  std::vector<std::string_view> distinct;
  std::set<std::string_view> seen;
  for (const std::string& error : errors) {
    if (seen.insert(error).second) distinct.push_back(error);
  }
  if (distinct.size() == 1) return std::string(distinct.front());
  return fmt::format("[{}]", fmt::join(distinct, ", "));
}

}  // namespace drachma::apiserver
