#include "cluster/idle_memory.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#ifdef DRACHMA_MIMALLOC
#include <mimalloc.h>
#else
#include <malloc.h>
#endif

namespace drachma::cluster {
namespace {

// Drops the read-only segments of one loaded file. Those with PF_W hold what relocation wrote.
int DropReadOnly(dl_phdr_info* info, std::size_t, void*) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = (info->dlpi_addr + segment.p_vaddr) & ~(page - 1);
    const std::uintptr_t end = info->dlpi_addr + segment.p_vaddr + segment.p_memsz;
    // What is no file (the vDSO) refuses, and stays.
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void ReleaseStartMemory() {
#ifdef DRACHMA_MIMALLOC
  mi_collect(true);
#else
  malloc_trim(0);
#endif
  dl_iterate_phdr(DropReadOnly, nullptr);
}

}  // namespace drachma::cluster
