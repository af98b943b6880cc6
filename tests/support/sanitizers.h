// SPDX-License-Identifier: Apache-2.0
// MINNOW_SANITIZED: 1 in builds with the address or the thread sanitizer, which have an allocator of their own and map terabytes.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MINNOW_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MINNOW_SANITIZED 1
#endif
#endif
#ifndef MINNOW_SANITIZED
#define MINNOW_SANITIZED 0
#endif
