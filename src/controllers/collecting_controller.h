#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "controllers/controller.h"
#include "controllers/kinds.h"

namespace drachma::controllers {

// A controller of the objects of every kind: those of the table, and those that
// CustomResourceDefinitions define while it runs. ControllerSet fills the copies of the latter.
class CollectingController : public Controller {
 protected:
  enum class Which : std::uint8_t { kAll, kNamespaced };

  struct Kind {
    CollectedKind info;
    Cache* cache = nullptr;
    bool defined = true;  // its definition is there and defines this version
  };

  CollectingController(Host& host, Which which);

  // Kinds keep their index; those whose definition is gone stay, without objects.
  [[nodiscard]] const std::vector<Kind>& kinds() const { return kinds_; }
  // The index of the kind that an owner reference or definition names.
  [[nodiscard]] std::optional<std::size_t> FindKind(std::string_view group,
                                                    std::string_view kind) const;
  // Whether there is a kind whose objects are still being read for the first time.
  [[nodiscard]] bool AwaitsCopies() const;

 private:
  virtual void OnChange(std::size_t kind, const client::Change& change) = 0;
  // The objects of a kind have been read whole.
  virtual void OnListed(std::size_t /*kind*/) {}

  void AddKind(const CollectedKind& info, Cache& cache);
  void OnDefinition(const client::Change& change);

  const Which which_;
  std::vector<Kind> kinds_;
};

}  // namespace drachma::controllers
