// Writes per second of both backends: store_benchmark [FOLDER]. Each writer keeps one write of a
// 2 KB object under way, as many clients of an API server do.
#include <fmt/format.h>
#include <sys/resource.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>

#include "base/clock.h"
#include "json/json.h"
#include "store/store.h"
#include "store/test_folder.h"

namespace drachma::store {
namespace {

json::Value MakeObject(int number) {
  json::Value labels = json::Value::Object();
  for (int i = 0; i < 8; ++i) {
    labels.Set("example.com/label-" + std::to_string(i), "value-" + std::to_string(number + i));
  }
  json::Value containers = json::Value::Array();
  for (int i = 0; i < 6; ++i) {
    containers.Append(json::Value::Object(
        {{"name", "container-" + std::to_string(i)},
         {"image", "registry.example.com/team/image:" + std::to_string(number)},
         {"resources",
          json::Value::Object(
              {{"limits", json::Value::Object({{"cpu", "100m"}, {"memory", "128Mi"}})},
               {"requests", json::Value::Object({{"cpu", "100m"}, {"memory", "128Mi"}})}})},
         {"terminationMessagePath", "/dev/termination-log"}}));
  }
  return json::Value::Object(
      {{"apiVersion", "v1"},
       {"kind", "Pod"},
       {"metadata", json::Value::Object({{"name", "pod-" + std::to_string(number)},
                                         {"namespace", "default"},
                                         {"uid", "0b0bbf2b-5d1e-4c47-9a51-3ad3e0a3d3f0"},
                                         {"labels", labels}})},
       {"spec", json::Value::Object({{"containers", containers}, {"nodeName", "node-1"}})},
       {"status", json::Value::Object({{"phase", "Running"}})}});
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

long ResidentKb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// Keeps `writers` writes under way until `writes` have been answered.
class Load {
 public:
  Load(Store& store, int writers, int writes, int keys)
      : store_(store), writes_(writes), keys_(keys), left_(writes) {
    for (int i = 0; i < 64; ++i) objects_.push_back(MakeObject(i));
    for (int i = 0; i < writers; ++i) Next();
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return answered_ == writes_; });
  }

 private:
  void Next() {
    const int number = left_.fetch_sub(1);
    if (number <= 0) return;
    store_.Put("/registry/pods/default/pod-" + std::to_string(number % keys_),
               objects_[number % 64], kAnyRevision, [this](Result<RecordPtr> result) {
                 if (!result) std::abort();
                 Next();
                 if (answered_.fetch_add(1) + 1 == writes_) {
                   const std::lock_guard lock(mutex_);
                   done_.notify_all();
                 }
               });
  }

  Store& store_;
  const int writes_;
  const int keys_;
  std::vector<json::Value> objects_;
  std::atomic<int> left_;
  std::atomic<int> answered_ = 0;
  std::mutex mutex_;
  std::condition_variable done_;
};

void Run(const char* name, Store& store, int writers, int writes, int keys) {
  const double cpu = CpuSeconds();
  const Duration begin = RealClock().Monotonic();
  Load(store, writers, writes, keys).Wait();
  const double seconds = std::chrono::duration<double>(RealClock().Monotonic() - begin).count();
  fmt::print("{:<8} {:>5} writers {:>7} writes: {:>8.0f} writes/s, {:>5.1f} us CPU each, {} MB\n",
             name, writers, writes, writes / seconds, (CpuSeconds() - cpu) / writes * 1e6,
             ResidentKb() / 1024);
}

int Main(int argc, char** argv) {
  fmt::print("object: {} bytes of JSON\n", json::Write(MakeObject(1)).size());
  const auto memory = OpenMemoryStore();
  Run("memory", *memory, 1, 200'000, 10'000);
  const TestFolder temporary;
  SqliteOptions options;
  options.folder = argc > 1 ? argv[1] : temporary.path();
  auto sqlite = OpenSqliteStore(options);
  if (!sqlite) {
    fmt::print(stderr, "{}\n", sqlite.error().message);
    return 1;
  }
  for (const int writers : {1, 16, 64, 256, 1024}) {
    Run("sqlite", **sqlite, writers, writers == 1 ? 2'000 : writers * 300, 10'000);
  }
  fmt::print("on disk: {} MB\n", (*sqlite)->Stats().disk_bytes >> 20);
  return 0;
}

}  // namespace
}  // namespace drachma::store

int main(int argc, char** argv) { return drachma::store::Main(argc, argv); }
