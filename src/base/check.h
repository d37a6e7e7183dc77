#pragma once

#include <cstdio>
#include <cstdlib>

// Ends the program when `condition` is false: for our own bugs only, never for input. Stays on in
// release builds.
#define DRA_CHECK(condition)                                                              \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                       \
    }                                                                                     \
  } while (false)
