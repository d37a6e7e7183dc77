#include "fault_vfs.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

namespace drachma::store {
namespace {

constexpr std::size_t kSectorBytes = 512;
// Of a hundred sectors or changes of a file's size that were not synced, so many reach the disk.
constexpr int kKeptPercent = 50;
// One in so many sectors that reach the disk does so in part only.
constexpr int kTornOneIn = 16;

}  // namespace

struct FaultVfs::File {
  std::string seen;               // what programs read
  std::string durable;            // what is surely on the disk
  std::set<std::size_t> pending;  // sectors of `seen` that were written since the last sync
  // The least size since the last sync, when it was cut: the disk may know of that.
  std::optional<std::size_t> truncated;
  bool exists_durably = false;
};

// A handle; SQLite gives the memory.
struct Handle {
  sqlite3_file base;
  FaultVfs* vfs;
  std::shared_ptr<FaultVfs::File>* file;
  // SQLite's own file system syncs the folder with the first sync of a journal that it opened.
  bool syncs_folder;
};

struct FaultVfs::Interface {
  static FaultVfs& Of(sqlite3_vfs* vfs) { return *static_cast<FaultVfs*>(vfs->pAppData); }
  static Handle& Of(sqlite3_file* file) { return *reinterpret_cast<Handle*>(file); }

  static int Close(sqlite3_file* raw) {
    delete Of(raw).file;
    return SQLITE_OK;
  }

  static int Read(sqlite3_file* raw, void* out, int size, sqlite3_int64 offset) {
    Handle& handle = Of(raw);
    const std::lock_guard lock(handle.vfs->mutex_);
    const std::string& seen = (*handle.file)->seen;
    const auto begin = std::min<std::size_t>(seen.size(), static_cast<std::size_t>(offset));
    const std::size_t got = std::min<std::size_t>(seen.size() - begin, size);
    std::memcpy(out, seen.data() + begin, got);
    if (got == static_cast<std::size_t>(size)) return SQLITE_OK;
    std::memset(static_cast<char*>(out) + got, 0, size - got);
    return SQLITE_IOERR_SHORT_READ;
  }

  static int Write(sqlite3_file* raw, const void* bytes, int size, sqlite3_int64 offset) {
    Handle& handle = Of(raw);
    FaultVfs& vfs = *handle.vfs;
    const std::lock_guard lock(vfs.mutex_);
    if (!vfs.Spend()) return SQLITE_IOERR_WRITE;
    if (vfs.read_only_) return SQLITE_READONLY;
    File& file = **handle.file;
    const std::size_t end = static_cast<std::size_t>(offset) + size;
    if (end > file.seen.size()) {
      std::int64_t used = 0;
      for (const auto& [path, other] : vfs.files_) used += other->seen.size();
      if (used + static_cast<std::int64_t>(end - file.seen.size()) > vfs.capacity_) {
        return SQLITE_FULL;
      }
      file.seen.resize(end);
    }
    std::memcpy(file.seen.data() + offset, bytes, size);
    for (std::size_t sector = offset / kSectorBytes; sector * kSectorBytes < end; ++sector) {
      file.pending.insert(sector);
    }
    return SQLITE_OK;
  }

  static int Truncate(sqlite3_file* raw, sqlite3_int64 size) {
    Handle& handle = Of(raw);
    FaultVfs& vfs = *handle.vfs;
    const std::lock_guard lock(vfs.mutex_);
    if (!vfs.Spend()) return SQLITE_IOERR_TRUNCATE;
    if (vfs.read_only_) return SQLITE_READONLY;
    File& file = **handle.file;
    file.seen.resize(static_cast<std::size_t>(size));
    file.truncated = std::min(file.seen.size(), file.truncated.value_or(SIZE_MAX));
    return SQLITE_OK;
  }

  static int Sync(sqlite3_file* raw, int) {
    Handle& handle = Of(raw);
    FaultVfs& vfs = *handle.vfs;
    const std::lock_guard lock(vfs.mutex_);
    if (!vfs.Spend()) return SQLITE_IOERR_FSYNC;
    if (vfs.failing_syncs_ > 0) {
      --vfs.failing_syncs_;
      return SQLITE_IOERR_FSYNC;
    }
    File& file = **handle.file;
    file.durable = file.seen;
    file.pending.clear();
    file.truncated.reset();
    file.exists_durably = true;
    if (std::exchange(handle.syncs_folder, false)) vfs.deleted_.clear();
    return SQLITE_OK;
  }

  static int Size(sqlite3_file* raw, sqlite3_int64* size) {
    Handle& handle = Of(raw);
    const std::lock_guard lock(handle.vfs->mutex_);
    *size = static_cast<sqlite3_int64>((*handle.file)->seen.size());
    return SQLITE_OK;
  }

  static int Lock(sqlite3_file*, int) { return SQLITE_OK; }
  static int CheckLock(sqlite3_file*, int* locked) {
    *locked = 0;
    return SQLITE_OK;
  }
  static int Control(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
  static int SectorSize(sqlite3_file*) { return kSectorBytes; }
  static int Characteristics(sqlite3_file*) { return 0; }

  static int Open(sqlite3_vfs* raw, const char* path, sqlite3_file* out, int flags,
                  int* out_flags) {
    static const sqlite3_io_methods methods = {
        .iVersion = 1,
        .xClose = Close,
        .xRead = Read,
        .xWrite = Write,
        .xTruncate = Truncate,
        .xSync = Sync,
        .xFileSize = Size,
        .xLock = Lock,
        .xUnlock = Lock,
        .xCheckReservedLock = CheckLock,
        .xFileControl = Control,
        .xSectorSize = SectorSize,
        .xDeviceCharacteristics = Characteristics,
    };
    out->pMethods = nullptr;
    FaultVfs& vfs = Of(raw);
    const std::lock_guard lock(vfs.mutex_);
    if (vfs.cut_) return SQLITE_CANTOPEN;
    std::shared_ptr<File>& file = vfs.files_[path != nullptr ? path : "temporary"];
    if (file == nullptr) file = std::make_shared<File>();
    Handle& handle = Of(out);
    handle.vfs = &vfs;
    handle.syncs_folder = (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)) != 0;
    handle.file = new std::shared_ptr<File>(file);
    out->pMethods = &methods;
    if (out_flags != nullptr) *out_flags = flags;
    return SQLITE_OK;
  }

  // Without a sync of the folder the disk may still hold the file.
  static int Delete(sqlite3_vfs* raw, const char* path, int sync_folder) {
    FaultVfs& vfs = Of(raw);
    const std::lock_guard lock(vfs.mutex_);
    if (!vfs.Spend()) return SQLITE_IOERR_DELETE;
    const auto found = vfs.files_.find(path);
    if (found == vfs.files_.end()) return SQLITE_OK;
    if (sync_folder == 0 && found->second->exists_durably) vfs.deleted_[path] = found->second;
    vfs.files_.erase(found);
    return SQLITE_OK;
  }

  static int Access(sqlite3_vfs* raw, const char* path, int, int* result) {
    FaultVfs& vfs = Of(raw);
    const std::lock_guard lock(vfs.mutex_);
    *result = vfs.files_.contains(path) ? 1 : 0;
    return SQLITE_OK;
  }

  static int FullPath(sqlite3_vfs*, const char* path, int size, char* out) {
    sqlite3_snprintf(size, out, "%s", path);
    return SQLITE_OK;
  }
};

FaultVfs::FaultVfs(const std::string& name, std::uint64_t seed)
    : name_(name), vfs_(std::make_unique<sqlite3_vfs>()), random_(seed) {
  const sqlite3_vfs* real = sqlite3_vfs_find(nullptr);
  *vfs_ = {};
  vfs_->iVersion = 1;
  vfs_->szOsFile = sizeof(Handle);
  vfs_->mxPathname = 512;
  vfs_->zName = name_.c_str();
  vfs_->pAppData = this;
  vfs_->xOpen = Interface::Open;
  vfs_->xDelete = Interface::Delete;
  vfs_->xAccess = Interface::Access;
  vfs_->xFullPathname = Interface::FullPath;
  vfs_->xRandomness = real->xRandomness;
  vfs_->xSleep = real->xSleep;
  vfs_->xCurrentTime = real->xCurrentTime;
  vfs_->xGetLastError = real->xGetLastError;
  sqlite3_vfs_register(vfs_.get(), /*makeDflt=*/0);
}

FaultVfs::~FaultVfs() { sqlite3_vfs_unregister(vfs_.get()); }

bool FaultVfs::Spend() {
  if (cut_) return false;
  if (operations_left_ == 0) {
    cut_ = true;
    return false;
  }
  --operations_left_;
  ++operations_;
  return true;
}

void FaultVfs::CutPowerAfter(std::int64_t operations) {
  const std::lock_guard lock(mutex_);
  operations_left_ = operations;
}

bool FaultVfs::power_is_cut() const {
  const std::lock_guard lock(mutex_);
  return cut_;
}

bool FaultVfs::Reaches() { return static_cast<int>(random_() % 100) < kKeptPercent; }

std::string FaultVfs::OnDisk(const File& file) {
  std::string disk = file.durable;
  if (file.truncated && Reaches()) disk.resize(std::min(disk.size(), *file.truncated));
  for (const std::size_t sector : file.pending) {
    if (!Reaches()) continue;
    const std::size_t begin = sector * kSectorBytes;
    if (begin >= file.seen.size()) continue;
    std::size_t size = std::min(kSectorBytes, file.seen.size() - begin);
    if (random_() % kTornOneIn == 0) size = random_() % size;
    if (disk.size() < begin + size) disk.resize(begin + size);
    std::memcpy(disk.data() + begin, file.seen.data() + begin, size);
  }
  return disk;
}

void FaultVfs::PowerOn() {
  const std::lock_guard lock(mutex_);
  std::erase_if(files_, [](const auto& entry) { return !entry.second->exists_durably; });
  for (auto& [path, file] : deleted_) {
    if (Reaches()) files_.emplace(path, std::move(file));
  }
  deleted_.clear();
  for (auto& [path, file] : files_) {
    file->seen = file->durable = OnDisk(*file);
    file->pending.clear();
    file->truncated.reset();
  }
  cut_ = false;
  operations_left_ = INT64_MAX;
}

void FaultVfs::SetCapacity(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  capacity_ = bytes;
}

void FaultVfs::SetReadOnly(bool read_only) {
  const std::lock_guard lock(mutex_);
  read_only_ = read_only;
}

void FaultVfs::FailSyncs(int count) {
  const std::lock_guard lock(mutex_);
  failing_syncs_ = count;
}

std::int64_t FaultVfs::operations() const {
  const std::lock_guard lock(mutex_);
  return operations_;
}

std::int64_t FaultVfs::bytes_used() const {
  const std::lock_guard lock(mutex_);
  std::int64_t used = 0;
  for (const auto& [path, file] : files_) used += static_cast<std::int64_t>(file->seen.size());
  return used;
}

}  // namespace drachma::store
