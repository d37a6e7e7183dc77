#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cel/syntax/arena.h"
#include "cel/syntax/source.h"

namespace drachma::cel {

enum class ExprKind : std::uint8_t {
  kUnspecified,
  kLiteral,
  kIdent,
  kSelect,
  kCall,
  kList,
  kMap,
  kStruct,
  kComprehension,
};

enum class LiteralKind : std::uint8_t { kNull, kBool, kInt, kUint, kDouble, kString, kBytes };

struct Literal {
  LiteralKind kind = LiteralKind::kNull;
  union {
    bool boolean;
    std::int64_t integer;
    std::uint64_t unsigned_integer;
    double number;
  };
  std::string_view text;  // of strings and bytes

  Literal() : integer(0) {}
};

struct Expr;

// An entry of a map literal (key) or a field of a struct literal (field).
struct Entry {
  std::int32_t id = 0;
  Expr* key = nullptr;
  std::string_view field;
  Expr* value = nullptr;
  bool optional = false;
};

// range.fold(iter_var[, iter_var2], accu_var = accu_init; while condition: accu_var = step;
// result): what every macro over lists and maps becomes.
struct Comprehension {
  Expr* range = nullptr;
  std::string_view iter_var;
  std::string_view iter_var2;  // empty when there is one variable
  std::string_view accu_var;
  Expr* accu_init = nullptr;
  Expr* condition = nullptr;
  Expr* step = nullptr;
  Expr* result = nullptr;
};

// A node of the tree. Which members mean something depends on `kind`. Nodes live in the Ast's
// arena. Ids are unique but for sub-expressions that a macro uses twice.
struct Expr {
  ExprKind kind = ExprKind::kUnspecified;
  bool test_only = false;  // kSelect: has()
  bool member = false;     // kCall: target.name(args)
  std::int32_t id = 0;
  std::string_view name;   // identifier, field, function or struct type
  Expr* target = nullptr;  // kSelect: operand; kCall: receiver
  std::span<Expr*> args;   // kCall: arguments; kList: elements
  std::span<Entry> entries;
  std::span<std::int32_t> optional_indices;  // kList: elements written with '?'
  Literal literal;
  Comprehension* comprehension = nullptr;
};

// Where a node stands: `start` is the place that messages name (the operator of a binary
// operation), begin and end are the bounds of its whole text. Byte offsets.
struct SourceRange {
  std::int32_t start = -1;
  std::int32_t begin = -1;
  std::int32_t end = -1;
};

// Nodes of one expression. Macros that use their target twice (optMap) double the tree with each
// link of a chain; upstream has no limit here.
inline constexpr std::size_t kNodesMax = 100'000;

// A parsed expression: the tree, its memory and the places of its nodes.
struct Ast {
  explicit Ast(std::string_view text) : source(text) {}

  Arena arena;
  Source source;
  Expr* root = nullptr;
  std::vector<SourceRange> ranges;  // by id
  bool too_large = false;           // an expansion was cut off at kNodesMax

  [[nodiscard]] Location LocationOf(std::int32_t id) const;
  // The source text of a node; empty for nodes a macro made.
  [[nodiscard]] std::string_view TextOf(std::int32_t id) const;
};

}  // namespace drachma::cel
