#include "cel/syntax/recovery_strategy.h"

#include <utility>

namespace drachma::cel {
namespace {

using enum TokenKind;

enum StateKind : std::uint8_t { kPlain, kBlock, kLoop };
struct State {
  StateKind kind;
  std::int16_t first_target;
  std::int16_t follow;  // of a state that enters a rule: where it goes on afterwards
  std::uint64_t next;   // a bit for each token
};
constexpr State kStates[] = {
#include "cel/syntax/grammar_states.inc"
};

constexpr std::array<std::string_view, 38> kTokenNames = {
    "",       "'=='",       "'!='",          "'in'",      "'<'",     "'<='",     "'>='",
    "'>'",    "'&&'",       "'||'",          "'['",       "']'",     "'{'",      "'}'",
    "'('",    "')'",        "'.'",           "','",       "'-'",     "'!'",      "'?'",
    "':'",    "'+'",        "'*'",           "'/'",       "'%'",     "'true'",   "'false'",
    "'null'", "WHITESPACE", "COMMENT",       "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING",
    "BYTES",  "IDENTIFIER", "ESC_IDENTIFIER"};
constexpr int kLiteralNames = 29;  // the first ones are written as they stand in a text

std::string NamesOf(std::uint64_t expected) {
  std::vector<std::string_view> names;
  if ((expected & kEofBit) != 0) names.push_back("<EOF>");
  for (std::size_t i = 1; i < kTokenNames.size(); ++i) {
    if ((expected >> i & 1) != 0) names.push_back(kTokenNames[i]);
  }
  if (names.size() == 1) return std::string(names[0]);
  std::string text = "{";
  for (const std::string_view name : names) {
    if (text.size() > 1) text += ", ";
    text += name;
  }
  return text + "}";
}

std::string Quote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    switch (c) {
      case '\t':
        quoted += "\\t";
        break;
      case '\n':
        quoted += "\\n";
        break;
      case '\r':
        quoted += "\\r";
        break;
      default:
        quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace

RecoveryStrategy::RecoveryStrategy(const Source& source, const Tokens& tokens)
    : source_(source), errors_(tokens.errors) {
  for (const Token& token : tokens.tokens) {
    const std::string_view text =
        token.kind == kEof ? "<EOF>" : source.text().substr(token.begin, token.end - token.begin);
    tree_.tokens.push_back({.kind = token.kind, .begin = token.begin, .text = text});
  }
  count_ = static_cast<int>(tree_.tokens.size());
}

// --- Tokens

void RecoveryStrategy::Touch(int index) {
  index = std::min(index, count_ - 1);
  for (; next_error_ < errors_.size() && errors_[next_error_].begin < tree_.tokens[index].begin;
       ++next_error_) {
    const LexicalError& error = errors_[next_error_];
    Report(error.begin,
           "token recognition error at: '" +
               std::string(source_.text().substr(error.begin, error.end - error.begin)) + "'");
  }
}

void RecoveryStrategy::Consume() {
  if (at_ < count_ - 1) ++at_;
  Touch(at_);
}

void RecoveryStrategy::ConsumeRecovering(int& consumed) {
  if (consumed >= kLookaheadLimit) {
    tree_.issues.push_back(
        {.location = {}, .message = "error recovery token lookahead limit exceeded: 256"});
    throw Stop();
  }
  ++consumed;
  Consume();
}

// --- Reports

void RecoveryStrategy::Report(std::uint32_t offset, const std::string& message) {
  if (reports_ >= kIssueLimit) {
    Add(offset, "More than 100 syntax errors");
    throw Stop();
  }
  ++reports_;
  Add(offset, message);
}

void RecoveryStrategy::Add(std::uint32_t offset, const std::string& message) {
  // Upstream's columns begin with -1 where there is no text at all.
  const Location location = source_.text().empty() ? Location{1, -1} : source_.LocationOf(offset);
  tree_.issues.push_back({.location = location, .message = "Syntax error: " + message});
}

void RecoveryStrategy::ReportAt(int token, const std::string& message) {
  Report(tree_.tokens[token].begin, message);
}

std::string RecoveryStrategy::Display(int token) const { return Quote(tree_.tokens[token].text); }

// --- What can come next

std::uint64_t RecoveryStrategy::NextIn(int state, const Context* context) const {
  std::uint64_t following = kStates[state].next;
  std::uint64_t expected = following;
  while (context != nullptr && context->invoking_state >= 0 && (following & kEpsilon) != 0) {
    following = kStates[kStates[context->invoking_state].follow].next;
    expected |= following;
    context = context->parent;
  }
  expected &= ~kEpsilon;
  if ((following & kEpsilon) != 0) expected |= kEofBit;
  return expected;
}

std::uint64_t RecoveryStrategy::RecoverySet() const {
  std::uint64_t set = 0;
  for (const Context* context = context_; context != nullptr && context->invoking_state >= 0;
       context = context->parent) {
    set |= kStates[kStates[context->invoking_state].follow].next;
  }
  return set & ~kEpsilon;
}

// --- The error strategy

void RecoveryStrategy::CheckAttempts() {
  if (attempts_++ != kAttemptLimit) return;
  ReportAt(Here(), "error recovery attempt limit exceeded: 30");
  throw Stop();
}

void RecoveryStrategy::FailMismatch() {
  Fail({.kind = Pending::Kind::kMismatch, .offending = Here(), .expected = Expected()});
}

void RecoveryStrategy::FailNoAlternative(int ahead) {
  La(ahead);
  Fail({.kind = Pending::Kind::kNoAlternative,
        .start = Here(),
        .offending = std::min(Here() + ahead - 1, count_ - 1)});
}

void RecoveryStrategy::ReportUnwanted() {
  if (recovering_) return;
  recovering_ = true;
  ReportAt(Here(), "extraneous input " + Display(Here()) + " expecting " + NamesOf(Expected()));
}

bool RecoveryStrategy::DeleteToken(int* consumed) {
  if ((Bit(La(2)) & Expected()) == 0) return false;
  ReportUnwanted();
  if (consumed != nullptr) {
    ConsumeRecovering(*consumed);
  } else {
    Consume();
  }
  Matched();
  return true;
}

void RecoveryStrategy::Sync() {
  if (recovering_) return;
  const State& state = kStates[state_];
  if ((state.next & kEpsilon) != 0 || LaIn(state.next)) return;
  if (state.kind == kBlock) {
    if (!DeleteToken(nullptr)) FailMismatch();
  } else if (state.kind == kLoop) {
    ReportUnwanted();
    const std::uint64_t set = Expected() | RecoverySet();
    while (La(1) != kEof && !LaIn(set)) Consume();
  }
}

int RecoveryStrategy::Match(TokenKind kind) {
  if (La(1) == kind) {
    Matched();
    const int token = Here();
    Consume();
    return token;
  }
  CheckAttempts();
  int consumed = 0;
  if (DeleteToken(&consumed)) {
    const int token = Here();
    ConsumeRecovering(consumed);
    return token;
  }
  const int target = kStates[state_].first_target;
  if (LaIn(NextIn(target, context_))) {
    if (!recovering_) {
      recovering_ = true;
      ReportAt(Here(), "missing " + NamesOf(Expected()) + " at " + Display(Here()));
    }
    return MakeUp(Expected());
  }
  FailMismatch();
  return kNoToken;
}

int RecoveryStrategy::MakeUp(std::uint64_t expected) {
  int kind = -1;
  if ((expected & kEofBit) == 0) {
    kind = 1;
    while ((expected >> kind & 1) == 0) ++kind;
  }
  std::string text = "<missing undefined>";
  if (kind < 0) {
    text = "<missing EOF>";
  } else if (kind < kLiteralNames) {
    text = "<missing " + std::string(kTokenNames[kind]) + ">";
  }
  tree_.made_up.push_back(std::move(text));
  const int current = La(1) == kEof && Here() > 0 ? Here() - 1 : Here();
  tree_.tokens.push_back({.kind = static_cast<TokenKind>(kind),
                          .begin = tree_.tokens[current].begin,
                          .text = tree_.made_up.back()});
  return static_cast<int>(tree_.tokens.size()) - 1;
}

void RecoveryStrategy::ReportPending() {
  if (recovering_) return;
  recovering_ = true;
  if (pending_.kind == Pending::Kind::kMismatch) {
    return ReportAt(pending_.offending, "mismatched input " + Display(pending_.offending) +
                                            " expecting " + NamesOf(pending_.expected));
  }
  const std::string text = TextBetween(pending_.start, pending_.offending);
  const std::string_view last = tree_.tokens[pending_.offending].text;
  const bool reserved = last == "true" || last == "false" || last == "null";
  // One character and a word that is no identifier: upstream rewrites the message.
  if (reserved && CountCodePoints(text) == last.size() + 1 && text[0] != '\n') {
    return ReportAt(pending_.offending,
                    "mismatched input " + Quote(last) + " expecting IDENTIFIER");
  }
  ReportAt(pending_.offending, "no viable alternative at input " + Quote(text));
}

std::string RecoveryStrategy::TextBetween(int start, int end) const {
  if (tree_.tokens[start].kind == kEof) return "<EOF>";
  const std::uint32_t begin = tree_.tokens[start].begin;
  std::uint32_t stop = tree_.tokens[end].begin;
  if (tree_.tokens[end].kind != kEof) {
    stop += static_cast<std::uint32_t>(tree_.tokens[end].text.size());
  }
  std::string text;
  std::uint32_t at = begin;
  for (const LexicalError& error : errors_) {
    if (error.begin < at || error.begin >= stop) continue;
    text += source_.text().substr(at, error.begin - at);
    at = error.end;
  }
  return text + std::string(source_.text().substr(at, stop - at));
}

void RecoveryStrategy::Recover() {
  CheckAttempts();
  int consumed = 0;
  if (last_error_index_ == Here() &&
      std::ranges::find(last_error_states_, state_) != last_error_states_.end()) {
    ConsumeRecovering(consumed);
  }
  last_error_index_ = Here();
  last_error_states_.push_back(state_);
  const std::uint64_t set = RecoverySet();
  while (La(1) != kEof && !LaIn(set)) ConsumeRecovering(consumed);
}

// --- Rules

TreeNode* RecoveryStrategy::NewNode(Rule rule) {
  TreeNode& node = tree_.nodes.emplace_back();
  node.rule = rule;
  node.start = tree_.tokens[Here()].begin;
  return &node;
}

}  // namespace drachma::cel
