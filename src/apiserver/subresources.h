#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/core.h"

namespace drachma::apiserver {

// Registers the handlers of subresources and of resources that are not stored: scale, binding,
// eviction, finalize, the reviews, and what a server without kubelets cannot do.
void RegisterSubresources(Core& core);

// The parts, by theme.
void RegisterScale(Core& core);
void RegisterPodSubresources(Core& core);
void RegisterEviction(Core& core);
void RegisterReviews(Core& core);

class ServiceAccountTokens;
// serviceaccounts/NAME/token and tokenreviews; `others` know further tokens.
void RegisterTokens(Core& core, std::shared_ptr<ServiceAccountTokens> tokens,
                    std::vector<std::shared_ptr<Authenticator>> others);

// How the scale subresource of a kind reads and writes its objects.
struct ScaleForm {
  // What a GET answers.
  std::function<Result<json::Value>(const json::Value& object)> get;
  // The Scale that is to be changed, and the one that came of it.
  std::function<Result<json::Value>(const json::Value& object)> read;
  // The object with other replicas.
  std::function<Result<json::Value>(json::Value object, std::int64_t replicas)> write;
};
// Answers GET, PUT and PATCH of a scale subresource.
void HandleScaleAs(Core& core, ApiRequest request, const KindPtr& kind, ScaleForm form, Done done);

// Updates one object by `transform` without its strategy, as the server itself: the answer is the
// stored object. ERRORS: kNotFound, kConflict, those of the transform.
void UpdateDirectly(Core& core, const ApiRequest& request, const KindPtr& kind,
                    const std::string& ns, const std::string& name, Transform transform, Done done);

}  // namespace drachma::apiserver
