#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/allocator.h"
#include "allocator/capacity.h"
#include "allocator/inventory_impl.h"
#include "allocator/memo.h"

// The prepared form of claims. Private to this folder.
namespace drachma::allocator {

// A constraint of a claim as it bears on one request.
struct ConstraintUse {
  std::uint32_t constraint = 0;  // index in the claim
  ColumnIndex column = 0;
};

// A request without alternatives, or one alternative of a request.
struct RequestPlan {
  std::uint32_t claim = 0;
  std::uint32_t request = 0;
  int alternative = -1;  // -1: the request has none
  std::string name;      // as results name it: "request" or "request/alternative"
  std::string own_name;  // without the parent, as upstream's messages name it
  const api::DeviceRequirements* requirements = nullptr;
  api::DeviceClass device_class;
  // What validation found, to be reported when upstream would: before or after a list of all
  // devices could be made there is no difference, such a request is never searched.
  std::string fault;
  bool all = false;
  bool admin = false;
  std::int64_t count = 0;
  std::vector<ExpressionIndex> expressions;  // of the class, then of the request
  std::size_t class_expressions = 0;
  bool derives = false;  // a constraint looks at an attribute that the request derives
  std::vector<ConstraintUse> constraints;
};

struct RequestGroup {
  std::string fault;                 // features that are off
  std::vector<std::uint32_t> plans;  // one, or one per alternative
  bool alternatives = false;
};

struct ConstraintPlan {
  bool distinct = false;
  std::string attribute;
};

struct ClaimPlan {
  std::uint32_t first_request = 0;  // number of the first request among those of all claims
  std::vector<RequestGroup> requests;
  std::vector<ConstraintPlan> constraints;
  std::string constraint_fault;
};

struct Problem::Impl {
  Inventory* inventory = nullptr;
  Inventory::Impl* table = nullptr;
  std::vector<api::ResourceClaim> claims;
  std::vector<ClaimPlan> plans_by_claim;
  std::vector<RequestPlan> plans;
  std::vector<ExpressionIndex> expressions;  // of all plans, each once
  std::vector<ColumnIndex> columns;          // of all constraints, each once
  // Under best-fit: the attribute that groups devices which no constraint groups.
  std::optional<ColumnIndex> natural_group;
  std::uint64_t epoch = 0;     // of the memo that the indices belong to
  std::uint32_t requests = 0;  // of all claims
  bool any_admin = false;
  bool any_all = false;
  // Something is wrong with the claims themselves, or they ask for more than a claim may get.
  bool any_fault = false;
  // Only matching and being free counts: no constraints, capacities, alternatives or modes.
  bool simple = true;
  // The alternatives of a claim may add up to more devices than a claim may get.
  bool may_exceed = false;

  [[nodiscard]] const Features& features() const { return table->options.features; }
};

}  // namespace drachma::allocator
