// Answers of the real API server (tests/apiserver/goldens), asked of ours over HTTPS.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <string>
#include <vector>

#include "apiserver/server.h"
#include "base/executor.h"
#include "json/json.h"
#include "net/http_client.h"

namespace drachma::apiserver {
namespace {

namespace fs = std::filesystem;

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// What a server picks freely is replaced by its name; prose is ours; managed fields have their own
// tests.
json::Value Masked(const json::Value& value, std::string_view key = {}) {
  static constexpr std::array<std::string_view, 6> kFree = {
      "uid",      "resourceVersion", "creationTimestamp", "deletionTimestamp",
      "continue", "serverAddress"};
  if (std::ranges::find(kFree, key) != kFree.end() && value.IsString()) return "<masked>";
  if (value.IsArray()) {
    json::Value items = json::Value::Array();
    for (const json::Value& item : value.Items()) items.Append(Masked(item, key));
    return items;
  }
  if (value.IsObject()) {
    json::Value members = json::Value::Object();
    for (const json::Member& member : value.Members()) {
      if (member.key() == "managedFields" || member.key() == "description") continue;
      members.Set(member.key(), Masked(member.value, member.key()));
    }
    return members;
  }
  if (!value.IsString()) return value;
  std::string text(value.AsString());
  // "g-cn7lf" of generateName "g-", ages, and the newest version in an error.
  if (key == "name" && (text.starts_with("g-") || text.starts_with("gen-"))) return "<generated>";
  if (key == "cells" && !text.empty() && text.back() == 's' &&
      text.find_first_not_of("0123456789s") == std::string::npos) {
    return "<age>";
  }
  if (const std::size_t current = text.find(", current: "); current != std::string::npos) {
    text.resize(current);
  }
  return text;
}

class GoldenTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const fs::path tokens =
        fs::temp_directory_path() / ("drachma-goldens-" + std::to_string(::getpid()));
    std::ofstream(tokens) << "token,admin,admin,\"system:masters\"\n";
    Options options;
    options.listen = "127.0.0.1:0";
    options.token_auth_file = tokens.string();
    auto server = Server::Create(std::move(options));
    fs::remove(tokens);
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    net::ClientOptions client;
    client.verify = net::ClientOptions::Verify::kNo;
    auto http = net::HttpClient::Make(std::move(client));
    ASSERT_TRUE(http) << http.error().message;
    http_ = std::move(*http);
  }

  net::ClientResponse Send(const json::Value& request) {
    net::ClientRequest sent{.method = std::string(request["method"].AsString()),
                            .url = server_->url() + std::string(request["path"].AsString()),
                            .headers = {{"Authorization", "Bearer token"}}};
    if (request.Has("body")) {
      sent.headers.Add("Content-Type",
                       std::string(request["contentType"].AsString("application/json")));
      sent.body = net::Share(std::string(request["body"].AsString()));
    }
    if (request.Has("accept")) {
      sent.headers.Add("Accept", std::string(request["accept"].AsString()));
    }
    std::promise<Result<net::ClientResponse>> answer;
    http_->Send(std::move(sent), executor_,
                [&](Result<net::ClientResponse> response) { answer.set_value(response); });
    const Result<net::ClientResponse> response = answer.get_future().get();
    EXPECT_TRUE(response) << response.error().message;
    return response.value_or(net::ClientResponse{});
  }

  ThreadExecutor executor_{"goldens"};
  std::unique_ptr<Server> server_;
  std::unique_ptr<net::HttpClient> http_;
};

TEST_P(GoldenTest, AnswersAsTheRealServer) {
  const json::Value golden =
      json::Read(ReadAll(fs::path(DRACHMA_SOURCE_DIR "/tests/apiserver/goldens") / GetParam()))
          .value();
  for (const json::Value& step : golden["setup"].Items()) Send(step);
  const net::ClientResponse response = Send(golden["request"]);
  EXPECT_EQ(response.status, golden["status"].AsInt());
  const Result<json::Value> answer = json::Read(response.body);
  ASSERT_TRUE(answer) << response.body;
  const json::Value want = Masked(golden["answer"]);
  const json::Value got = Masked(*answer);
  EXPECT_TRUE(want == got) << "want " << json::WritePretty(want) << "\ngot "
                           << json::WritePretty(got);
}

std::vector<std::string> AllGoldens() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(DRACHMA_SOURCE_DIR "/tests/apiserver/goldens")) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Recorded, GoldenTest, testing::ValuesIn(AllGoldens()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           std::string name = info.param.substr(0, info.param.find('.'));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace drachma::apiserver
