#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/executor.h"
#include "chaos.h"
#include "node/dra_plugin.h"

namespace drachma::simulation {

// Which claims are prepared, by node and driver.
using PreparedClaims = std::map<std::pair<std::string, std::string>, std::set<std::string>>;

// A driver that fails now and then: before its work, after it, or it is slow.
class FaultyDriver final : public node::DraPlugin {
 public:
  // All must outlive it; `executor` is its node's.
  FaultyDriver(std::string node, std::unique_ptr<node::DraPlugin> inner, Executor& executor,
               Chaos& chaos, PreparedClaims& prepared);
  ~FaultyDriver() override;

  [[nodiscard]] std::string_view driver() const override { return inner_->driver(); }
  void Prepare(std::span<const json::Value> claims, PrepareDone done) override;
  void Unprepare(std::span<const node::ClaimRef> claims, UnprepareDone done) override;
  [[nodiscard]] std::vector<node::Pool> Pools() const override { return inner_->Pools(); }
  void OnPoolsChanged(std::function<void()> changed) override {
    inner_->OnPoolsChanged(std::move(changed));
  }

 private:
  const std::pair<std::string, std::string> place_;  // node, driver
  const std::unique_ptr<node::DraPlugin> inner_;
  Executor& executor_;
  Chaos& chaos_;
  PreparedClaims& prepared_;
};

}  // namespace drachma::simulation
