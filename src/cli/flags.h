#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "apiserver/limits.h"
#include "base/clock.h"
#include "cli/arguments.h"
#include "cli/output.h"

namespace drachma::cli {

// What the parsed command line asks for. Functions of this header set up the parser; parsing them
// throws CLI::ParseError for wrong use, as all of CLI11. Only they and main.cc see CLI11.
using Run = std::function<int()>;

CLI::App* AddCommand(CLI::App& app, const std::string& name, const std::string& description,
                     const std::string& example);

// Flags that several commands have; what they are given goes to the second argument.
void AddOutput(CLI::App& command, OutputFormat& output);
void AddKubeconfig(CLI::App& command, std::string& kubeconfig);
void AddFiles(CLI::App& command, std::vector<std::string>& files, bool required);
void AddGates(CLI::App& command, PlaneArguments& plane);
// Of the roles that compute domains are part of.
void AddImexMode(CLI::App& command, PlaneArguments& plane);
// Those of AddGates, too.
void AddScheduling(CLI::App& command, PlaneArguments& plane);
void AddFleet(CLI::App& command, std::string& fleet);
// A duration in Go's notation ("1m30s"), as upstream's flags have it.
void AddDuration(CLI::App& command, const std::string& name, Duration& duration,
                 const std::string& help);
void AddLimits(CLI::App& command, apiserver::Limits& limits);

// The commands that run a cluster or a role of one.
void AddUp(CLI::App& app, Run& run);
void AddRoles(CLI::App& app, Run& run);
void AddNode(CLI::App& app, Run& run);

}  // namespace drachma::cli
