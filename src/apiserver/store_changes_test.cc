#include "apiserver/store_changes.h"

#include <gtest/gtest.h>

#include "json/value.h"
#include "store/store.h"

namespace drachma::apiserver {
namespace {

TEST(StoreChanges, TellOncePerChangeOfTheirScope) {
  const std::unique_ptr<store::Store> store = store::OpenMemoryStore();
  StoreChanges changes(*store, "/registry/a/");
  EXPECT_TRUE(changes.Take());
  EXPECT_FALSE(changes.Take());
  const auto put = [&](const char* key) {
    store->Put(key, json::Value::Object({{"kind", "Thing"}}), store::kMustNotExist,
               [](Result<store::RecordPtr>) {});
  };
  put("/registry/b/x");
  EXPECT_FALSE(changes.Take());
  put("/registry/a/x");
  put("/registry/a/y");
  EXPECT_TRUE(changes.Take());
  EXPECT_FALSE(changes.Take());
}

}  // namespace
}  // namespace drachma::apiserver
