#pragma once

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "base/executor.h"

namespace drachma::cluster {

// An object that lives on a thread of its own: made, used and destroyed there. For whoever puts
// actors together; used from any thread but the actor's own.
template <typename T>
class Actor {
 public:
  // `make` is called on the new thread with its executor.
  template <typename Make>
  Actor(std::string thread_name, Make make) : executor_(std::move(thread_name)) {
    Run([&] { object_ = make(executor_); });
  }
  ~Actor() {
    Run([&] { object_.reset(); });
  }
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;

  // Calls `use` with the object on its thread and waits for the answer.
  template <typename Use>
  auto Ask(Use use) {
    using Answer = decltype(use(*object_));
    std::promise<Answer> promise;
    executor_.Post([&] {
      if constexpr (std::is_void_v<Answer>) {
        use(*object_);
        promise.set_value();
      } else {
        promise.set_value(use(*object_));
      }
    });
    return promise.get_future().get();
  }
  [[nodiscard]] Executor& executor() { return executor_; }

 private:
  template <typename Task>
  void Run(Task task) {
    std::promise<void> done;
    executor_.Post([&] {
      task();
      done.set_value();
    });
    done.get_future().get();
  }

  ThreadExecutor executor_;
  std::unique_ptr<T> object_;
};

}  // namespace drachma::cluster
