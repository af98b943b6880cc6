// SPDX-License-Identifier: Apache-2.0
#include <iomanip>
#include <iostream>

#include "cli/commands.h"
#include "runtime/backends.h"

namespace minnow::cli {
namespace {

void devices_command(bool json) {
  const std::vector<DeviceRow> devices = device_rows();
  if (json) {
    Json rows = Json::array();
    for (const DeviceRow& device : devices)
      rows.push_back({{"backend", device.backend}, {"name", device.name}, {"details", device.details}, {"problem", device.problem}});
    return print_json({{"devices", rows}});
  }
  for (const DeviceRow& device : devices)
    std::cout << std::left << std::setw(10) << device.backend << (device.name.empty() ? "" : device.name + ": ")
              << (device.problem.empty() ? device.details : "cannot be used: " + device.problem) << '\n';
}

}  // namespace

void add_devices(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("devices", "Lists the devices that backends can use, and why one cannot be used");
  add_json(*command, *json);
  command->footer("  minnow devices\n  minnow run model.minnow --backend cuda --random");
  command->callback([json] { devices_command(*json); });
}

}  // namespace minnow::cli
