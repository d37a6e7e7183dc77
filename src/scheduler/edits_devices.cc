#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "scheduler/edits.h"
#include "scheduler/explain_claims.h"
#include "scheduler/extended.h"

namespace drachma::scheduler {
namespace {

using json::Value;
using Cost = Edit::Cost;

// Smaller numbers of devices that are tried for one request.
constexpr std::int64_t kNumbersMax = 16;

std::string Devices(std::int64_t count) {
  return fmt::format("{} device{}", count, count == 1 ? "" : "s");
}

// What a request, or one of its alternatives, says itself.
struct Place {
  state::ClaimPtr claim;
  std::size_t request = 0;
  int alternative = -1;
  std::string name;   // "request" or "request/alternative"
  std::string title;  // for people
};

const Value& RequestAt(const Value& claim, const Place& place) {
  const Value& request = claim.At({"spec", "devices", "requests"}).Items()[place.request];
  return place.alternative < 0
             ? request["exactly"]
             : request["firstAvailable"].Items()[static_cast<std::size_t>(place.alternative)];
}

Value& RequestsOf(Value& claim) { return claim.Edit("spec").Edit("devices").Edit("requests"); }

Value& EditRequestAt(Value& claim, const Place& place) {
  Value& request = RequestsOf(claim).EditItem(place.request);
  return place.alternative < 0
             ? request.Edit("exactly")
             : request.Edit("firstAvailable").EditItem(static_cast<std::size_t>(place.alternative));
}

// Changes the claim as it is then: two edits may concern one.
std::function<void(Trial&)> OnClaim(const Place& place, std::function<void(Value& claim)> change) {
  return [key = place.claim->key(), change = std::move(change)](Trial& trial) {
    const state::ClaimPtr now = trial.state().claims.Find(key);
    if (!now) return;
    Value object = now->object;
    change(object);
    trial.PutClaim(object);
  };
}
std::function<void(Trial&)> OnRequest(const Place& place, std::function<void(Value&)> change) {
  return OnClaim(place, [place, change = std::move(change)](Value& claim) {
    change(EditRequestAt(claim, place));
  });
}

// "key=value:effect" as a toleration of exactly that taint.
Value TolerationOf(std::string_view taint) {
  const std::size_t colon = taint.rfind(':');
  const std::string_view effect = taint.substr(colon + 1);
  const std::string_view pair = taint.substr(0, colon);
  const std::size_t equals = pair.find('=');
  Value toleration = Value::Object({{"key", pair.substr(0, equals)}, {"effect", effect}});
  if (equals == std::string_view::npos) {
    toleration.Set("operator", "Exists");
  } else {
    toleration.Set("operator", "Equal");
    toleration.Set("value", pair.substr(equals + 1));
  }
  return toleration;
}

void Tolerate(Value& request, std::string_view taint) {
  Value& tolerations = request.Edit("tolerations");
  if (!tolerations.IsArray()) tolerations = Value::Array();
  tolerations.Append(TolerationOf(taint));
}

// The taint of "tainted key=value:effect".
std::string_view TaintOf(const explain::DeviceAccount::TaintLoss& loss) {
  return std::string_view(loss.what).substr(loss.what.find(' ') + 1);
}

void AddNumbers(const Place& place, std::vector<Edit>& edits) {
  const Value& request = RequestAt(place.claim->object, place);
  if (request["allocationMode"].AsString() == "All") return;
  const std::int64_t count = request["count"].AsInt(1);
  for (std::int64_t less = 1; less < count && less <= kNumbersMax; ++less) {
    edits.push_back({.cost = Cost::kFewerDevices,
                     .change = fmt::format("if {} asked for {} less", place.title, Devices(less)),
                     .pod = {},
                     .view = {},
                     .cluster = OnRequest(
                         place, [count, less](Value& one) { one.Set("count", count - less); })});
  }
  edits.push_back({.cost = Cost::kMoreDevices,
                   .change = fmt::format("if node {} had {} more for {}", kThatNode, Devices(count),
                                         place.title),
                   .pod = {},
                   .view = {},
                   .cluster = OnClaim(place, [index = place.request](Value& claim) {
                     RequestsOf(claim).EraseItem(index);
                   })});
}

void AddFinePrint(const Place& place, const Diagnosis& diagnosis, std::vector<Edit>& edits) {
  for (const explain::DeviceAccount::TaintLoss& loss : diagnosis.devices.Taints()) {
    const std::string taint(TaintOf(loss));
    edits.push_back({.cost = Cost::kTolerate,
                     .change = fmt::format("if {} tolerated the taint {}", place.title, taint),
                     .pod = {},
                     .view = {},
                     .cluster = OnRequest(place, [taint](Value& one) { Tolerate(one, taint); })});
  }
  const Value& selectors = RequestAt(place.claim->object, place)["selectors"];
  for (std::size_t i = 0; i < selectors.size(); ++i) {
    edits.push_back({.cost = Cost::kSelector,
                     .change = fmt::format("if selector {} of {} matched", i, place.title),
                     .pod = {},
                     .view = {},
                     .cluster = OnRequest(place, [i](Value& one) {
                       Value& list = one.Edit("selectors");
                       if (i < list.size()) list.EraseItem(i);
                     })});
  }
  for (const explain::DeviceAccount::SmallerAmount& smaller : diagnosis.devices.smaller()) {
    if (smaller.request != place.name) continue;
    edits.push_back({.cost = Cost::kSmallerRequest,
                     .change = fmt::format("if {} asked for at most {} of {}", place.title,
                                           smaller.amount, smaller.capacity),
                     .pod = {},
                     .view = {},
                     .cluster = OnRequest(place, [smaller](Value& one) {
                       one.Edit("capacity").Edit("requests").Set(smaller.capacity, smaller.amount);
                     })});
  }
}

void AddConstraints(const Place& place, std::vector<Edit>& edits) {
  const Value& constraints = place.claim->object.At({"spec", "devices", "constraints"});
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    const std::string_view match = constraints.Items()[i]["matchAttribute"].AsString();
    const std::string_view attribute =
        match.empty() ? constraints.Items()[i]["distinctAttribute"].AsString() : match;
    edits.push_back({.cost = Cost::kConstraint,
                     .change = fmt::format("without the constraint on {}", attribute),
                     .pod = {},
                     .view = {},
                     .cluster = OnClaim(place, [i](Value& claim) {
                       Value& list = claim.Edit("spec").Edit("devices").Edit("constraints");
                       if (i < list.size()) list.EraseItem(i);
                     })});
  }
}

std::string ClassOf(const Place& place) {
  return std::string(RequestAt(place.claim->object, place)["deviceClassName"].AsString());
}

bool HasClass(const state::ClusterState& state, const Place& place) {
  return state.inventory.FindClass(ClassOf(place)) != nullptr;
}

// A class that does not exist would have to, and to match devices.
void AddClass(const Place& place, std::vector<Edit>& edits, explain::Explanation& explanation) {
  const std::string name = ClassOf(place);
  AddOnce(explanation.blockers,
          fmt::format("DeviceClass {}, which claim {} asks for, does not exist", name,
                      place.claim->key()));
  edits.push_back({.cost = Cost::kRepair,
                   .change = fmt::format("if DeviceClass {} existed", name),
                   .pod = {},
                   .view = {},
                   .cluster = [name](Trial& trial) {
                     if (trial.state().inventory.FindClass(name) != nullptr) return;
                     trial.AddClass(Value::Object(
                         {{"apiVersion", "resource.k8s.io/v1"},
                          {"kind", "DeviceClass"},
                          {"metadata", Value::Object({{"name", name}, {"uid", "trial"}})},
                          {"spec", Value::Object({})}}));
                   }});
}

// The requests of the claims that have no devices yet.
std::vector<Place> PlacesOf(const state::ClusterState& state, const state::PodView& pod) {
  std::vector<Place> places;
  std::set<std::string> seen;
  const bool many = std::ranges::count_if(pod.claims, &state::PodClaim::needed) > 1;
  for (const state::PodClaim& entry : pod.claims) {
    const state::ClaimPtr claim = state.claims.Find(pod.ns + "/" + entry.claim_name);
    if (!claim || claim->allocated() || !seen.insert(claim->key()).second) continue;
    const auto add = [&](std::size_t request, int alternative, std::string name) {
      std::string title = many ? fmt::format("claim {} request {}", entry.name, name)
                               : fmt::format("request {}", name);
      places.push_back({claim, request, alternative, std::move(name), std::move(title)});
    };
    const auto& requests = claim->claim.requests;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (requests[i].exactly) add(i, -1, requests[i].name);
      for (std::size_t j = 0; j < requests[i].first_available.size(); ++j) {
        add(i, static_cast<int>(j), requests[i].name + "/" + requests[i].first_available[j].name);
      }
    }
  }
  return places;
}

// Calls `visit(list, index, container)` for the pod's containers.
template <typename Visit>
void ForEachContainer(const Value& pod, Visit visit) {
  for (const std::string_view list : {"initContainers", "containers"}) {
    const Value& containers = pod["spec"][list];
    for (std::size_t i = 0; i < containers.size(); ++i) visit(list, i, containers.Items()[i]);
  }
}

// The containers ask for the devices of extended resources by a claim of the pod's own, which
// tolerates the taint: the same devices as without the taint.
Edit WithoutTaint(const state::PodView& pod, const std::vector<MappedResource>& mapped,
                  const std::string& taint) {
  constexpr std::string_view kName = "explain.extended-resources";  // no claim is called so
  std::vector<state::ResourceId> all;
  for (const MappedResource& resource : mapped) all.push_back(resource.id);
  Value claim = MakeExtendedClaim(pod, mapped, all).claim;
  claim.Edit("metadata").Set("name", kName);
  claim.Edit("metadata").Set("uid", kName);
  Value& requests = RequestsOf(claim);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Tolerate(requests.EditItem(i).Edit("exactly"), taint);
  }
  return {.cost = Cost::kTolerate,
          .change = fmt::format("if devices lost the taint {}", taint),
          .pod =
              [mapped, kName](Value& object) {
                Value& spec = object.Edit("spec");
                ForEachContainer(object, [&](std::string_view list, std::size_t i, const Value&) {
                  Value& asked = spec.Edit(list).EditItem(i).Edit("resources").Edit("requests");
                  for (const MappedResource& resource : mapped) asked.Erase(resource.name);
                });
                Value& claims = spec.Edit("resourceClaims");
                if (!claims.IsArray()) claims = Value::Array();
                claims.Append(Value::Object({{"name", kName}, {"resourceClaimName", kName}}));
              },
          .view = {},
          .cluster = [claim](Trial& trial) { trial.PutClaim(claim); }};
}

void AddExtended(state::ClusterState& state, const state::PodView& pod, const Diagnosis& diagnosis,
                 std::vector<Edit>& edits) {
  const std::vector<MappedResource> mapped =
      MappedResources(pod, state.inventory, state.names.resources);
  if (mapped.empty()) return;
  for (const explain::DeviceAccount::TaintLoss& loss : diagnosis.devices.Taints()) {
    edits.push_back(WithoutTaint(pod, mapped, std::string(TaintOf(loss))));
  }
  ForEachContainer(pod.object, [&](std::string_view list, std::size_t i, const Value& container) {
    for (const MappedResource& resource : mapped) {
      const std::int64_t count =
          state::ReadAmounts(container["resources"]["requests"], state.names.resources)
              .Other(resource.id);
      const std::string title =
          fmt::format("{} of container {}", resource.name, container["name"].AsString());
      for (std::int64_t less = 1; less <= count && less <= kNumbersMax; ++less) {
        const bool none = less == count;
        edits.push_back({.cost = none ? Cost::kMoreDevices : Cost::kFewerDevices,
                         .change = none ? fmt::format("if node {} had {} more for {}", kThatNode,
                                                      Devices(count), title)
                                        : fmt::format("if {} were {} instead of {}", title,
                                                      count - less, count),
                         .pod =
                             [list, i, name = resource.name, amount = count - less](Value& object) {
                               object.Edit("spec")
                                   .Edit(list)
                                   .EditItem(i)
                                   .Edit("resources")
                                   .Edit("requests")
                                   .Set(name, amount);
                             },
                         .view = {},
                         .cluster = {}});
      }
    }
  });
}

}  // namespace

void AddDeviceEdits(state::ClusterState& state, const state::PodView& pod,
                    const Diagnosis& diagnosis, std::vector<Edit>& edits,
                    explain::Explanation& explanation) {
  for (const explain::DeviceAccount::TaintLoss& loss : diagnosis.devices.Taints()) {
    AddOnce(explanation.blockers,
            fmt::format("{} {}, which {} does not tolerate",
                        Devices(static_cast<std::int64_t>(loss.devices)), loss.what, loss.request));
  }
  std::set<std::string> constrained;
  for (const Place& place : PlacesOf(state, pod)) {
    if (!HasClass(state, place)) {
      AddClass(place, edits, explanation);
    } else {
      AddFinePrint(place, diagnosis, edits);
      AddNumbers(place, edits);
    }
    if (constrained.insert(place.claim->key()).second) AddConstraints(place, edits);
  }
  AddExtended(state, pod, diagnosis, edits);
}

}  // namespace drachma::scheduler
