#include "store/record.h"

#include <array>
#include <cstddef>
#include <mutex>

#include "json/json.h"

namespace drachma::store {
namespace {

// A mutex per record would cost more memory than the pointer it guards.
std::mutex& LockOf(const Record* record) {
  constexpr std::size_t kLocks = 64;
  static std::array<std::mutex, kLocks> locks;
  return locks[(reinterpret_cast<std::uintptr_t>(record) / alignof(std::max_align_t)) % kLocks];
}

}  // namespace

std::shared_ptr<const std::string> Record::Json() const {
  const std::lock_guard lock(LockOf(this));
  if (auto text = json_.lock()) return text;
  // Not make_shared: the weak pointer would keep its memory.
  std::shared_ptr<const std::string> text(new std::string(json::Write(object)));
  json_ = text;
  return text;
}

void StampResourceVersion(json::Value& object, Revision revision) {
  if (!object.IsObject()) return;
  if (const json::Value* metadata = object.Find("metadata");
      metadata != nullptr && !metadata->IsObject() && !metadata->IsNull()) {
    return;
  }
  object.Edit("metadata").Set("resourceVersion", std::to_string(revision));
}

}  // namespace drachma::store
