// SPDX-License-Identifier: Apache-2.0
// Empty: metal_stdlib beside it has all names.
#pragma once
