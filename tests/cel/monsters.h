#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace drachma::cel {

// An expression made to cost its reader dearly. Each of them must be refused, or fail, at once.
struct Monster {
  std::string name;
  std::string text;
};

inline constexpr std::size_t kMegabyte = std::size_t{1} << 20;
inline constexpr std::size_t kSelectorBytes = 10 * 1024;  // what an object may have

inline std::string Repeat(std::string_view piece, std::size_t bytes) {
  std::string text;
  text.reserve(bytes + piece.size());
  while (text.size() < bytes) text += piece;
  text.resize(bytes);
  return text;
}

// `open` and `close` around `middle`, `count` times.
inline std::string Nest(int count, std::string_view open, std::string_view middle,
                        std::string_view close) {
  return Repeat(open, count * open.size()) + std::string(middle) +
         Repeat(close, count * close.size());
}

// cel.bind(a1, `first`, cel.bind(a2, `next` with a for the variable before, … `last`)).
inline std::string Chain(int count, std::string_view first, std::string_view next,
                         std::string_view last) {
  const auto with = [](std::string_view text, int number) {
    std::string out;
    for (const char c : text) out += c == '@' ? "a" + std::to_string(number) : std::string(1, c);
    return out;
  };
  std::string text = "cel.bind(a1," + std::string(first) + ",";
  for (int i = 2; i <= count; ++i) {
    text += "cel.bind(a" + std::to_string(i) + "," + with(next, i - 1) + ",";
  }
  return text + with(last, count) + std::string(count, ')');
}

// The pieces that a text of any length may repeat.
inline constexpr std::string_view kMonsterPieces[] = {"{",
                                                      "-",
                                                      "a.",
                                                      ".",
                                                      "f(",
                                                      "!(",
                                                      "a[",
                                                      "[a,",
                                                      "{1:",
                                                      "a{b:",
                                                      "a?",
                                                      "a?b:",
                                                      "a&&",
                                                      "a||",
                                                      "1+",
                                                      "1<",
                                                      "1 in ",
                                                      "a.?b",
                                                      "a[?",
                                                      ")",
                                                      "]",
                                                      "}",
                                                      "'",
                                                      "\"",
                                                      "\"\"\"",
                                                      "`",
                                                      "\\",
                                                      "$",
                                                      "@",
                                                      "&",
                                                      "=",
                                                      "\"\\q\"||",
                                                      "a b ",
                                                      "r'",
                                                      "b\"",
                                                      "//\n",
                                                      "\n",
                                                      "ü",
                                                      "\xff",
                                                      "0x",
                                                      "1e",
                                                      "while||",
                                                      "has(1)||",
                                                      "[1].all(1,2)||",
                                                      "9",
                                                      "a.b().",
                                                      "[].map(x,",
                                                      "[1].exists(x,",
                                                      "cel.bind(x,1,",
                                                      "'%s'.format([",
                                                      "#",
                                                      std::string_view("\0", 1)};

// The plainest ones, for doors that only hand the text on.
inline std::vector<Monster> PlainMonsters() {
  std::vector<Monster> all;
  for (const std::string_view piece : {"(", "!", "[", "a.a."}) {
    const std::string name(piece);
    all.push_back({"1 MB of " + name, Repeat(piece, kMegabyte)});
    all.push_back({"10,240 bytes of " + name, Repeat(piece, kSelectorBytes)});
  }
  return all;
}

inline std::vector<Monster> Monsters() {
  std::vector<Monster> all = PlainMonsters();
  for (const std::string_view piece : kMonsterPieces) {
    all.push_back({"10,240 bytes of " + std::string(piece), Repeat(piece, kSelectorBytes)});
  }
  const auto add = [&all](std::string name, std::string text) {
    all.push_back({std::move(name), std::move(text)});
  };
  add("nested parentheses", Nest(5000, "(", "1", ")"));
  add("nested lists", Nest(5000, "[", "1", "]"));
  add("nested maps", Nest(2500, "{1:", "1", "}"));
  add("nested conditions", Nest(1400, "true?", "1", ":2"));
  add("a long condition", Nest(1400, "true?1:", "2", ""));
  add("a long sum", "1" + Repeat("+1", 10'000));
  add("a long comparison", "1" + Repeat("<1", 10'000));
  add("a long selection", "a" + Repeat(".a", 10'000));
  add("a long name of a message", "a" + Repeat(".a", 10'000) + "{}");
  add("nested exists()", Nest(240, "[1].exists(x,", "x", ")"));
  add("nested map()", Nest(240, "[1].map(x,", "x", ")"));
  add("nested optMap()", Nest(240, "optional.of(1).optMap(x,", "x", ")"));
  add("a chain of map()", "[1]" + Repeat(".map(x,x)", 9 * 1000));
  add("a chain of sortBy()", "[1]" + Repeat(".sortBy(x,x)", 12 * 240));
  add("nested math.greatest()", Nest(240, "math.greatest(1,", "1", ")"));
  add("types of 2^n nodes", Chain(240, "1", "{@:@}", "@==@"));
  add("a message with types of 2^n nodes", Chain(240, "1", "{@:@}", "@+1"));
  add("types of 2^n nodes in variables",
      "cel.bind(a,[],cel.bind(b,[],cel.bind(c,[],a==[{b[0]:b[0]}]&&b==[{c[0]:c[0]}]&&a[0]+1)))");
  add("lists of 2^n elements", Chain(240, "[1,2]", "@+@", "@==[]"));
  add("values that hold 2^n others", Chain(240, "1", "[@,@]", "@==@"));
  add("maps that hold 2^n others", Chain(200, "1", "{'a':dyn(@),'b':dyn(@)}", "@==@"));
  add("texts of 2^n bytes", Chain(240, "'ab'", "@+@", "@==''"));
  add("a format of 2^n bytes", Chain(240, "dyn(1)", "dyn([@,@])", "'%s'.format([@])=='a'"));
  add("an error with 2^n values", Chain(240, "dyn(1)", "dyn([@,@])", "[?@]==[]"));
  add("a text replaced by longer ones",
      Chain(20, "'" + std::string(1000, 'x') + "'",
            "@.replace('x','" + std::string(300, 'x') + "')", "@==''"));
  add("classes of Unicode",
      "'a'.matches('x')" + Repeat("||'a'.matches('(\\\\pL{30}){30}')", 33 * 280));
  add("one large class of Unicode", "'a'.matches('\\\\pL{1000}')");
  add("nested repetitions", "'a'.matches('((a{100}){100}){100}')");
  add("nested groups", "'a'.matches('" + Nest(4500, "(", "", ")") + "')");
  add("a pattern of stars", "'a'.matches('" + Repeat("(a*)*", 5000) + "[')");
  return all;
}

}  // namespace drachma::cel
