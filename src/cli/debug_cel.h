#pragma once

#include <istream>
#include <ostream>

namespace drachma::cli {

// `drachma debug cel`: one JSON request per line in, one answer per line out, flushed each. The
// operations `eval` (the environment of the cel-spec conformance tests), `selector` and `bench` are
// described in docs/cel.md. Ends with the input; returns the exit code.
int RunDebugCel(std::istream& in, std::ostream& out);

}  // namespace drachma::cli
