#pragma once

#include <istream>
#include <ostream>

namespace drachma::cli {

// `drachma debug allocate`: one allocation attempt per line of JSON in, one answer per line out, as
// upstream's allocator behaves (exactly the features named, first-fit, failing selectors fail).
// The protocol is described in docs/allocator.md. Ends with the input; returns the exit code.
int RunDebugAllocate(std::istream& in, std::ostream& out);

}  // namespace drachma::cli
