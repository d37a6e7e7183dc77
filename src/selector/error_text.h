#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <ostream>
#include <string>
#include <string_view>

namespace drachma::selector {

// Why an evaluation failed. Holds what fits into itself, so that evaluations that end with an error
// (a name that a device does not have is the usual one) take nothing from the heap either; longer
// texts go there. Copied and moved as a value.
class ErrorText {
 public:
  ErrorText() = default;
  ErrorText(std::string_view text) { *this += text; }  // NOLINT(google-explicit-constructor)
  ErrorText(const ErrorText& other) : ErrorText(other.view()) {}
  ErrorText& operator=(const ErrorText& other) {
    return this == &other ? *this : *this = other.view();
  }
  // `text` must not be a part of this one.
  ErrorText& operator=(std::string_view text) {
    size_ = 0;
    long_.clear();
    return *this += text;
  }
  ErrorText& operator+=(std::string_view text) {
    if (long_.empty() && text.size() <= kInlineBytes - size_) {
      std::memcpy(short_.data() + size_, text.data(), text.size());
      size_ += text.size();
      return *this;
    }
    if (long_.empty()) long_.assign(short_.data(), size_);
    long_ += text;
    return *this;
  }

  [[nodiscard]] std::string_view view() const {
    return long_.empty() ? std::string_view(short_.data(), size_) : std::string_view(long_);
  }
  operator std::string_view() const { return view(); }  // NOLINT(google-explicit-constructor)
  [[nodiscard]] bool empty() const { return view().empty(); }

  friend bool operator==(const ErrorText& a, std::string_view b) { return a.view() == b; }
  friend std::ostream& operator<<(std::ostream& out, const ErrorText& text) {
    return out << text.view();
  }

 private:
  static constexpr std::size_t kInlineBytes = 200;

  std::size_t size_ = 0;
  std::array<char, kInlineBytes> short_;  // the first size_ are set
  std::string long_;                      // the text when it is not empty
};

}  // namespace drachma::selector
