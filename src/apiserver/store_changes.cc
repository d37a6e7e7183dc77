#include "apiserver/store_changes.h"

#include <utility>

namespace drachma::apiserver {

bool StoreChanges::Take() {
  if (!changed_->load(std::memory_order_acquire)) return false;
  changed_->store(false, std::memory_order_release);
  // A watch that fell behind has lost nothing that matters here, and starts anew.
  if (watch_ != nullptr && watch_->Take()) return true;
  auto watch = store_.Subscribe(scope_, store_.Current(), [changed = changed_] {
    changed->store(true, std::memory_order_release);
  });
  watch_ = watch ? std::move(*watch) : nullptr;
  // Without a watch everything counts as changed.
  if (watch_ == nullptr || !watch_->Take()) changed_->store(true, std::memory_order_release);
  return true;
}

}  // namespace drachma::apiserver
