/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the bytes that N threads read from memory in a second: bandwidth N */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kMost = 256 };
static const size_t kBytes = (size_t)1 << 28; /* more than any cache */
typedef long long Vector __attribute__((vector_size(32)));
static char* memory;
static int threads;
static volatile long long sink;

static void* read_share(void* number) {
  const size_t share = kBytes / (size_t)threads / 512 * 512, begin = share * (size_t)(intptr_t)number;
  const Vector* from = (const Vector*)(memory + begin);
  Vector sums[16];
  memset(sums, 0, sizeof sums);
  for (size_t i = 0; i < share / sizeof(Vector); i += 16)
    for (int k = 0; k < 16; ++k) sums[k] ^= from[i + (size_t)k];
  for (int k = 1; k < 16; ++k) sums[0] ^= sums[k];
  sink = sums[0][0];
  return NULL;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int count, char** arguments) {
  threads = count > 1 ? atoi(arguments[1]) : 1;
  if (threads < 1 || threads > kMost || !(memory = aligned_alloc(4096, kBytes))) return 1;
  memset(memory, 1, kBytes);
  double best = 1e9;
  for (int round = 0; round < 20; ++round) {
    pthread_t others[kMost];
    const double start = now();
    for (int i = 1; i < threads; ++i) pthread_create(&others[i], NULL, read_share, (void*)(intptr_t)i);
    read_share(NULL);
    for (int i = 1; i < threads; ++i) pthread_join(others[i], NULL);
    const double time = now() - start;
    if (time < best) best = time;
  }
  printf("%.0f\n", (double)kBytes / best);
  return 0;
}
