#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cel/check/type.h"
#include "cel/syntax/macros.h"

namespace drachma::cel {

// One signature of a function.
struct Overload {
  std::string_view id;
  bool member = false;
  std::vector<const Type*> args;  // of a member: the receiver first
  const Type* result = nullptr;
  // The type parameters named in the signature; empty for most.
  std::vector<std::string_view> type_params;
};

struct Function {
  std::string name;
  std::vector<Overload> overloads;  // in the order in which the checker tries them
};

// A type with fields: what a variable of the host offers.
struct StructDecl {
  const Type* type = nullptr;
  std::map<std::string, const Type*, std::less<>> fields;
};

struct TransparentHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};
template <typename T>
using NameMap = std::unordered_map<std::string, T, TransparentHash, std::equal_to<>>;

// What names mean: variables, functions, types, and the switches of the checker. Built once, then
// shared by any number of threads.
class CheckEnv {
 public:
  CheckEnv();
  // Adds to what `parent` declares; `parent` must outlive it.
  explicit CheckEnv(const CheckEnv* parent);
  CheckEnv(const CheckEnv&) = delete;
  CheckEnv& operator=(const CheckEnv&) = delete;

  [[nodiscard]] Arena& arena() { return arena_; }

  void AddVariable(std::string_view name, const Type* type);
  // A type's name, usable as a value: `type(x) == net.IP`.
  void AddTypeName(std::string_view name, const Type* type);
  void AddStruct(StructDecl declaration);
  // `name` and all names below it (`name.spec.containers`) are structs whose fields have any names
  // and are dyn. `name` must live as long as this.
  void AddOpenStruct(std::string_view name) { open_structs_.push_back(name); }
  // `signature` is "(string, int) -> bool", or "string.(int) -> bool" for a member. Type parameters
  // are single capital letters. An overload of the same id replaces the earlier one in its place.
  // REQUIRES: the signature is well formed (it is text of our own).
  void AddFunction(std::string_view function, std::string_view id, std::string_view signature);
  void AddOverload(std::string_view function, Overload overload);
  // Names that ParseType takes for opaque types.
  void AddOpaqueName(std::string_view name) { opaque_names_.push_back(name); }

  [[nodiscard]] const Type* FindVariable(std::string_view name) const;
  [[nodiscard]] const Function* FindFunction(std::string_view name) const;
  [[nodiscard]] const Type* FindTypeName(std::string_view name) const;
  [[nodiscard]] const StructDecl* FindStruct(std::string_view name) const;
  [[nodiscard]] bool IsOpenStruct(std::string_view name) const;
  [[nodiscard]] std::span<const std::string_view> opaque_names() const { return opaque_names_; }

  MacroTable macros;
  std::string container;  // the package that names are resolved in; mostly empty
  bool cross_type_comparisons = true;

 private:
  const CheckEnv* parent_ = nullptr;
  Arena arena_;
  NameMap<const Type*> variables_;
  NameMap<const Type*> type_names_;
  NameMap<StructDecl> structs_;
  NameMap<Function> functions_;
  std::vector<std::string_view> opaque_names_;
  std::vector<std::string_view> open_structs_;
};

// The names that `name` may stand for in `container`, most specific first (a leading dot means the
// root).
[[nodiscard]] std::vector<std::string> CandidateNames(std::string_view container,
                                                      std::string_view name);

}  // namespace drachma::cel
