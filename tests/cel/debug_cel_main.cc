// `drachma debug cel` on its own: what the comparisons with upstream and the measurements run
// while the whole program is not there. Not installed.
#include <iostream>

#include "cli/debug_cel.h"

int main() { return drachma::cli::RunDebugCel(std::cin, std::cout); }
