// Tables whose rows are kept show what rows made anew would.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "apiserver/human.h"
#include "apiserver/render.h"

namespace drachma::apiserver {
namespace {

using std::chrono::seconds;

constexpr Time kCreated = Time(std::chrono::days(20'000));

TEST(Ages, AreTrueUntilTheTimeThatIsTold) {
  for (const int age : {0, 1, 59, 119, 120, 185, 599, 600, 10'799, 10'800, 28'799, 28'800, 100'000,
                        172'800, 691'199, 691'200, 900'000, 100'000'000, 300'000'000}) {
    Ages ages(kCreated + seconds(age));
    const std::string told = ages.Since(kCreated);
    const Time last = ages.until() - Duration(1);
    EXPECT_GE(last, kCreated + seconds(age));
    EXPECT_EQ(HumanDuration(last - kCreated), told) << age;
  }
}

TEST(Ages, OfTheFutureAreNotKept) {
  Ages ages(kCreated);
  (void)ages.Since(kCreated + seconds(1));
  EXPECT_EQ(ages.until(), kCreated);
}

std::string TableOfPods(const store::RecordPtr& record, IncludeObject include, Time now,
                        const std::shared_ptr<TableRows>& rows) {
  Answer answer{.kind = MakeBuiltInKind(*api::FindResource("", "pods")), .version = "v1"};
  answer.list = {.records = {record, record}, .revision = 9};
  const Rendering rendering{
      .accepted = {.as = Accepted::As::kTable}, .include = include, .now = now, .rows = rows};
  const std::vector<net::Slice> parts = Render(answer, rendering).value();
  std::string text;
  for (const net::Slice& part : parts) text += part.text();
  return text;
}

store::RecordPtr Pod(store::Revision revision, std::string_view phase) {
  return store::Record::OfText(
      "/registry/pods/default/a", 1, revision,
      fmt::format(R"({{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"a","creationTimestamp":)"
                  R"("2024-10-04T00:00:00Z","managedFields":[{{"manager":"m"}}]}},"spec":{{}},)"
                  R"("status":{{"phase":"{}"}}}})",
                  phase));
}

TEST(TableRows, AreThoseThatWouldBeMade) {
  const auto rows = std::make_shared<TableRows>();
  // Times go back, too, and revisions meet in one place.
  const store::RecordPtr pods[] = {Pod(5, "Pending"), Pod(5 + TableRows::kRowsMax, "Succeeded")};
  for (const int age : {5, 5, 6, 700, 701, 760, 5, 100'000}) {
    for (const store::RecordPtr& pod : pods) {
      for (const IncludeObject include :
           {IncludeObject::kMetadata, IncludeObject::kNone, IncludeObject::kObject}) {
        const Time now = kCreated + seconds(age);
        EXPECT_EQ(TableOfPods(pod, include, now, rows), TableOfPods(pod, include, now, nullptr));
      }
    }
  }
}

TEST(TableRows, HaveTheMetadataOfTheirObjects) {
  const auto rows = std::make_shared<TableRows>();
  const std::string text =
      TableOfPods(Pod(5, "Pending"), IncludeObject::kMetadata, kCreated + seconds(7), rows);
  const std::string row =
      R"({"cells":["a","0/0","Pending","0","7s","<none>","<none>","<none>","<none>"],"object":)"
      R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a",)"
      R"("creationTimestamp":"2024-10-04T00:00:00Z","managedFields":[{"manager":"m"}]}}})";
  EXPECT_TRUE(text.ends_with(fmt::format("\"rows\":[{0},{0}]}}\n", row))) << text;
}

}  // namespace
}  // namespace drachma::apiserver
