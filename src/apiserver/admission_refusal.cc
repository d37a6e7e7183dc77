#include "apiserver/admission_refusal.h"

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

}  // namespace drachma::apiserver
