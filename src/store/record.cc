#include "store/record.h"

#include <array>
#include <cstddef>
#include <deque>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "json/json.h"

namespace drachma::store {
namespace {

// A mutex per record would cost more memory than what it guards.
std::mutex& LockOf(const Record* record) {
  constexpr std::size_t kLocks = 64;
  static std::array<std::mutex, kLocks> locks;
  return locks[(reinterpret_cast<std::uintptr_t>(record) / alignof(std::max_align_t)) % kLocks];
}

}  // namespace

struct Record::Deletion {
  std::shared_ptr<const Record> last;
  Stamp stamp;
};

// The records that have both forms, the longest-standing first. One for the process, since what it
// bounds is the process's memory.
class Record::WarmTrees {
 public:
  static WarmTrees& Shared() {
    static auto& trees = *new WarmTrees;  // outlives all stores
    return trees;
  }

  // `record` has both forms now. REQUIRES: no record's lock is held.
  void Add(const Record& record) {
    const std::lock_guard lock(mutex_);
    records_.push_back(record.weak_from_this());
    // Two for one, so that trees that stay because they are shared do not fill the queue for good.
    for (int i = 0; i < 2 && records_.size() > kWarmTreesMax; ++i) {
      const std::shared_ptr<const Record> oldest = records_.front().lock();
      records_.pop_front();
      if (oldest != nullptr && !DropTree(*oldest)) records_.push_back(oldest);
    }
  }

 private:
  // False when others hold the tree.
  static bool DropTree(const Record& record) {
    json::Value tree;  // freed after the lock
    const std::lock_guard lock(LockOf(&record));
    if (record.object_.IsShared()) return false;
    std::swap(tree, record.object_);
    return true;
  }

  std::mutex mutex_;
  std::deque<std::weak_ptr<const Record>> records_;
};

std::shared_ptr<const Record> Record::OfObject(std::string key, Revision created, Revision revision,
                                               json::Value object) {
  auto record = std::make_shared<Record>(Private{}, std::move(key), created, revision);
  record->object_ = std::move(object);
  return record;
}

std::shared_ptr<const Record> Record::OfText(std::string key, Revision created, Revision revision,
                                             std::string text) {
  auto record = std::make_shared<Record>(Private{}, std::move(key), created, revision);
  record->text_ = std::make_shared<const std::string>(std::move(text));
  return record;
}

std::shared_ptr<const Record> Record::OfDeletion(std::shared_ptr<const Record> last,
                                                 Revision revision, Stamp stamp) {
  auto record = std::make_shared<Record>(Private{}, last->key, last->created, revision);
  record->deletion_ = std::make_unique<const Deletion>(Deletion{std::move(last), stamp});
  return record;
}

Record::Record(Private, std::string key_text, Revision created_at, Revision revision_at)
    : key(std::move(key_text)), created(created_at), revision(revision_at) {}
Record::~Record() = default;

json::Value Record::TreeOfDeletion() const {
  if (deletion_ == nullptr) return {};
  json::Value object = deletion_->last->Object();
  deletion_->stamp(object, revision);
  return object;
}

std::shared_ptr<const std::string> Record::TextIfMade() const {
  const std::lock_guard lock(LockOf(this));
  return text_;
}

json::Value Record::ObjectOnce() const {
  std::shared_ptr<const std::string> text;
  {
    const std::lock_guard lock(LockOf(this));
    if (!object_.IsNull()) return object_;
    text = text_;
  }
  if (text == nullptr) return TreeOfDeletion();
  Result<json::Value> read = json::Read(*text);
  DRA_CHECK(read.has_value());
  return *std::move(read);
}

json::Value Record::Object() const {
  std::shared_ptr<const std::string> text;
  {
    const std::lock_guard lock(LockOf(this));
    if (!object_.IsNull()) return object_;
    text = text_;
  }
  if (text == nullptr) return TreeOfDeletion();
  Result<json::Value> read = json::Read(*text);
  DRA_CHECK(read.has_value());
  {
    const std::lock_guard lock(LockOf(this));
    if (!object_.IsNull()) return object_;  // another thread was faster: one tree for all
    object_ = *read;
  }
  WarmTrees::Shared().Add(*this);
  return *std::move(read);
}

std::shared_ptr<const std::string> Record::Json() const {
  json::Value object;
  {
    const std::lock_guard lock(LockOf(this));
    if (text_ != nullptr) return text_;
    object = object_;
  }
  if (object.IsNull()) object = TreeOfDeletion();
  std::string written = json::Write(object);
  written.shrink_to_fit();  // it stays for as long as the record
  auto text = std::make_shared<const std::string>(std::move(written));
  {
    const std::lock_guard lock(LockOf(this));
    if (text_ != nullptr) return text_;
    text_ = text;
  }
  WarmTrees::Shared().Add(*this);
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
