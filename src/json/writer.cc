#include <array>
#include <charconv>
#include <cmath>

#include "json/json.h"
#include "json/utf8.h"

namespace drachma::json {

namespace {

// Texts may be long and have nothing else: an error that quotes binary data a hundred times.
void WriteUnicodeEscape(std::uint32_t code, std::string& out) {
  constexpr char kDigits[] = "0123456789abcdef";
  const char escape[] = {'\\',
                         'u',
                         kDigits[code >> 12 & 15],
                         kDigits[code >> 8 & 15],
                         kDigits[code >> 4 & 15],
                         kDigits[code & 15]};
  out.append(escape, sizeof escape);
}

void WriteEscapedByte(std::uint8_t byte, std::string& out) {
  switch (byte) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      WriteUnicodeEscape(byte, out);
  }
}

void WriteString(std::string_view text, std::string& out) {
  out.push_back('"');
  std::size_t plain = 0;  // begin of what needs no escape
  std::size_t at = 0;
  const auto flush = [&] { out.append(text.substr(plain, at - plain)); };
  while (at < text.size()) {
    const auto byte = static_cast<std::uint8_t>(text[at]);
    if (byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\') {
      ++at;
      continue;
    }
    if (byte < 0x80) {
      flush();
      WriteEscapedByte(byte, out);
      plain = ++at;
      continue;
    }
    const Rune rune = DecodeRune(text.substr(at));
    // JavaScript takes U+2028 and U+2029 for line ends, so Go escapes them.
    if (!rune.valid || rune.code == 0x2028 || rune.code == 0x2029) {
      flush();
      WriteUnicodeEscape(static_cast<std::uint32_t>(rune.code), out);
      plain = at + rune.size;
    }
    at += rune.size;
  }
  flush();
  out.push_back('"');
}

void WriteScalar(const Value& value, std::string& out) {
  switch (value.kind()) {
    case Kind::kBool:
      out += value.AsBool() ? "true" : "false";
      return;
    case Kind::kInt: {
      std::array<char, 24> digits;
      const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value.AsInt());
      out.append(digits.data(), end.ptr);
      return;
    }
    case Kind::kDouble:
      out += FormatDouble(value.AsDouble());
      return;
    case Kind::kString:
      WriteString(value.AsString(), out);
      return;
    default:
      out += "null";
  }
}

// Writes trees of any depth from a stack of its own. `indent` below 0 writes the compact form.
class TreeWriter {
 public:
  TreeWriter(std::string& out, int indent) : out_(out), indent_(indent) {}

  void Write(const Value& root) {
    Begin(root);
    while (!open_.empty()) {
      Open& top = open_.back();
      if (top.next == top.value->size()) {
        const bool is_object = top.value->IsObject();
        const bool had_items = top.next != 0;
        open_.pop_back();
        if (had_items) NewLine();
        out_.push_back(is_object ? '}' : ']');
        continue;
      }
      if (top.next != 0) out_.push_back(',');
      NewLine();
      const std::size_t number = top.next++;
      if (top.value->IsObject()) {
        const Member& member = top.value->Members()[number];
        WriteString(member.key(), out_);
        out_ += indent_ < 0 ? ":" : ": ";
        Begin(member.value);
      } else {
        Begin(top.value->Items()[number]);
      }
    }
  }

 private:
  struct Open {
    const Value* value = nullptr;
    std::size_t next = 0;
  };

  void Begin(const Value& value) {
    if (value.IsObject() || value.IsArray()) {
      out_.push_back(value.IsObject() ? '{' : '[');
      open_.push_back({&value, 0});
    } else {
      WriteScalar(value, out_);
    }
  }

  void NewLine() {
    if (indent_ < 0) return;
    out_.push_back('\n');
    out_.append(open_.size() * static_cast<std::size_t>(indent_), ' ');
  }

  std::string& out_;
  const int indent_;
  std::vector<Open> open_;
};

}  // namespace

std::string FormatDouble(double number) {
  // JSON has no word for these; Go refuses to write them, and the reader never makes them.
  if (!std::isfinite(number)) return "null";
  if (number == 0) return std::signbit(number) ? "-0" : "0";
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                 std::chars_format::scientific);
  std::string text(buffer.data(), end.ptr);
  const double size = std::fabs(number);
  if (size < 1e-6 || size >= 1e21) {
    // Go writes e-9 where C writes e-09.
    if (const auto zero = text.find("e-0"); zero != std::string::npos) text.erase(zero + 2, 1);
    return text;
  }
  // The shortest digits, laid out without an exponent.
  const std::size_t e = text.find('e');
  const int exponent = std::stoi(text.substr(e + 1));
  std::string digits;
  for (const char c : std::string_view(text).substr(0, e)) {
    if (c >= '0' && c <= '9') digits.push_back(c);
  }
  const auto count = static_cast<int>(digits.size());
  if (exponent < 0) {
    digits = "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  } else if (exponent + 1 >= count) {
    digits.append(static_cast<std::size_t>(exponent + 1 - count), '0');
  } else {
    digits.insert(static_cast<std::size_t>(exponent + 1), 1, '.');
  }
  return number < 0 ? "-" + digits : digits;
}

void WriteTo(const Value& value, std::string& out) { TreeWriter(out, -1).Write(value); }

std::string Write(const Value& value) {
  std::string out;
  WriteTo(value, out);
  return out;
}

std::string WritePretty(const Value& value, int indent) {
  std::string out;
  TreeWriter(out, indent).Write(value);
  return out;
}

}  // namespace drachma::json
