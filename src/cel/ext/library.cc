#include "cel/ext/library.h"

namespace drachma::cel {

void Environment::Add(std::span<const LibraryFunction> functions_of_library) {
  for (const LibraryFunction& row : functions_of_library) {
    check.AddFunction(row.function, row.overload, row.signature);
    if (row.body != nullptr) functions.AddOverload(row.overload, row.body, row.flags);
  }
}

void Environment::Add(std::span<const LibrarySingleton> singletons) {
  for (const LibrarySingleton& row : singletons) {
    functions.AddSingleton(row.function, row.body, row.trait);
  }
}

}  // namespace drachma::cel
