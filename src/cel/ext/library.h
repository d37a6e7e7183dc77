#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cel/check/env.h"
#include "cel/eval/function.h"

namespace drachma::cel {

// One overload of a library: its declaration and its body.
struct LibraryFunction {
  std::string_view function;
  std::string_view overload;
  std::string_view signature;   // see CheckEnv::AddFunction
  FunctionBody body = nullptr;  // null: declared only, or the function has one body for all
  std::uint8_t flags = kPlain;
};
// One body for all overloads of a function.
struct LibrarySingleton {
  std::string_view function;
  FunctionBody body = nullptr;
  Trait trait = Trait::kNone;
};

// What an expression may use. Build it completely, then share it between threads.
struct Environment {
  CheckEnv check;
  FunctionTable functions{check};
  // Checks of literals after type checking, in this order.
  bool validate_literals = false;  // duration, timestamp, matches and homogeneous aggregates
  bool validate_network = false;   // ip and cidr literals
  enum class FormatVersion : std::uint8_t { kNone, kLocale, kPlain };
  FormatVersion format = FormatVersion::kNone;  // checks of string.format
  bool block = false;                           // cel.@block stands outside of these checks

  void Add(std::span<const LibraryFunction> functions_of_library);
  void Add(std::span<const LibrarySingleton> singletons);
};

// The libraries, by the names that cel-go and Kubernetes give them.
void AddStandard(Environment& env);
void AddOptional(Environment& env);
void AddBindings(Environment& env);
void AddBlock(Environment& env);  // cel.@block and the macros of the conformance tests
enum class StringsVersion : std::uint8_t { kTwo, kNewest };
void AddStrings(Environment& env, StringsVersion version);
void AddLists(Environment& env);
void AddSets(Environment& env);
void AddMath(Environment& env);
void AddEncoders(Environment& env);
void AddTwoVariableComprehensions(Environment& env);
void AddNetwork(Environment& env);  // cel-go's ip and cidr

void AddKubernetesLists(Environment& env);  // isSorted, sum, min, max, indexOf, lastIndexOf
void AddIncludes(Environment& env);
void AddKubernetesUrls(Environment& env);
void AddKubernetesRegex(Environment& env);
// Values of these types come from authorizer.h.
void AddKubernetesAuthorizer(Environment& env);
void AddKubernetesAuthorizerSelectors(Environment& env);
void AddKubernetesQuantity(Environment& env);
void AddKubernetesIp(Environment& env);
void AddKubernetesCidr(Environment& env);
void AddKubernetesFormat(Environment& env);
void AddKubernetesSemver(Environment& env);

}  // namespace drachma::cel
