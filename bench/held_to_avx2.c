// SPDX-License-Identifier: Apache-2.0
// Preloaded into a process, makes its processor look as if it ended at AVX2: engines that ask for no setting, and libraries inside of
// engines that heed none (OpenVINO's MLAS beside ONEDNN_MAX_CPU_ISA), choose their AVX2 code then. `cpuid` is made to fault, which Linux
// offers on x86-64 processors that can (arch_prctl(2), ARCH_SET_CPUID; threads inherit it), and answered without the features beyond.
//
//   cc -O2 -shared -fPIC held_to_avx2.c -o held_to_avx2.so && LD_PRELOAD=./held_to_avx2.so program
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { kSetCpuid = 0x1012 };  // ARCH_SET_CPUID

// Leaf 7, as Intel's and AMD's manuals number its bits.
enum {
  kEbx = 1u << 16 | 1u << 17 | 1u << 21 | 1u << 26 | 1u << 27 | 1u << 28 | 1u << 30,  // AVX512F, DQ, IFMA, PF, ER, CD, BW
  kEcx = 1u << 1 | 1u << 6 | 1u << 11 | 1u << 12 | 1u << 14,                          // AVX512_VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ
  kEdx = 1u << 2 | 1u << 3 | 1u << 8 | 1u << 22 | 1u << 23 | 1u << 24 | 1u << 25,     // 4VNNIW, 4FMAPS, VP2INTERSECT, AMX, AVX512_FP16
  kEax1 = 1u << 4 | 1u << 5 | 1u << 21 | 1u << 23,                                    // AVX-VNNI, AVX512_BF16, AMX-FP16, AVX-IFMA
  kEdx1 = 1u << 4 | 1u << 5 | 1u << 10 | 1u << 19                                     // AVX-VNNI-INT8, NE-CONVERT, VNNI-INT16, AVX10
};
static const uint32_t kAvx512vl = 1u << 31;  // of EBX

static void answer(int signal_number, siginfo_t* info, void* context) {
  (void)info;
  greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  if (memcmp((const void*)registers[REG_RIP], "\x0f\xa2", 2) != 0) {  // no cpuid: a fault of the program's own
    signal(signal_number, SIG_DFL);
    return;
  }
  const uint32_t leaf = (uint32_t)registers[REG_RAX], part = (uint32_t)registers[REG_RCX];
  uint32_t a = leaf, b, c = part, d;
  syscall(SYS_arch_prctl, kSetCpuid, 1);
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  syscall(SYS_arch_prctl, kSetCpuid, 0);
  if (leaf == 7 && part == 0) b &= ~((uint32_t)kEbx | kAvx512vl), c &= ~(uint32_t)kEcx, d &= ~(uint32_t)kEdx;
  if (leaf == 7 && part == 1) a &= ~(uint32_t)kEax1, d &= ~(uint32_t)kEdx1;
  registers[REG_RAX] = a, registers[REG_RBX] = b, registers[REG_RCX] = c, registers[REG_RDX] = d;
  registers[REG_RIP] += 2;
}

__attribute__((constructor)) static void hold(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = answer;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  if (sigaction(SIGSEGV, &action, NULL) != 0 || syscall(SYS_arch_prctl, kSetCpuid, 0) != 0) {
    static const char kSentence[] = "held_to_avx2: this processor or kernel cannot make cpuid fault\n";
    if (write(2, kSentence, sizeof kSentence - 1) < 0) _exit(2);
    _exit(1);
  }
}
