#include "lint/convert_labels.h"

#include <fmt/format.h>

#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include "json/json.h"
#include "lint/gfd_labels.h"
#include "lint/path.h"
#include "lint/tree.h"

namespace drachma::lint {
namespace {

using json::Value;

constexpr std::string_view kRequired =
    "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution";

class LabelConverter {
 public:
  LabelConverter(const Value& object, const std::string& pod_path, bool mig, Conversion& out)
      : object_(object), pod_path_(pod_path), pod_(ValueAt(object, pod_path)), out_(out) {
    taken_.mig = AsksForParts();
    parts_ = mig || taken_.mig;
  }

  LabelsTaken Run() {
    ReadNodeSelector();
    ReadAffinity();
    return std::move(taken_);
  }

 private:
  // MIG's single strategy offers parts by the name of the whole; products say their profile.
  [[nodiscard]] bool AsksForParts() const {
    const Value& labels = pod_["nodeSelector"];
    const std::string text = json::Write(labels) + json::Write(pod_["affinity"]);
    return labels["nvidia.com/mig.strategy"].AsString() == "single" ||
           text.find("-MIG-") != std::string::npos;
  }

  // Whether the condition can go, since the device's selectors say it.
  bool TakeOver(std::string_view key, std::string_view op, std::span<const std::string> values,
                const std::string& place) {
    const LabelMeaning meaning = MeaningOf(key, op, values, parts_);
    if (meaning.type == LabelMeaning::Type::kStays) {
      out_.Warn(place, "node-label-stays",
                fmt::format("{} is a label of nodes by GPU feature discovery that no attribute of "
                            "devices says; it stays",
                            key));
      return false;
    }
    if (!meaning.mig_profile.empty()) taken_.mig_profile = meaning.mig_profile;
    if (!meaning.selector.empty()) taken_.selectors.push_back(meaning.selector);
    return true;
  }

  void ReadNodeSelector() {
    const std::string path = Child(pod_path_, "nodeSelector");
    const Value& labels = pod_["nodeSelector"];
    std::vector<Change> removals;
    for (const json::Member& label : labels.Members()) {
      if (!IsGfdLabel(label.key())) continue;
      const std::string place = Child(path, label.key());
      const std::vector<std::string> values = {std::string(label.value.AsString())};
      if (!TakeOver(label.key(), "In", values, place)) continue;
      removals.push_back({.type = Change::Type::kRemoveMember, .path = place});
    }
    if (removals.size() == labels.size() && !removals.empty()) {
      removals = {{.type = Change::Type::kRemoveMember, .path = path}};
    }
    std::ranges::move(removals, std::back_inserter(taken_.changes));
  }

  void ReadAffinity() {
    const std::string terms_path = Child(pod_path_, std::string(kRequired) + ".nodeSelectorTerms");
    const Value& terms = ValueAt(object_, terms_path);
    for (std::size_t t = 0; t < terms.size(); ++t) {
      const std::string path = Child(Item(terms_path, t), "matchExpressions");
      const Value& expressions = terms.Items()[t]["matchExpressions"];
      std::vector<std::size_t> gone;
      for (std::size_t i = 0; i < expressions.size(); ++i) {
        const Value& one = expressions.Items()[i];
        if (!IsGfdLabel(one["key"].AsString())) continue;
        const std::string place = Item(path, i);
        if (terms.size() > 1) {
          out_.Warn(place, "node-label-stays",
                    "one of several terms: what one alternative asks of its node cannot be "
                    "asked of the device; it stays");
          continue;
        }
        std::vector<std::string> values;
        for (const Value& value : one["values"].Items()) values.emplace_back(value.AsString());
        if (TakeOver(one["key"].AsString(), one["operator"].AsString(), values, place)) {
          gone.push_back(i);
        }
      }
      RemoveExpressions(path, terms.Items()[t], gone);
    }
  }

  void RemoveExpressions(const std::string& path, const Value& term,
                         const std::vector<std::size_t>& gone) {
    if (gone.empty()) return;
    if (gone.size() < term["matchExpressions"].size() || term.Has("matchFields")) {
      for (auto i = gone.rbegin(); i != gone.rend(); ++i) {
        taken_.changes.push_back({.type = Change::Type::kRemoveItem, .path = Item(path, *i)});
      }
      return;
    }
    // Nothing is left of the term: what only leads to it goes with it.
    const Value& affinity = pod_["affinity"];
    std::string top(kRequired);
    if (affinity["nodeAffinity"].size() == 1) {
      top = affinity.size() == 1 ? "affinity" : "affinity.nodeAffinity";
    }
    taken_.changes.push_back({.type = Change::Type::kRemoveMember, .path = Child(pod_path_, top)});
  }

  const Value& object_;
  const std::string& pod_path_;
  const Value& pod_;
  Conversion& out_;
  bool parts_ = false;  // the devices are parts of GPUs, whoever says so
  LabelsTaken taken_;
};

}  // namespace

LabelsTaken TakeLabels(const Value& object, const std::string& pod_path, bool mig,
                       Conversion& out) {
  return LabelConverter(object, pod_path, mig, out).Run();
}

}  // namespace drachma::lint
