#include "node/dra_plugin.h"

namespace drachma::node {

std::vector<const json::Value*> ResultsOf(const json::Value& claim, std::string_view driver) {
  std::vector<const json::Value*> results;
  for (const json::Value& result :
       claim.At({"status", "allocation", "devices", "results"}).Items()) {
    if (result["driver"].AsString() == driver) results.push_back(&result);
  }
  return results;
}

std::string_view BaseRequest(std::string_view request) {
  return request.substr(0, request.find('/'));
}

}  // namespace drachma::node
