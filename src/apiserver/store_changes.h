#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "store/store.h"

namespace drachma::apiserver {

// Tells whether anything in a scope of the store has changed: what caches of it are made again by.
// Taken on one thread; the store must outlive it.
class StoreChanges {
 public:
  StoreChanges(store::Store& store, std::string scope) : store_(store), scope_(std::move(scope)) {}
  ~StoreChanges() = default;
  StoreChanges(const StoreChanges&) = delete;
  StoreChanges& operator=(const StoreChanges&) = delete;

  // Whether something has changed since the last call; true for the first one. Costs one load of
  // an atomic when nothing has. What is read after it is as new as what it told of.
  [[nodiscard]] bool Take();

 private:
  store::Store& store_;
  const std::string scope_;
  const std::shared_ptr<std::atomic<bool>> changed_ = std::make_shared<std::atomic<bool>>(true);
  std::unique_ptr<store::Watch> watch_;
};

}  // namespace drachma::apiserver
