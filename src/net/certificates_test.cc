#include "net/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "net/signing.h"
#include "net/test_support.h"

namespace drachma::net {
namespace {

using ::testing::ElementsAre;

TEST(Certificates, AServersCertificateCarriesItsNames) {
  const auto info = DescribeCertificate(TestCertificates::Get().server.certificate_pem).value();
  EXPECT_EQ(info.names, ApiServerNames());
  EXPECT_FALSE(info.is_authority);
  EXPECT_LT(info.not_before, RealClock().Now());
  EXPECT_GT(info.not_after, RealClock().Now() + std::chrono::hours(24 * 365));
}

TEST(Certificates, AClientsCertificateCarriesUserAndGroups) {
  const auto client = IssueClientCertificate(TestCertificates::Get().authority, "system:node:n1",
                                             {"system:nodes", "b"}, RealClock().Now())
                          .value();
  const auto info = DescribeCertificate(client.certificate_pem).value();
  EXPECT_EQ(info.common_name, "system:node:n1");
  EXPECT_THAT(info.organizations, ElementsAre("system:nodes", "b"));
  EXPECT_TRUE(CheckCertificate(client, TestCertificates::Get().authority.certificate_pem));
}

TEST(Certificates, WhatDoesNotFitIsTold) {
  const TestCertificates& good = TestCertificates::Get();
  const auto other = MakeAuthority("test-ca", RealClock().Now()).value();
  EXPECT_EQ(CheckCertificate(good.server, other.certificate_pem).error().message,
            "the certificate was not signed by this authority");
  EXPECT_EQ(
      CheckCertificate({good.server.certificate_pem, other.key_pem}, good.authority.certificate_pem)
          .error()
          .message,
      "the certificate and its key do not fit");
  EXPECT_EQ(DescribeCertificate("rubbish").error().code, Code::kInvalid);
}

TEST(PrivateFile, IsForItsOwnerOnlyAndReplacesTheOldOne) {
  const std::string path = ::testing::TempDir() + "/drachma-private";
  ASSERT_TRUE(WritePrivateFile(path, "old"));
  ASSERT_TRUE(WritePrivateFile(path, "new"));
  EXPECT_EQ(ReadFile(path).value(), "new");
  struct stat info{};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(ReadFile(path + "-missing").error().code, Code::kNotFound);
  unlink(path.c_str());
}

TEST(SigningKey, ChecksWhatItSigned) {
  const SigningKey key = SigningKey::Generate().value();
  const std::string signature = key.Sign("text").value();
  EXPECT_EQ(signature.size(), 64u);
  const SigningKey reader = SigningKey::FromPem(key.PublicPem()).value();
  EXPECT_TRUE(reader.Verify("text", signature));
  EXPECT_FALSE(reader.Verify("texT", signature));
  EXPECT_FALSE(reader.Verify("text", signature.substr(1)));
  EXPECT_FALSE(reader.can_sign());
  EXPECT_EQ(reader.key_id(), key.key_id());
  EXPECT_EQ(SigningKey::FromPem(key.PrivatePem()).value().key_id(), key.key_id());
}

// The example of RFC 7515, appendix A.3: key and signature are given.
TEST(SigningKey, AgreesWithTheStandardsExample) {
  constexpr char kKey[] =
      "-----BEGIN PUBLIC KEY-----\n"
      "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7\n"
      "6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==\n"
      "-----END PUBLIC KEY-----\n";
  const SigningKey key = SigningKey::FromPem(kKey).value();
  EXPECT_TRUE(
      key.Verify("eyJhbGciOiJFUzI1NiJ9."
                 "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt"
                 "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ",
                 Base64UrlDecode("DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSA"
                                 "pmWQxfKTUJqPP3-Kg6NU1Q")
                     .value()));
  EXPECT_THAT(key.PublicJwk(),
              ::testing::HasSubstr(R"("x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU")"));
}

TEST(SigningKey, ReadsRsaKeysToo) {
  constexpr char kKey[] =
      "-----BEGIN PUBLIC KEY-----\n"
      "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAvd1VPfVRgS5kUZibrUOb\n"
      "yahh5ViYd6x/979zPqFGA0u0HebPX6u/cC0fa9LmQOMyAsqu/7HhUPsAuFymyIU2\n"
      "POWfgGpNKMRlujw9LdMd3VYUMKn8STsyEb8amTGnNl7cg2SY5SGB576LWPuu/ea0\n"
      "xUDWCw6XChb+72sNKZxMT2MLfnOk62cAKrFfxHQRLr7PqbjpvZq3OWQGxSXiXoCx\n"
      "MVmC6fcqHhv9VgaErhqeMLzDrhzKUM2u3/YCZ6uRCXqgA96HiBufXq3bzkvFtTkl\n"
      "zUhd2FzlOHm+7EE255hTg4MGMlbQWh3PqWPaOv4k7AmHqIUauPzTOT0F77AhjHoM\n"
      "HQIDAQAB\n"
      "-----END PUBLIC KEY-----\n";
  constexpr char kSignature[] =
      "b3mSaLrSkDgL8HX0ah/+1G39UrRaZ3w6BHq7cOQJQ1oSvnkv6EZGjS2DsHemCYiAWvFDbUhOjQ/d"
      "M47kzc3VYYzQMWGPh1agOZq+MpK/Ty0PUZ+j5LxV3nmaayJowvuSODsaR9qTWb0c6qdbhoY4JOcX"
      "gqxb7lCK2048kWU4RpL8m18UMTmJnycwAwTMjWz3vXS8ciy1zP53jDXMEi0OE1e2ule6izThIDgT"
      "bjxLO1/NMv7mvzKAZiYig8XAYhJz4fs40JGPsJFy1JyWYVtmVbXT9VGroGnjbO4b3tdazOoaqLTe"
      "tCfkdVmzabQ7Qbj2uwL7l7Q4XRI2m4XcizseAA==";
  const SigningKey key = SigningKey::FromPem(kKey).value();
  EXPECT_EQ(key.algorithm(), Algorithm::kRs256);
  EXPECT_TRUE(key.Verify("text", Base64Decode(kSignature).value()));
  EXPECT_FALSE(key.Verify("other", Base64Decode(kSignature).value()));
}

TEST(Base64, FollowsTheStandard) {
  EXPECT_EQ(Base64Encode("f"), "Zg==");
  EXPECT_EQ(Base64Encode("fo"), "Zm8=");
  EXPECT_EQ(Base64Encode("foo"), "Zm9v");
  EXPECT_EQ(Base64UrlEncode("\xfb\xff"), "-_8");
  EXPECT_EQ(Base64Decode("Zm9v\nYg==").value(), "foob");
  EXPECT_EQ(Base64UrlDecode("-_8").value(), "\xfb\xff");
  EXPECT_FALSE(Base64Decode("Zg"));
  EXPECT_FALSE(Base64Decode("Z==="));
  EXPECT_FALSE(Base64UrlDecode("a b"));
}

TEST(Sha256, FollowsTheStandard) {
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace drachma::net
