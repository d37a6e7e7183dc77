#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "json/json.h"
#include "json/utf8.h"

namespace drachma::json {

namespace {

// Keys beyond a value's inline size recur in every object ("creationTimestamp"), so each thread
// remembers some and shares their memory.
constexpr std::size_t kKeyCacheSize = 256;
constexpr std::size_t kCachedKeySizeMax = 64;

std::vector<Value>& KeyCache() {
  thread_local std::vector<Value> cache(kKeyCacheSize);
  return cache;
}

Value SharedKey(std::string_view key, std::vector<Value>& cache) {
  if (key.size() <= 14 || key.size() > kCachedKeySizeMax) return Value(key);
  std::uint64_t head = 0;
  std::uint64_t tail = 0;
  std::memcpy(&head, key.data(), 8);
  std::memcpy(&tail, key.data() + key.size() - 8, 8);
  const std::uint64_t hash = (head * 31 + tail + key.size()) * 0x9E3779B97F4A7C15ULL;
  Value& slot = cache[hash >> 56];
  if (slot.AsString() != key) slot = Value(key);
  return slot;
}

// How Go's encoding/json names a byte in its messages: strconv.Quote in single quotes.
std::string QuoteByte(std::uint8_t byte) {
  switch (byte) {
    case '\'':
      return R"('\'')";
    case '"':
      return R"('"')";
    case '\\':
      return R"('\\')";
    case '\a':
      return R"('\a')";
    case '\b':
      return R"('\b')";
    case '\f':
      return R"('\f')";
    case '\n':
      return R"('\n')";
    case '\r':
      return R"('\r')";
    case '\t':
      return R"('\t')";
    case '\v':
      return R"('\v')";
    default:
      break;
  }
  if (byte < 0x20 || byte == 0x7F) return fmt::format("'\\x{:02x}'", byte);
  if ((byte >= 0x80 && byte <= 0xA0) || byte == 0xAD) return fmt::format("'\\u{:04x}'", byte);
  std::string text = "'";
  AppendRune(byte, text);
  return text + "'";
}

// One pass over the text without recursion. Values under construction lie on one stack; a frame
// says where its container's part of the stack begins.
class Reader {
 public:
  Reader(std::string_view text, const ReadOptions& options)
      : begin_(text.data()),
        at_(text.data()),
        end_(text.data() + text.size()),
        duplicates_(options.duplicates) {}

  Result<Value> Run() {
    if (!ReadValue() || !ReadEnd()) return BadInput(std::move(error_));
    if (duplicates_ != nullptr) {
      std::ranges::stable_sort(*duplicates_, {}, &DuplicateKey::offset);
    }
    return std::move(values_.front());
  }

 private:
  struct Frame {
    std::size_t start = 0;  // in values_
    std::size_t key_offsets_start = 0;
    bool is_object = false;
  };

  void SkipSpace() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }

  bool FailAt(std::string_view context) {
    if (at_ == end_) {
      error_ = "unexpected end of JSON input";
    } else {
      error_ = fmt::format("invalid character {} {}", QuoteByte(static_cast<std::uint8_t>(*at_)),
                           context);
    }
    return false;
  }

  bool ReadEnd() {
    SkipSpace();
    return at_ == end_ || FailAt("after top-level value");
  }

  // Reads a value and all that it contains.
  bool ReadValue() {
    for (;;) {
      SkipSpace();
      if (at_ == end_) return FailAt("");
      const char c = *at_;
      if (c == '{' || c == '[') {
        if (frames_.size() >= kDepthMax) {
          error_ = "exceeded max depth";
          return false;
        }
        frames_.push_back({values_.size(), key_offsets_.size(), c == '{'});
        ++at_;
        SkipSpace();
        if (at_ != end_ && *at_ == (c == '{' ? '}' : ']')) {
          ++at_;
          CloseFrame();
        } else if (c == '{') {
          if (!ReadKey()) return false;
          continue;
        } else {
          continue;
        }
      } else if (!ReadScalar(c)) {
        return false;
      }
      bool done = false;
      if (!ReadAfterValue(done)) return false;
      if (done) return true;
    }
  }

  // After a value: closes containers until another value must follow or all is read.
  bool ReadAfterValue(bool& done) {
    while (!frames_.empty()) {
      SkipSpace();
      const bool is_object = frames_.back().is_object;
      const char close = is_object ? '}' : ']';
      if (at_ != end_ && *at_ == close) {
        ++at_;
        CloseFrame();
        continue;
      }
      if (at_ == end_ || *at_ != ',') {
        return FailAt(is_object ? "after object key:value pair" : "after array element");
      }
      ++at_;
      if (is_object) {
        SkipSpace();
        return ReadKey();
      }
      return true;
    }
    done = true;
    return true;
  }

  bool ReadKey() {
    if (at_ == end_ || *at_ != '"') return FailAt("looking for beginning of object key string");
    if (duplicates_ != nullptr) key_offsets_.push_back(static_cast<std::size_t>(at_ - begin_));
    std::string_view key;
    if (!ReadString(key)) return false;
    values_.push_back(SharedKey(key, key_cache_));
    SkipSpace();
    if (at_ == end_ || *at_ != ':') return FailAt("after object key");
    ++at_;
    return true;
  }

  void CloseFrame() {
    const Frame frame = frames_.back();
    const std::span<Value> parts(values_.data() + frame.start, values_.size() - frame.start);
    Value container;
    if (!frame.is_object) {
      container = Value::TakeArray(parts);
    } else if (duplicates_ == nullptr) {
      container = Value::TakeObject(parts);
    } else {
      container = TakeNotingDuplicates(frame, parts);
    }
    frames_.pop_back();
    values_.resize(frame.start);
    values_.push_back(std::move(container));
  }

  Value TakeNotingDuplicates(const Frame& frame, std::span<Value> parts) {
    std::vector<std::size_t> again;
    // Keys of duplicates are left where they are, so they can be named afterwards.
    Value container = Value::TakeObject(
        parts,
        [](void* context, std::size_t number) {
          static_cast<std::vector<std::size_t>*>(context)->push_back(number);
        },
        &again);
    std::string prefix = again.empty() ? std::string() : FramePath();
    if (!prefix.empty()) prefix += '.';
    for (std::size_t i = 0; i < again.size() && duplicates_->size() < kDuplicatesMax; ++i) {
      const std::string_view key = parts[again[i] * 2].AsString();
      std::string path = prefix;
      path += key;
      duplicates_->push_back({.path = std::move(path),
                              .members_before = again[i] - i,
                              .offset = key_offsets_[frame.key_offsets_start + again[i]],
                              .key = std::string(key)});
    }
    key_offsets_.resize(frame.key_offsets_start);
    return container;
  }

  // The path of the innermost open container, from the keys and counts on the stack.
  std::string FramePath() const {
    std::string path;
    for (std::size_t i = 0; i + 1 < frames_.size(); ++i) {
      const std::size_t child_start = frames_[i + 1].start;
      if (frames_[i].is_object) {
        if (!path.empty()) path += '.';
        path += values_[child_start - 1].AsString();
      } else {
        path += fmt::format("[{}]", child_start - frames_[i].start);
      }
    }
    return path;
  }

  bool ReadScalar(char c) {
    switch (c) {
      case '"': {
        std::string_view text;
        if (!ReadString(text)) return false;
        values_.emplace_back(text);
        return true;
      }
      case 't':
        return ReadWord("true", true);
      case 'f':
        return ReadWord("false", false);
      case 'n':
        return ReadWord("null", nullptr);
      default:
        if (c == '-' || (c >= '0' && c <= '9')) return ReadNumber();
        return FailAt("looking for beginning of value");
    }
  }

  bool ReadWord(std::string_view word, Value value) {
    for (const char expected : word) {
      if (at_ == end_ || *at_ != expected) {
        return FailAt(fmt::format("in literal {} (expecting '{}')", word, expected));
      }
      ++at_;
    }
    values_.push_back(std::move(value));
    return true;
  }

  bool AtDigit() const { return at_ != end_ && *at_ >= '0' && *at_ <= '9'; }
  void SkipDigits() {
    while (AtDigit()) ++at_;
  }

  bool ReadNumber() {
    const char* const start = at_;
    bool integer = true;
    if (*at_ == '-') ++at_;
    if (!AtDigit()) return FailAt("in numeric literal");
    if (*at_ == '0') {
      ++at_;
    } else {
      SkipDigits();
    }
    if (at_ != end_ && *at_ == '.') {
      integer = false;
      ++at_;
      if (!AtDigit()) return FailAt("after decimal point in numeric literal");
      SkipDigits();
    }
    if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
      integer = false;
      ++at_;
      if (at_ != end_ && (*at_ == '+' || *at_ == '-')) ++at_;
      if (!AtDigit()) return FailAt("in exponent of numeric literal");
      SkipDigits();
    }
    return StoreNumber(start, integer);
  }

  bool StoreNumber(const char* start, bool integer) {
    if (integer) {
      std::int64_t whole = 0;
      if (std::from_chars(start, at_, whole).ec == std::errc()) {
        values_.emplace_back(whole);
        return true;
      }
    }
    double number = 0;
    if (std::from_chars(start, at_, number).ec != std::errc()) {
      // Out of range: too small is zero for Go, too large an error.
      const std::string text(start, at_);
      number = std::strtod(text.c_str(), nullptr);
      if (std::isinf(number)) {
        error_ =
            fmt::format("json: cannot unmarshal number {} into Go value of type float64", text);
        return false;
      }
    }
    values_.emplace_back(number);
    return true;
  }

  // Moves on to the next byte that is not plain content of a string: a quote, a backslash, a
  // control character or a part of a longer UTF-8 sequence. Eight bytes at a time.
  void SkipPlain() {
    constexpr std::uint64_t kOnes = 0x0101010101010101ULL;
    constexpr std::uint64_t kHighs = 0x8080808080808080ULL;
    while (end_ - at_ >= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, at_, 8);
      // Bytes below n (with no high bit) have their high bit set in (x - n) & ~x.
      const std::uint64_t quote = word ^ (kOnes * '"');
      const std::uint64_t slash = word ^ (kOnes * '\\');
      const std::uint64_t special = ((word - kOnes * 0x20) & ~word) | ((quote - kOnes) & ~quote) |
                                    ((slash - kOnes) & ~slash) | word;
      if ((special & kHighs) != 0) {
        // The lowest hit is exact; higher ones may come from a borrow.
        at_ += __builtin_ctzll(special & kHighs) / 8;
        return;
      }
      at_ += 8;
    }
    while (at_ != end_) {
      const auto byte = static_cast<std::uint8_t>(*at_);
      if (byte == '"' || byte == '\\' || byte < 0x20 || byte >= 0x80) return;
      ++at_;
    }
  }

  // The content of the string at at_; the view is valid until the next string is read.
  bool ReadString(std::string_view& text) {
    const char* const start = ++at_;
    SkipPlain();
    if (at_ == end_) return FailAt("");
    if (*at_ == '"') {
      text = {start, static_cast<std::size_t>(at_ - start)};
      ++at_;
      return true;
    }
    scratch_.assign(start, at_);
    if (!ReadRestOfString()) return false;
    text = scratch_;
    return true;
  }

  bool ReadRestOfString() {
    while (at_ != end_) {
      const auto byte = static_cast<std::uint8_t>(*at_);
      if (byte == '"') {
        ++at_;
        return true;
      }
      if (byte < 0x20) return FailAt("in string literal");
      if (byte == '\\') {
        ++at_;
        if (!ReadEscape()) return false;
      } else if (byte < 0x80) {
        const char* const plain = at_;
        SkipPlain();
        scratch_.append(plain, at_);
      } else {
        const Rune rune = DecodeRune({at_, static_cast<std::size_t>(end_ - at_)});
        if (rune.valid) {
          scratch_.append(at_, rune.size);
        } else {
          AppendRune(0xFFFD, scratch_);
        }
        at_ += rune.size;
      }
    }
    return FailAt("");
  }

  bool ReadEscape() {
    static constexpr std::string_view kEscapes = "\"\\/bfnrt";
    static constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (at_ == end_) return FailAt("");
    if (const auto found = kEscapes.find(*at_); found != std::string_view::npos) {
      scratch_.push_back(kMeanings[found]);
      ++at_;
      return true;
    }
    if (*at_ != 'u') return FailAt("in string escape code");
    ++at_;
    char32_t code = 0;
    if (!ReadHex4(code)) return false;
    if (code >= 0xD800 && code <= 0xDBFF && end_ - at_ >= 6 && at_[0] == '\\' && at_[1] == 'u') {
      // A lone first half becomes U+FFFD and what follows stands for itself.
      const char* const second = at_;
      at_ += 2;
      char32_t low = 0;
      if (!ReadHex4(low)) return false;
      if (low >= 0xDC00 && low <= 0xDFFF) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      } else {
        at_ = second;
      }
    }
    AppendRune(code, scratch_);
    return true;
  }

  bool ReadHex4(char32_t& code) {
    for (int i = 0; i < 4; ++i) {
      if (at_ == end_) return FailAt("");
      const char c = *at_;
      int digit = 0;
      if (c >= '0' && c <= '9') {
        digit = c - '0';
      } else if (c >= 'a' && c <= 'f') {
        digit = c - 'a' + 10;
      } else if (c >= 'A' && c <= 'F') {
        digit = c - 'A' + 10;
      } else {
        return FailAt("in \\u hexadecimal character escape");
      }
      code = code << 4 | static_cast<char32_t>(digit);
      ++at_;
    }
    return true;
  }

  const char* const begin_;
  const char* at_;
  const char* const end_;
  std::vector<DuplicateKey>* const duplicates_;
  std::vector<Value>& key_cache_ = KeyCache();
  std::vector<Value> values_;
  std::vector<Frame> frames_;
  std::vector<std::size_t> key_offsets_;  // of the open objects' keys, when duplicates are noted
  std::string scratch_;
  std::string error_;
};

}  // namespace

Result<Value> Read(std::string_view text, const ReadOptions& options) {
  return Reader(text, options).Run();
}

}  // namespace drachma::json
