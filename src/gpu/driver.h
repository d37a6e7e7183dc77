#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/backend.h"
#include "gpu/board.h"
#include "gpu/setup.h"
#include "json/value.h"
#include "node/cdi.h"
#include "node/dra_plugin.h"
#include "node/folder.h"
#include "node/journal.h"

namespace drachma::gpu {

// The GPU driver of one node: publishes the boards of its backend, and prepares claims for them:
// makes parts, sets up time slicing and MPS as the claim's config says, and undoes it afterwards.
// Keeps who holds which device, so that a device that is not opened for administration is never
// handed to two claims, whatever the allocator did. With a folder for its journal it may be killed
// at any moment: the next one undoes what was half done and answers for what was done.
class GpuDriver final : public node::DraPlugin {
 public:
  struct Options {
    std::string pool;
    // Of the journal, and of the CDI specs; null: nothing outlives the driver, no specs are written
    // (simulated nodes).
    std::shared_ptr<node::Folder> state;
    std::shared_ptr<node::Folder> cdi;
    std::string boot_id;
  };
  // Undoes what an earlier driver left half done.
  // ERRORS: those of the backend, the journal and the folders.
  [[nodiscard]] static Result<std::unique_ptr<GpuDriver>> Create(Options options,
                                                                 std::unique_ptr<Backend> backend);
  [[nodiscard]] std::string_view driver() const override { return kDriverName; }
  void Prepare(std::span<const json::Value> claims, PrepareDone done) override;
  void Unprepare(std::span<const node::ClaimRef> claims, UnprepareDone done) override;
  [[nodiscard]] std::vector<node::HeldClaim> Held() const override;
  [[nodiscard]] std::vector<node::Pool> Pools() const override;
  void OnPoolsChanged(std::function<void()> changed) override { changed_ = std::move(changed); }

  // Looks at the hardware again. Devices that are gone while a claim holds them stay published,
  // with a taint, until it gives them back.
  void Refresh();

  [[nodiscard]] Backend& backend() { return *backend_; }
  // The number of claims whose devices are in use.
  [[nodiscard]] std::size_t prepared() const { return journal_.records().size(); }

 private:
  // A device that may be asked for.
  struct Offer {
    std::size_t board = 0;  // in boards_
    BoardDevice device;
  };
  // A claim on its way.
  struct Preparation {
    std::vector<const json::Value*> results;  // of its allocation, those of this driver
    std::vector<SetUpDevice> devices;         // in the same order
    std::vector<Change> changes;
    node::JournalRecord record;
  };

  GpuDriver(Options options, std::unique_ptr<Backend> backend, node::Journal journal);

  [[nodiscard]] node::PrepareResult PrepareOne(const json::Value& claim);
  // What is to be done for `claim`. ERRORS: kNotFound, kConflict: a device is not there, another
  // claim has it, or something lies where a part is to be made; kInvalid: its configs.
  [[nodiscard]] Result<Preparation> Plan(const json::Value& claim) const;
  [[nodiscard]] Result<const Offer*> Take(const json::Value& result,
                                          std::string_view claim_uid) const;
  // Claims that share a device must want the same settings of it.
  [[nodiscard]] Status CheckSharers(const Preparation& preparation) const;
  [[nodiscard]] Status CheckRoom(std::span<const Change> changes) const;
  // Does it, and completes the record.
  [[nodiscard]] Status Carry(Preparation& preparation);
  [[nodiscard]] Result<json::Value> SpecOf(const Preparation& preparation) const;
  [[nodiscard]] Status UnprepareOne(const std::string& claim_uid);
  // Undoes all of a claim and forgets it. ERRORS: the backend's, the folders'; it is not forgotten.
  [[nodiscard]] Status TakeBack(node::JournalRecord record);
  void Hold(const node::JournalRecord& record);
  void Release(const std::string& claim_uid);

  // driver_start.cc
  [[nodiscard]] Status Recover();
  [[nodiscard]] Status RestoreSpecs();
  // Takes down what no record accounts for.
  void Reconcile();
  [[nodiscard]] bool PartsAreThere(const node::JournalRecord& record) const;
  void TidyBoard(const Board& board, const std::vector<Change>& owned);
  void MakeOffers();
  void Publish();

  const std::string pool_;
  const std::unique_ptr<Backend> backend_;
  node::Journal journal_;
  node::CdiFolder cdi_;
  std::vector<Board> boards_;
  std::vector<Fault> faults_;
  std::map<std::string, Offer, std::less<>> offers_;
  // Device -> uids of the claims that hold it: one, unless it is shared.
  std::map<std::string, std::set<std::string>, std::less<>> holders_;
  // Devices that a claim holds and the hardware has no more, as they are published.
  std::map<std::string, json::Value, std::less<>> vanished_;
  std::vector<node::SliceContent> slices_;  // as published
  bool published_ = false;                  // something, once
  bool leftovers_ = false;  // something that no record accounts for could not be taken down
  std::function<void()> changed_;
};

// The DeviceClasses that the driver ships.
[[nodiscard]] std::vector<json::Value> DeviceClasses();

}  // namespace drachma::gpu
