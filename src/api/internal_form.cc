#include "api/internal_form.h"

#include <cstddef>
#include <utility>

#include "api/scalar_codec.h"

namespace drachma::api {
namespace {

using json::Member;
using json::Value;

// stringData is only for writing: what it says ends in data (Convert_v1_Secret_To_core_Secret).
void Secret(Value& secret) {
  if (!secret["stringData"].IsObject()) return;
  const Value texts = secret["stringData"];
  secret.Erase("stringData");
  if (texts.empty()) return;
  Value& data = secret.Edit("data");
  for (const Member& text : texts.Members()) {
    data.Set(text.key(), EncodeBase64(text.value.AsString()));
  }
}

// The generation of the template is a field of the internal type only; in apps/v1 it stands in an
// annotation.
void DaemonSet(Value& set) {
  static constexpr std::string_view kKey = "deprecated.daemonset.template.generation";
  if (set["metadata"]["annotations"].Has(kKey)) return;
  set.Edit("metadata").Edit("annotations").Set(kKey, "0");
}

// Upstream's conversion sets the types of nested claims.
void StatefulSet(Value& set) {
  const std::size_t count = set["spec"]["volumeClaimTemplates"].size();
  for (std::size_t i = 0; i < count; ++i) {
    const Value& claim = set["spec"]["volumeClaimTemplates"].Items()[i];
    if (claim["kind"].AsString() == "PersistentVolumeClaim" &&
        claim["apiVersion"].AsString() == "v1") {
      continue;
    }
    Value typed = Value::Object({{"kind", "PersistentVolumeClaim"}, {"apiVersion", "v1"}});
    for (const Member& member : claim.Members()) {
      if (member.key() != "kind" && member.key() != "apiVersion") {
        typed.Set(member.key(), member.value);
      }
    }
    set.Edit("spec").Edit("volumeClaimTemplates").EditItem(i) = std::move(typed);
  }
}

// There is one list of CIDRs; the single field is its first entry
// (Convert_v1_NodeSpec_To_core_NodeSpec).
void Node(Value& node) {
  const Value cidr = node["spec"]["podCIDR"];
  const Value& cidrs = node["spec"]["podCIDRs"];
  if (cidr.AsString().empty()) {
    if (!cidrs.empty()) {
      Value first = cidrs.Items()[0];
      node.Edit("spec").Set("podCIDR", std::move(first));
    }
  } else if (cidrs.empty() || cidrs.Items()[0] != cidr) {
    node.Edit("spec").Set("podCIDRs", Value::Array({cidr}));
  }
}

struct Form {
  std::string_view group;
  std::string_view kind;
  void (*change)(Value& object);
};

constexpr Form kForms[] = {
    {"", "Node", Node},
    {"", "Secret", Secret},
    {"apps", "DaemonSet", DaemonSet},
    {"apps", "StatefulSet", StatefulSet},
};

}  // namespace

void ThroughInternalForm(std::string_view group, std::string_view kind, Value& object) {
  for (const Form& form : kForms) {
    if (form.group == group && form.kind == kind) form.change(object);
  }
}

}  // namespace drachma::api
