#include "controllers/resource_quota.h"

#include <algorithm>
#include <set>
#include <utility>

#include "client/objects.h"
#include "quota/match.h"
#include "quota/usage.h"

namespace drachma::controllers {
namespace {

using client::Change;
using json::Value;
using quota::Amounts;
using quota::Names;
namespace resources = client::resources;

// The controllers' copies, for the rules of quotas.
class CachedObjects final : public quota::Objects {
 public:
  explicit CachedObjects(const Caches& caches) : caches_(caches) {}

  [[nodiscard]] Value Get(std::string_view group, std::string_view plural, std::string_view ns,
                          std::string_view name) const override {
    const Cache* cache = Of(group, plural);
    if (cache == nullptr) return {};
    const Value* object = ns.empty() ? cache->Get(name) : cache->Get(ns, name);
    return object == nullptr ? Value() : *object;
  }
  void ForEach(std::string_view group, std::string_view plural, std::string_view ns,
               const std::function<void(const Value&)>& visit) const override {
    const Cache* cache = Of(group, plural);
    if (cache == nullptr) return;
    if (ns.empty()) {
      for (const auto& [key, object] : cache->objects()) visit(object);
    } else {
      for (const Value* object : cache->InNamespace(ns)) visit(*object);
    }
  }

 private:
  [[nodiscard]] const Cache* Of(std::string_view group, std::string_view plural) const {
    const auto found = std::ranges::find_if(caches_.all(), [&](const auto& entry) {
      return entry.first.group == group && entry.first.plural == plural;
    });
    return found == caches_.all().end() ? nullptr : found->second.get();
  }

  const Caches& caches_;
};

// Between looks at copies that are behind.
constexpr Duration kBehindWait = std::chrono::seconds(1);

// Kinds that take more than their number; the others are told by that alone.
bool IsMeasured(std::string_view group, std::string_view plural) {
  if (group == "resource.k8s.io") return plural == "resourceclaims";
  return group.empty() &&
         (plural == "pods" || plural == "services" || plural == "persistentvolumeclaims");
}

bool SameAmounts(const Value& one, const Value& other) {
  const Amounts left = quota::AmountsOf(one);
  const Amounts right = quota::AmountsOf(other);
  return std::ranges::equal(left, right, [](const auto& a, const auto& b) {
    return a.first == b.first && a.second.Compare(b.second) == 0;
  });
}

}  // namespace

ResourceQuotaController::ResourceQuotaController(Host& host)
    : CollectingController(host, Which::kNamespaced),
      quotas_(
          Watch(resources::kResourceQuotas, [this](const Change& change) { OnQuota(change); })) {
  Watch(resources::kDeviceClasses);
}

void ResourceQuotaController::OnQuota(const Change& change) {
  const std::string key = client::KeyOf(change.object);
  if (change.type == Change::Type::kDeleted) {
    changed_.erase(key);
    charged_.erase(key);
    return;
  }
  changed_[key] = Now();
  const Amounts before = quota::AmountsOf(change.old_object["status"]["used"]);
  for (const auto& [name, amount] : quota::AmountsOf(change.object["status"]["used"])) {
    const auto old = before.find(name);
    const bool more = old == before.end() || old->second.Compare(amount) < 0;
    if (more) charged_[key][name] = RevisionOf(change.object);
  }
  const Value& spec = change.object["spec"];
  const bool same =
      !change.old_object.IsNull() && spec["hard"] == change.old_object["spec"]["hard"];
  if (!same) Add(client::KeyOf(change.object));
}

// Like upstream's quota monitor, and for new objects, too: should a count have missed one that was
// on its way, the next count finds it.
void ResourceQuotaController::OnChange(std::size_t index, const Change& change) {
  const std::string_view ns = client::NamespaceOf(change.object);
  const std::vector<const Value*> quotas = quotas_.InNamespace(ns);
  if (quotas.empty()) return;
  const client::Resource& kind = kinds()[index].info.resource;
  const CachedObjects objects(host().caches);
  if (change.type == Change::Type::kUpdated) {
    if (!IsMeasured(kind.group, kind.plural)) return;
    const auto usage = [&](const Value& object) {
      return quota::UsageOf(kind.group, kind.plural, object, objects, Now());
    };
    const bool same_scope =
        quota::IsTerminating(change.object) == quota::IsTerminating(change.old_object);
    const Amounts now = usage(change.object);
    const Amounts before = usage(change.old_object);
    if (same_scope && std::ranges::equal(now, before, [](const auto& a, const auto& b) {
          return a.first == b.first && a.second.Compare(b.second) == 0;
        })) {
      return;
    }
  }
  for (const Value* quota : quotas) {
    const bool matters =
        !quota::MatchingResources(kind.group, kind.plural, (*quota)["spec"]["hard"], objects)
             .empty();
    if (matters) Add(client::KeyOf(*quota), kSettle);
  }
}

// A kind that was defined just now: quotas that count it know their number from here on.
void ResourceQuotaController::OnListed(std::size_t index) {
  const client::Resource& kind = kinds()[index].info.resource;
  const CachedObjects objects(host().caches);
  for (const auto& [key, quota] : quotas_.objects()) {
    const bool matters =
        !quota::MatchingResources(kind.group, kind.plural, quota["spec"]["hard"], objects).empty();
    if (matters) Add(key, kSettle);
  }
}

bool ResourceQuotaController::IsBehind(const Cache& cache, const std::string& quota,
                                       const std::string& name) const {
  const auto charged = charged_.find(quota);
  if (charged == charged_.end()) return false;
  const auto revision = charged->second.find(name);
  return revision != charged->second.end() && cache.reached() <= revision->second;
}

Value ResourceQuotaController::UsedOf(const Value& quota, Copies& copies) {
  const CachedObjects objects(host().caches);
  const Value& hard = quota["spec"]["hard"];
  const std::string_view ns = client::NamespaceOf(quota);
  const Amounts known = quota::AmountsOf(quota["status"]["used"]);
  Amounts used;
  // Names of which a copy does not hold all that was charged, and those of which one does.
  std::set<std::string> behind;
  std::set<std::string> reached;
  for (const auto& [info, cache, defined] : kinds()) {
    if (defined && cache->state() != Cache::State::kListed) continue;
    const client::Resource& kind = info.resource;
    const Names names = quota::MatchingResources(kind.group, kind.plural, hard, objects);
    if (names.empty()) continue;
    for (const std::string& name : names) used.try_emplace(name);
    for (const Value* object : cache->InNamespace(ns)) {
      if (!quota::InScopes(quota, kind.group, kind.plural, *object)) continue;
      for (const auto& [name, amount] :
           quota::UsageOf(kind.group, kind.plural, *object, objects, Now())) {
        if (!hard.Has(name)) continue;
        const auto [sum, added] = used.try_emplace(name, amount);
        if (!added) sum->second.Add(amount);
      }
    }
    if (!defined) continue;
    for (const std::string& name : names) {
      (IsBehind(*cache, client::KeyOf(quota), name) ? behind : reached).insert(name);
    }
  }
  // After all sums, since several kinds take of one name (requests of claims and of pods).
  const auto changed = changed_.find(client::KeyOf(quota));
  for (const std::string& name : behind) {
    const Duration wait = reached.contains(name) ? kQuiet : kCatchUp;
    if (changed == changed_.end() || Now() >= changed->second + wait) continue;
    const auto charged = known.find(name);
    if (charged == known.end() || charged->second.Compare(used[name]) <= 0) continue;
    used[name] = charged->second;
    copies = Copies::kBehind;
  }
  // What nobody here counts stays as it was.
  Value list = Value::Object();
  for (const json::Member& limit : hard.Members()) {
    if (const auto amount = used.find(limit.key()); amount != used.end()) {
      list.Set(limit.key(), amount->second.ToString());
    } else if (quota["status"]["used"].Has(limit.key())) {
      list.Set(limit.key(), quota["status"]["used"][limit.key()]);
    }
  }
  return list;
}

Work ResourceQuotaController::Sync(const std::string& key) {
  Work work;
  const Value* quota = quotas_.Get(key);
  if (quota == nullptr) return work;
  const Value& status = (*quota)["status"];
  Copies copies = Copies::kUpToDate;
  Value used = UsedOf(*quota, copies);
  const bool dirty = !SameAmounts((*quota)["spec"]["hard"], status["hard"]) ||
                     !status["hard"].IsObject() || !status["used"].IsObject() ||
                     !SameAmounts(used, status["used"]);
  if (dirty && status["used"].IsObject()) {
    // What it was charged for last may not be in the copies yet.
    const Duration left = changed_[key] + kSettle - Now();
    if (left > Duration(0)) {
      work.again = left;
      return work;
    }
  }
  if (dirty) {
    Value next = *quota;
    next.Set("status",
             Value::Object({{"hard", (*quota)["spec"]["hard"]}, {"used", std::move(used)}}));
    // The version says no when the API server has charged the quota meanwhile.
    work.actions.push_back(
        {.request = client::UpdateRequest(resources::kResourceQuotas, std::move(next), "status")});
  }
  work.again = copies == Copies::kBehind ? kBehindWait : kResync;
  return work;
}

}  // namespace drachma::controllers
