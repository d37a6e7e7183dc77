// Kubernetes' library of authorization (apiserver's pkg/cel/library/authz.go). Its types have no
// members but functions, and no value is equal to another one.
#include "cel/ext/authorizer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "cel/ext/library.h"

namespace drachma::cel {
namespace {

using Args = std::span<const Value>;

class ReceiverClass final : public OpaqueClass {
 public:
  explicit constexpr ReceiverClass(std::string_view name) : name_(name) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] Value Equal(const OpaqueData& self, const Value& other) const override {
    if (other.IsError()) return other;
    if (other.kind() != ValueKind::kOpaque || other.AsOpaque().type != this) {
      return NoSuchOverload();
    }
    return Value::Bool(&self == &other.AsOpaque());
  }
  [[nodiscard]] std::string ToString(const OpaqueData&) const override {
    return std::string(name_);
  }

 private:
  std::string_view name_;
};

const ReceiverClass kAuthorizer{kAuthorizerType};
const ReceiverClass kPathCheck{"kubernetes.authorization.PathCheck"};
const ReceiverClass kGroupCheck{"kubernetes.authorization.GroupCheck"};
const ReceiverClass kResourceCheck{kResourceCheckType};
const ReceiverClass kDecision{"kubernetes.authorization.Decision"};

// A question as far as it has been asked.
struct QuestionData : OpaqueData {
  const AccessChecker* checker = nullptr;
  AccessQuestion question;
};
struct DecisionData : OpaqueData {
  AccessDecision decision;
};

Value Ask(Arena& arena, const OpaqueClass& type, const AccessChecker* checker,
          AccessQuestion question) {
  auto* data = arena.Own<QuestionData>();
  data->type = &type;
  data->checker = checker;
  data->question = std::move(question);
  return Value::Opaque(data);
}

const QuestionData& QuestionOf(const Value& value) {
  return static_cast<const QuestionData&>(value.AsOpaque());
}

bool IsBlank(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return std::isspace(c) != 0; });
}

// The question of args[0] with args[1] in `kMember`.
template <const ReceiverClass& kResult, std::string AccessQuestion::* kMember>
Value With(Arena& arena, Args args) {
  const QuestionData& data = QuestionOf(args[0]);
  AccessQuestion question = data.question;
  question.*kMember = args[1].AsText();
  return Ask(arena, kResult, data.checker, std::move(question));
}

Value Path(Arena& arena, Args args) {
  if (IsBlank(args[1].AsText())) return Value::Error("path must not be empty");
  return With<kPathCheck, &AccessQuestion::path>(arena, args);
}

Value Resource(Arena& arena, Args args) {
  if (IsBlank(args[1].AsText())) return Value::Error("resource must not be empty");
  return With<kResourceCheck, &AccessQuestion::resource>(arena, args);
}

// One label of a name: letters, digits and dashes, no dash at an end.
bool IsLabel(std::string_view text) {
  const auto inner = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !text.empty() && std::ranges::all_of(text, inner) && text.front() != '-' &&
         text.back() != '-';
}

bool IsNamespaceName(std::string_view text) {
  constexpr std::size_t kLabelMax = 63;
  return text.size() <= kLabelMax && IsLabel(text);
}

bool IsAccountName(std::string_view text) {
  constexpr std::size_t kSubdomainMax = 253;
  if (text.size() > kSubdomainMax) return false;
  for (std::size_t dot = text.find('.'); dot != std::string_view::npos; dot = text.find('.')) {
    if (!IsLabel(text.substr(0, dot))) return false;
    text.remove_prefix(dot + 1);
  }
  return IsLabel(text);
}

Value ServiceAccount(Arena& arena, Args args) {
  if (!IsAccountName(args[2].AsText())) return Value::Error("Invalid service account name");
  if (!IsNamespaceName(args[1].AsText())) return Value::Error("Invalid service account namespace");
  const QuestionData& data = QuestionOf(args[0]);
  AccessQuestion question = data.question;
  question.account_namespace = args[1].AsText();
  question.account_name = args[2].AsText();
  return Ask(arena, kAuthorizer, data.checker, std::move(question));
}

Value Check(Arena& arena, Args args) {
  const QuestionData& data = QuestionOf(args[0]);
  AccessQuestion question = data.question;
  question.verb = args[1].AsText();
  auto* decision = arena.Own<DecisionData>();
  decision->type = &kDecision;
  decision->decision = data.checker->Check(question);
  return Value::Opaque(decision);
}

const AccessDecision& DecisionOf(const Value& value) {
  return static_cast<const DecisionData&>(value.AsOpaque()).decision;
}

Value Errored(Arena&, Args args) { return Value::Bool(!DecisionOf(args[0]).error.empty()); }
Value ErrorText(Arena& arena, Args args) { return MakeString(arena, DecisionOf(args[0]).error); }
Value Allowed(Arena&, Args args) { return Value::Bool(DecisionOf(args[0]).allowed); }
Value Reason(Arena& arena, Args args) { return MakeString(arena, DecisionOf(args[0]).reason); }

constexpr auto kAuthorizerLibrary = std::to_array<LibraryFunction>({
    {"path", "authorizer_path",
     "kubernetes.authorization.Authorizer.(string) -> kubernetes.authorization.PathCheck", Path},
    {"group", "authorizer_group",
     "kubernetes.authorization.Authorizer.(string) -> kubernetes.authorization.GroupCheck",
     With<kGroupCheck, &AccessQuestion::group>},
    {"serviceAccount", "authorizer_serviceaccount",
     "kubernetes.authorization.Authorizer.(string, string) -> "
     "kubernetes.authorization.Authorizer",
     ServiceAccount},
    {"resource", "groupcheck_resource",
     "kubernetes.authorization.GroupCheck.(string) -> kubernetes.authorization.ResourceCheck",
     Resource},
    {"subresource", "resourcecheck_subresource",
     "kubernetes.authorization.ResourceCheck.(string) -> kubernetes.authorization.ResourceCheck",
     With<kResourceCheck, &AccessQuestion::subresource>},
    {"namespace", "resourcecheck_namespace",
     "kubernetes.authorization.ResourceCheck.(string) -> kubernetes.authorization.ResourceCheck",
     With<kResourceCheck, &AccessQuestion::ns>},
    {"name", "resourcecheck_name",
     "kubernetes.authorization.ResourceCheck.(string) -> kubernetes.authorization.ResourceCheck",
     With<kResourceCheck, &AccessQuestion::name>},
    {"check", "pathcheck_check",
     "kubernetes.authorization.PathCheck.(string) -> kubernetes.authorization.Decision", Check},
    {"check", "resourcecheck_check",
     "kubernetes.authorization.ResourceCheck.(string) -> kubernetes.authorization.Decision", Check},
    {"errored", "decision_errored", "kubernetes.authorization.Decision.() -> bool", Errored},
    {"error", "decision_error", "kubernetes.authorization.Decision.() -> string", ErrorText},
    {"allowed", "decision_allowed", "kubernetes.authorization.Decision.() -> bool", Allowed},
    {"reason", "decision_reason", "kubernetes.authorization.Decision.() -> string", Reason},
});
constexpr auto kSelectorLibrary = std::to_array<LibraryFunction>({
    {"fieldSelector", "authorizer_fieldselector",
     "kubernetes.authorization.ResourceCheck.(string) -> kubernetes.authorization.ResourceCheck",
     With<kResourceCheck, &AccessQuestion::field_selector>},
    {"labelSelector", "authorizer_labelselector",
     "kubernetes.authorization.ResourceCheck.(string) -> kubernetes.authorization.ResourceCheck",
     With<kResourceCheck, &AccessQuestion::label_selector>},
});

}  // namespace

Value MakeAuthorizer(Arena& arena, const AccessChecker& checker) {
  return Ask(arena, kAuthorizer, &checker, {});
}

Value MakeResourceCheck(Arena& arena, const AccessChecker& checker, AccessQuestion question) {
  return Ask(arena, kResourceCheck, &checker, std::move(question));
}

void AddKubernetesAuthorizer(Environment& env) { env.Add(kAuthorizerLibrary); }
void AddKubernetesAuthorizerSelectors(Environment& env) { env.Add(kSelectorLibrary); }

}  // namespace drachma::cel
