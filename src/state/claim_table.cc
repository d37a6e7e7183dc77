#include "state/claim_table.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "client/informer.h"
#include "client/objects.h"
#include "json/json.h"

namespace drachma::state {
namespace {

using json::Value;

std::uint64_t VersionOf(const Value& object) {
  const std::string_view text = client::ResourceVersionOf(object);
  std::uint64_t version = 0;
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

}  // namespace

bool IsOlder(const Value& a, const Value& b) { return VersionOf(a) < VersionOf(b); }

std::size_t ClaimView::consumers() const { return object["status"]["reservedFor"].size(); }

bool ClaimView::IsReservedFor(std::string_view uid) const {
  return std::ranges::any_of(object["status"]["reservedFor"].Items(), [&](const Value& consumer) {
    return consumer["uid"].AsString() == uid;
  });
}

bool ClaimView::IsReservedForGroup(std::string_view group) const {
  return std::ranges::any_of(object["status"]["reservedFor"].Items(), [&](const Value& consumer) {
    return consumer["apiGroup"].AsString() == "scheduling.k8s.io" &&
           consumer["resource"].AsString() == "podgroups" && consumer["name"].AsString() == group;
  });
}

ClaimPtr ReadClaim(Value claim, Names& names) {
  auto view = std::make_shared<ClaimView>();
  const Value& metadata = claim["metadata"];
  view->uid = metadata["uid"].AsString();
  view->ns = metadata["namespace"].AsString();
  view->name = metadata["name"].AsString();
  view->deleting = metadata.Has("deletionTimestamp");
  if (auto read = api::ResourceClaim::FromJson(claim)) {
    view->claim = *std::move(read);
  } else {
    view->fault = read.error().message;
  }
  view->spec_id = names.texts.IdOf(json::Write(claim["spec"]));
  view->object = std::move(claim);
  return view;
}

ClaimPtr ClaimTable::Put(const Value& claim) {
  const std::string key = client::KeyOf(claim);
  ClaimPtr& entry = claims_[key];
  if (entry && entry->uid != client::UidOf(claim)) {
    if (!InFlight(entry->uid)) inventory_.RemoveClaim(entry->uid);
  } else if (entry && !IsOlder(entry->object, claim)) {
    return entry;
  }
  entry = ReadClaim(claim, names_);
  Count(*entry);
  return entry;
}

ClaimPtr ClaimTable::Assume(const Value& claim) {
  const ClaimPtr known = Find(client::KeyOf(claim));
  if (known && known->uid == client::UidOf(claim)) return Put(claim);
  return ReadClaim(claim, names_);
}

void ClaimTable::Remove(std::string_view key) {
  const auto found = claims_.find(std::string(key));
  if (found == claims_.end()) return;
  const ClaimPtr claim = std::move(found->second);
  claims_.erase(found);
  // A decision for it may be on its way to the API: its failure ends the flight.
  if (!InFlight(claim->uid)) inventory_.RemoveClaim(claim->uid);
}

ClaimPtr ClaimTable::Find(std::string_view key) const {
  const auto found = claims_.find(std::string(key));
  return found == claims_.end() ? nullptr : found->second;
}

void ClaimTable::BeginFlight(const ClaimView& claim, const api::AllocationResult& allocation,
                             std::string_view holder) {
  Flight& flight = in_flight_[claim.uid];
  flight.key = claim.key();
  flight.holders.emplace(holder);
  inventory_.SetClaim(claim.uid, claim.key(), allocation);
}

void ClaimTable::EndFlight(std::string_view uid, std::string_view holder) {
  const auto flight = in_flight_.find(std::string(uid));
  if (flight == in_flight_.end()) return;
  flight->second.holders.erase(std::string(holder));
  if (!flight->second.holders.empty()) return;
  const ClaimPtr claim = Find(flight->second.key);
  in_flight_.erase(flight);
  if (claim && claim->uid == uid) {
    Count(*claim);
  } else {
    inventory_.RemoveClaim(uid);
  }
}

void ClaimTable::Count(const ClaimView& claim) {
  if (claim.allocated()) {
    inventory_.SetClaim(claim.uid, claim.key(), *claim.claim.allocation);
  } else if (!InFlight(claim.uid)) {
    inventory_.RemoveClaim(claim.uid);
  }
}

}  // namespace drachma::state
