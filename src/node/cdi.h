#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "node/folder.h"

namespace drachma::node {

// What a container gets by a device (CDI's containerEdits).
struct CdiEdits {
  struct DeviceNode {
    std::string path;       // in the container
    std::string host_path;  // empty: the same; kind and numbers are those of this file
  };
  struct Mount {
    std::string host_path;
    std::string container_path;
    std::vector<std::string> options;
  };
  // Run by the runtime when the container has been made and before it starts.
  struct Hook {
    std::string path;
    std::vector<std::string> args;
  };

  std::map<std::string, std::string> env;
  std::vector<DeviceNode> device_nodes;
  std::vector<Mount> mounts;
  std::vector<Hook> hooks;
};

struct CdiDevice {
  std::string name;  // of the driver: "gpu-0"
  CdiEdits edits;    // the runtime refuses a device without any
};

// The devices of one claim.
struct CdiSpec {
  CdiEdits common;  // whichever of the devices a container gets
  std::vector<CdiDevice> devices;
};

// "k8s.gpu.nvidia.com/claim=<claim uid>-gpu-0": how the kubelet tells the runtime which device.
[[nodiscard]] std::string CdiDeviceId(std::string_view vendor, std::string_view claim_uid,
                                      std::string_view device);
// The specification as the runtime reads it.
[[nodiscard]] json::Value WriteCdiSpec(std::string_view vendor, std::string_view claim_uid,
                                       const CdiSpec& spec);

// The specs of one vendor in the folder that the container runtime watches (/var/run/cdi): one
// file for each prepared claim, other files are left alone.
class CdiFolder {
 public:
  // `vendor`: "k8s.gpu.nvidia.com". Without a folder nothing is written (simulated nodes).
  CdiFolder(std::shared_ptr<Folder> folder, std::string vendor)
      : folder_(std::move(folder)), vendor_(std::move(vendor)) {}

  [[nodiscard]] const std::string& vendor() const { return vendor_; }
  [[nodiscard]] bool writes() const { return folder_ != nullptr; }
  // `spec` is of WriteCdiSpec. A file that says the same already is left alone. ERRORS of all: the
  // folder's.
  [[nodiscard]] Status Write(std::string_view claim_uid, const json::Value& spec);
  [[nodiscard]] Status Remove(std::string_view claim_uid);
  // The uids of the claims that have a file.
  [[nodiscard]] Result<std::vector<std::string>> Claims();

 private:
  [[nodiscard]] std::string FileOf(std::string_view claim_uid) const;

  std::shared_ptr<Folder> folder_;
  std::string vendor_;
};

}  // namespace drachma::node
