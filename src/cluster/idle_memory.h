#pragma once

namespace drachma::cluster {

// Gives back the memory that only the start needed: free pages of the heap, and the pages of the
// program and its libraries, which come back from the page cache when they are used again. Any
// thread, at any time; costs some hundred cheap page faults afterwards.
void ReleaseStartMemory();

}  // namespace drachma::cluster
