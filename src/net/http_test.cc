#include "net/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace drachma::net {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(Chunk, IsFramedAsHttpSendsIt) {
  const Chunk chunk = {"one", " and ", "two more"};
  EXPECT_EQ(*chunk.framed(), "10\r\none and two more\r\n");
  EXPECT_EQ(chunk.text(), "one and two more");
}

TEST(Headers, NamesCompareWithoutCase) {
  Headers headers{{"Accept", "a"}, {"ACCEPT", "b"}, {"Host", "x"}};
  EXPECT_EQ(headers.Get("accept"), "a");
  EXPECT_THAT(headers.All("Accept"), ElementsAre("a", "b"));
  headers.Set("aCCept", "c");
  EXPECT_THAT(headers.All("accept"), ElementsAre("c"));
  EXPECT_FALSE(headers.Has("Cookie"));
}

TEST(HttpRequest, ThePathEndsAtTheQuestionMark) {
  HttpRequest request;
  request.target = "/api/v1/pods?watch=1?2";
  EXPECT_EQ(request.path(), "/api/v1/pods");
  EXPECT_EQ(request.query(), "watch=1?2");
}

TEST(Percent, DecodesWhatIsWellFormed) {
  EXPECT_EQ(PercentDecode("a%2Fb%2f%zz%4"), "a/b/%zz%4");
  EXPECT_EQ(PercentDecode("a+b"), "a+b");
  EXPECT_EQ(PercentDecode("a+b", Plus::kSpace), "a b");
}

TEST(Percent, EncodingIsUndoneByDecoding) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_EQ(PercentDecode(PercentEncode(all)), all);
  EXPECT_EQ(PercentEncode("a/b c~"), "a%2Fb%20c~");
}

TEST(Query, KeepsOrderAndRepetitions) {
  EXPECT_THAT(ParseQuery("a=1&b=&a=x%3Dy+z&&c"),
              ElementsAre(Pair("a", "1"), Pair("b", ""), Pair("a", "x=y z"), Pair("c", "")));
}

TEST(Gzip, IsUndoneByGunzip) {
  const std::string text = std::string(100'000, 'a') + "tail";
  const std::string packed = Gzip({Share(text.substr(0, 10)), Share(""), Share(text.substr(10))});
  EXPECT_LT(packed.size(), 1000u);
  EXPECT_EQ(Gunzip(packed, 1'000'000), text);
}

TEST(Gzip, ABombIsNotUnpacked) {
  EXPECT_EQ(Gunzip(Gzip({Share(std::string(10'000'000, 'a'))}), 100'000), std::nullopt);
}

TEST(Gzip, RubbishIsRefused) {
  EXPECT_EQ(Gunzip("rubbish", 1000), std::nullopt);
  EXPECT_EQ(Gunzip("", 1000), std::nullopt);
  const std::string packed = Gzip({Share("hello")});
  EXPECT_EQ(Gunzip(std::string_view(packed).substr(0, packed.size() - 1), 1000), std::nullopt);
}

struct GzipCase {
  const char* accept;
  bool wanted;
};
class AcceptsGzipTest : public ::testing::TestWithParam<GzipCase> {};
TEST_P(AcceptsGzipTest, FollowsTheField) {
  EXPECT_EQ(AcceptsGzip(Headers{{"Accept-Encoding", GetParam().accept}}), GetParam().wanted);
}
INSTANTIATE_TEST_SUITE_P(Fields, AcceptsGzipTest,
                         ::testing::Values(GzipCase{"gzip", true}, GzipCase{"gzip, deflate", true},
                                           GzipCase{"br;q=1, GZIP ;q=0.5", true},
                                           GzipCase{"gzip;q=0", false}, GzipCase{"*", true},
                                           GzipCase{"identity", false}, GzipCase{"", false}));

}  // namespace
}  // namespace drachma::net
