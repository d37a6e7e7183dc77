// Reads a Protobuf body in base64 a line and writes its object as a line of JSON, or what is wrong
// with it as {"error": …}.
#include <iostream>
#include <string>

#include "api/protobuf.h"
#include "api/scalar_codec.h"
#include "json/json.h"

int main() {
  using namespace drachma;
  for (std::string line; std::getline(std::cin, line);) {
    const auto bytes = api::DecodeBase64(line);
    Result<json::Value> object = BadInput("no base64");
    if (bytes) object = api::DecodeProtobuf(*bytes);
    const json::Value answer =
        object ? *object : json::Value::Object({{"error", object.error().message}});
    std::cout << json::Write(answer) << std::endl;
  }
}
