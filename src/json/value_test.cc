#include "json/value.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>

namespace drachma::json {
namespace {

TEST(Value, AMissingMemberIsNull) {
  const Value pod = Value::Object({{"spec", Value::Object({{"nodeName", "n1"}})}});
  EXPECT_EQ(pod["spec"]["nodeName"].AsString(), "n1");
  EXPECT_TRUE(pod["status"]["phase"].IsNull());
  EXPECT_EQ(pod.At({"spec", "nodeName"}).AsString(), "n1");
}

TEST(Value, ACopyDoesNotSeeLaterChanges) {
  Value pod = Value::Object({{"spec", Value::Object({{"list", Value::Array({1, 2})}})}});
  const Value before = pod;
  pod.Edit("spec").Edit("list").Append(3);
  EXPECT_EQ(before["spec"]["list"].size(), 2U);
  EXPECT_EQ(pod["spec"]["list"].size(), 3U);
}

TEST(Value, ACopySharesWhatWasLeftAlone) {
  Value pod = Value::Object({{"a", Value::Array({1})}, {"b", Value::Array({2})}});
  const Value before = pod;
  pod.Set("b", 3);
  EXPECT_TRUE(pod["a"].SharesWith(before["a"]));
  EXPECT_FALSE(pod["b"].SharesWith(before["b"]));
}

TEST(Value, AMemberMayReplaceItsOwner) {
  Value value = Value::Object({{"inner", Value::Object({{"x", "a string that needs the heap"}})}});
  value = value["inner"];
  EXPECT_EQ(value["x"].AsString(), "a string that needs the heap");
}

TEST(Value, StringsOfEveryLengthKeepTheirBytes) {
  for (std::size_t length = 0; length < 64; ++length) {
    const std::string text(length, 'x');
    EXPECT_EQ(Value(text).AsString(), text);
    Value copy = Value(text);
    const Value moved = std::move(copy);
    EXPECT_EQ(moved.AsString(), text);
  }
}

TEST(Value, OneAndOnePointZeroAreEqual) {
  EXPECT_EQ(Value(1), Value(1.0));
  EXPECT_FALSE(Value(1) == Value("1"));
}

TEST(Value, TheOrderOfMembersDoesNotCountForEquality) {
  EXPECT_EQ(Value::Object({{"a", 1}, {"b", 2}}), Value::Object({{"b", 2}, {"a", 1}}));
  EXPECT_FALSE(Value::Object({{"a", 1}, {"b", 2}}) == Value::Object({{"b", 2}, {"c", 1}}));
}

TEST(Value, ItemsAreInsertedAndErasedInPlace) {
  Value list = Value::Array({1, 2, 4});
  list.InsertItem(2, 3);
  list.EraseItem(0);
  EXPECT_EQ(list, Value::Array({2, 3, 4}));
}

TEST(Value, AnEndlesslyDeepTreeIsFreedWithoutRecursion) {
  Value deep;
  for (int i = 0; i < 1'000'000; ++i) deep = Value::Array(std::vector<Value>{deep});
  deep = Value();
  EXPECT_TRUE(deep.IsNull());
}

// A model: an ordered list of pairs with unique keys.
TEST(Value, ObjectsBehaveAsTheModelUnderRandomChanges) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    Value object = Value::Object();
    std::map<std::string, int, std::less<>> model;
    Value copy;
    std::map<std::string, int, std::less<>> model_of_copy;
    for (int step = 0; step < 300; ++step) {
      const std::string key = "some-rather-long-key-" + std::to_string(random() % 60);
      if (random() % 4 == 0) {
        EXPECT_EQ(object.Erase(key), model.erase(key) == 1);
      } else {
        object.Set(key, step);
        model[key] = step;
      }
      if (random() % 50 == 0) {
        copy = object;
        model_of_copy = model;
      }
    }
    for (const auto& [value, expected] :
         {std::pair(object, model), std::pair(copy, model_of_copy)}) {
      ASSERT_EQ(value.size(), expected.size());
      for (const Member& member : value.Members()) {
        EXPECT_EQ(member.value.AsInt(), expected.find(member.key())->second);
        EXPECT_EQ(value.Find(member.key()), &member.value);
      }
    }
  }
}

TEST(Value, ManyMembersKeepTheirOrder) {
  Value object;
  for (int i = 0; i < 200'000; ++i) object.Set(std::to_string(i), i);
  EXPECT_EQ(object.size(), 200'000U);
  EXPECT_EQ(object["199999"].AsInt(), 199999);
  EXPECT_EQ(object.Members()[777].key(), "777");
}

TEST(Value, ThreadsMayChangeTheirOwnCopies) {
  Value shared = Value::Object({{"list", Value::Array({1})}});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([mine = shared, t]() mutable {
      for (int i = 0; i < 1000; ++i) {
        Value copy = mine;
        copy.Edit("list").Append(t);
        if (copy["list"].size() != 2) std::abort();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(shared["list"].size(), 1U);
}

}  // namespace
}  // namespace drachma::json
