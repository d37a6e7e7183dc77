#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace drachma {

// Where randomness comes from; injected, so that a seed repeats a run. Not thread-safe: one owner.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  // Seeded from the operating system.
  static Random FromSystem();

  std::uint64_t Next() { return engine_(); }
  // A number in [0, bound). REQUIRES: bound > 0.
  std::uint64_t Below(std::uint64_t bound) { return Next() % bound; }
  // A random UUID (version 4), lower case, as uids and shareIDs are.
  std::string Uuid();
  // The characters that the API server appends to generateName (apimachinery's util/rand: no
  // vowels, no look-alikes). REQUIRES: length is small; names get 5.
  std::string NameSuffix(int length = 5);

 private:
  std::mt19937_64 engine_;
};

}  // namespace drachma
