#include "node/journal.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "base/log.h"
#include "json/json.h"
#include "net/signing.h"

namespace drachma::node {
namespace {

using json::Value;

// The first line of the file: "drachma-journal VERSION SHA256". The sum is over the version and all
// that follows the line, so that a damaged version is not taken for a newer one.
constexpr std::string_view kMagic = "drachma-journal ";

constexpr std::array<std::string_view, 2> kStates = {"PrepareStarted", "PrepareCompleted"};

std::string SumOf(int version, std::string_view body) {
  return net::Sha256Hex(fmt::format("{}\n{}", version, body));
}

Value ToArray(const std::vector<std::string>& texts) {
  Value array = Value::Array();
  for (const std::string& text : texts) array.Append(text);
  return array;
}

std::vector<std::string> ToTexts(const Value& array) {
  std::vector<std::string> texts;
  for (const Value& item : array.Items()) texts.emplace_back(item.AsString());
  return texts;
}

Value WriteDevice(const PreparedDevice& device) {
  return Value::Object({{"requests", ToArray(device.requests)},
                        {"pool", device.pool},
                        {"device", device.device},
                        {"cdiDeviceIDs", ToArray(device.cdi_device_ids)},
                        {"shareID", device.share_id},
                        {"report", device.report}});
}

PreparedDevice ReadDevice(const Value& value) {
  return {.requests = ToTexts(value["requests"]),
          .pool = std::string(value["pool"].AsString()),
          .device = std::string(value["device"].AsString()),
          .cdi_device_ids = ToTexts(value["cdiDeviceIDs"]),
          .share_id = std::string(value["shareID"].AsString()),
          .report = value["report"]};
}

Value WriteRecord(const JournalRecord& record) {
  Value devices = Value::Array();
  for (const PreparedDevice& device : record.devices) devices.Append(WriteDevice(device));
  return Value::Object({{"namespace", record.claim.ns},
                        {"name", record.claim.name},
                        {"uid", record.claim.uid},
                        {"state", kStates[static_cast<std::size_t>(record.state)]},
                        {"devices", std::move(devices)},
                        {"detail", record.detail}});
}

JournalRecord ReadRecord(const Value& value) {
  JournalRecord record{.claim = {.ns = std::string(value["namespace"].AsString()),
                                 .name = std::string(value["name"].AsString()),
                                 .uid = std::string(value["uid"].AsString())},
                       .state = value["state"].AsString() == kStates[1]
                                    ? ClaimState::kPrepareCompleted
                                    : ClaimState::kPrepareStarted,
                       .devices = {},
                       .detail = value["detail"]};
  for (const Value& device : value["devices"].Items()) record.devices.push_back(ReadDevice(device));
  return record;
}

struct Parts {
  int version = 0;
  std::string_view body;
};

// Nothing: the text is damaged.
std::optional<Parts> Split(std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || !text.starts_with(kMagic)) return std::nullopt;
  std::string_view head = text.substr(kMagic.size(), end - kMagic.size());
  Parts parts{.body = text.substr(end + 1)};
  const auto [rest, fault] = std::from_chars(head.data(), head.data() + head.size(), parts.version);
  head.remove_prefix(static_cast<std::size_t>(rest - head.data()));
  if (fault != std::errc() || head != " " + SumOf(parts.version, parts.body)) return std::nullopt;
  return parts;
}

}  // namespace

Result<Journal> Journal::Open(std::shared_ptr<Folder> folder, std::string_view driver,
                              std::string boot_id) {
  Journal journal(std::move(folder), fmt::format("{}.journal", driver), std::move(boot_id));
  if (journal.folder_ == nullptr) return journal;
  DRA_ASSIGN(const std::optional<std::string> text, journal.folder_->Read(journal.file_));
  if (text) DRA_TRY(journal.Load(*text));
  return journal;
}

Status Journal::PutAside(std::string_view fault) {
  const std::string aside = file_ + ".damaged";
  DRA_TRY(folder_->Rename(file_, aside));
  Log(LogLevel::kError, "node",
      "the journal {} is damaged ({}): it is kept as {} and what was prepared is forgotten; what "
      "the hardware shows is put in order",
      file_, fault, aside);
  lost_ = true;
  return {};
}

Status Journal::Load(const std::string& text) {
  const std::optional<Parts> parts = Split(text);
  if (!parts) return PutAside("its checksum does not fit");
  if (parts->version > kVersion) {
    return Fail(Code::kInvalid,
                fmt::format("the journal {} is of version {}, this program reads up to version {}: "
                            "use a newer one, or drain the node and remove the file",
                            file_, parts->version, kVersion));
  }
  const Result<Value> content = json::Read(parts->body);
  if (!content) return PutAside(content.error().message);
  if ((*content)["bootID"].AsString() != boot_id_) {
    Log(LogLevel::kInfo, "node", "the journal {} is of another boot: starting without claims",
        file_);
    return {};
  }
  for (const Value& value : (*content)["claims"].Items()) {
    JournalRecord record = ReadRecord(value);
    std::string uid = record.claim.uid;
    records_.insert_or_assign(std::move(uid), std::move(record));
  }
  return {};
}

Status Journal::Save() const {
  if (folder_ == nullptr) return {};
  Value claims = Value::Array();
  for (const auto& [uid, record] : records_) claims.Append(WriteRecord(record));
  const std::string body =
      json::Write(Value::Object({{"bootID", boot_id_}, {"claims", std::move(claims)}})) + "\n";
  return folder_->Write(file_,
                        fmt::format("{}{} {}\n{}", kMagic, kVersion, SumOf(kVersion, body), body));
}

const JournalRecord* Journal::Find(std::string_view claim_uid) const {
  const auto found = records_.find(claim_uid);
  return found == records_.end() ? nullptr : &found->second;
}

Status Journal::Put(JournalRecord record) {
  const std::string uid = record.claim.uid;
  const auto before = records_.find(uid);
  std::optional<JournalRecord> old;
  if (before != records_.end()) old = std::exchange(before->second, std::move(record));
  const auto place = old ? before : records_.emplace(uid, std::move(record)).first;
  Status saved = Save();
  if (saved) return saved;
  if (old) {
    place->second = *std::move(old);
  } else {
    records_.erase(place);
  }
  return saved;
}

Status Journal::Erase(std::string_view claim_uid) {
  const auto found = records_.find(claim_uid);
  if (found == records_.end()) return {};
  auto taken = records_.extract(found);
  Status saved = Save();
  if (!saved) records_.insert(std::move(taken));
  return saved;
}

}  // namespace drachma::node
