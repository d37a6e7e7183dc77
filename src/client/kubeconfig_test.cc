#include "client/kubeconfig.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace drachma::client {
namespace {

constexpr std::string_view kConfig = R"(
apiVersion: v1
kind: Config
current-context: a
clusters:
- name: c1
  cluster: {server: "https://127.0.0.1:6443/", certificate-authority-data: Q0E=}
- name: c2
  cluster: {server: "127.0.0.1"}
users:
- name: u1
  user: {client-certificate-data: Q0VSVA==, client-key-data: S0VZ}
- name: u2
  user: {exec: {command: aws}}
- name: u3
  user: {client-key-data: S0VZ}
contexts:
- name: a
  context: {cluster: c1, user: u1, namespace: team}
- name: bad-server
  context: {cluster: c2, user: u1}
- name: bad-exec
  context: {cluster: c1, user: u2}
- name: half-pair
  context: {cluster: c1, user: u3}
- name: no-cluster
  context: {cluster: c9, user: u1}
)";

Result<KubeConfig> Parse(const std::string& context) {
  return ParseKubeConfig({{"/etc/k", std::string(kConfig)}}, context);
}

TEST(KubeConfigTest, TheCurrentContextIsResolved) {
  const auto config = Parse("");
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->server, "https://127.0.0.1:6443");
  EXPECT_EQ(config->ca_pem, "CA");
  EXPECT_EQ(config->certificate_pem, "CERT");
  EXPECT_EQ(config->key_pem, "KEY");
  EXPECT_EQ(config->ns, "team");
}

struct Fault {
  const char* context;
  const char* message;
};
class KubeConfigFaultTest : public ::testing::TestWithParam<Fault> {};

TEST_P(KubeConfigFaultTest, EachFaultIsNamed) {
  EXPECT_EQ(Parse(GetParam().context).error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, KubeConfigFaultTest,
    ::testing::Values(
        Fault{"none", "kubeconfig: context \"none\" does not exist"},
        Fault{"bad-server",
              "kubeconfig /etc/k: cluster \"c2\": server \"127.0.0.1\" is no http(s) URL"},
        Fault{"bad-exec",
              "kubeconfig /etc/k: user \"u2\": exec is not supported: give a certificate or a "
              "token"},
        Fault{"half-pair",
              "kubeconfig /etc/k: user \"u3\": client-certificate and client-key go together"},
        Fault{"no-cluster",
              "kubeconfig /etc/k: context \"no-cluster\": cluster \"c9\" does not exist"}));

TEST(KubeConfigTest, TheFirstFileToNameAThingWins) {
  const auto config = ParseKubeConfig(
      {{"/1", "{current-context: a, clusters: [{name: c1, cluster: {server: 'https://first'}}]}"},
       {"/2", std::string(kConfig)}},
      "");
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->server, "https://first");
  EXPECT_EQ(config->ca_pem, "");
}

TEST(KubeConfigTest, WhatIsWrittenCanBeRead) {
  KubeConfig config;
  config.server = "https://h:1";
  config.ca_pem = "C\x01\xFF";
  config.certificate_pem = "certificate";
  config.key_pem = "key!";
  const auto read = ParseKubeConfig({{"f", WriteKubeConfig(config, "drachma")}}, "");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->server, config.server);
  EXPECT_EQ(read->ca_pem, config.ca_pem);
  EXPECT_EQ(read->certificate_pem, config.certificate_pem);
  EXPECT_EQ(read->key_pem, config.key_pem);
}

TEST(KubeConfigTest, WithoutAnyFileThePlacesAreNamed) {
  const auto config = LoadKubeConfig({.flag = "", .environment = "/nowhere/a:/nowhere/b"});
  EXPECT_EQ(config.error().message,
            "no kubeconfig: give --kubeconfig or set KUBECONFIG (looked at /nowhere/a, "
            "/nowhere/b)");
}

TEST(KubeConfigTest, WithinAPodItsServiceAccountIsUsed) {
  char name[] = "/tmp/kubeconfig-test-XXXXXX";
  const std::string dir = mkdtemp(name);
  for (const auto& [file, text] :
       {std::pair("token", "t"), std::pair("ca.crt", "CA"), std::pair("namespace", "drivers")}) {
    std::ofstream(dir + "/" + file) << text;
  }
  const auto config =
      LoadKubeConfig({.service_host = "fd00::1", .service_port = "443", .service_account = dir});
  std::filesystem::remove_all(dir);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->server, "https://[fd00::1]:443");
  EXPECT_EQ(config->ca_pem, "CA");
  EXPECT_EQ(config->ns, "drivers");
  EXPECT_EQ(config->token_file, dir + "/token");
}

}  // namespace
}  // namespace drachma::client
