#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes unwind tables smaller: they are right where exceptions pass, and nowhere else.

usage: scripts/thin_unwind_tables.py FILE.s...

Rewrites the assembly that gcc or clang wrote, the files of one library together. They describe the stack after every instruction of the prologues and
epilogues of every function (.cfi_ directives). Here a function that calls nothing which may throw gets no entry, and others get, before each
call, the difference to what held at the call before it. A function with a directive that is not known here keeps all of its own. For 64-bit
ARM and x86-64.
"""
import collections
import re
import sys

CALL = re.compile(r"\s+(?:bl|blr|callq?)\s+(\S+)")
JUMP = re.compile(r"\s+(?:b|br|b\.\w+|j[a-z]+)\s+(\S+)")  # a call in the last place, or a jump within the function
# Functions out of which no exception passes: destructors (one that is thrown within ends the program there), what counts the owners of a
# shared_ptr, and functions of the C and C++ libraries.
NO_THROW = re.compile(
    r"_ZNK?\w*D[012]Ev(\.\w+)*|_ZNSt16_Sp_counted_baseILN9__gnu_cxx12_Lock_policyE2EE\w+(\.\w+)*|"
    r"mem(cpy|move|set|cmp|chr)|str(len|cmp|ncmp|chr)|free|malloc|calloc|realloc|_Zd[la]Pv(m|St11align_val_t|mSt11align_val_t)?|__aarch64_\w+"
    r"|__cxa_(begin_catch|allocate_exception|free_exception)|_ZSt9terminatev|abort"
    r"|(a?(sin|cos|tan)h?|atan2|exp|exp2|expm1|log|log1p|log2|log10|pow|fmod|remainder|erf|erfc|sqrt|cbrt|floor|ceil|round|nearbyint|rint|trunc"
    r"|lgamma|tgamma|ldexp|frexp|hypot|l?lrint|l?lround)f?"
)
KEPT = {"startproc", "endproc", "personality", "lsda", "sections"}


class Unknown(Exception):
    pass


class State:
    """What an unwinder knows at one place: the canonical frame address as (register, offset), and where registers were saved."""

    def __init__(self, cfa, saved):
        self.cfa, self.saved = cfa, dict(saved)

    def apply(self, name, arguments, stack):
        if name == "remember_state":
            stack.append(State(self.cfa, self.saved))
        elif name == "restore_state":
            last = stack.pop()
            self.cfa, self.saved = last.cfa, last.saved
        elif name == "def_cfa":
            self.cfa = (arguments[0], int(arguments[1]))
        elif name == "def_cfa_register":
            self.cfa = (arguments[0], self.cfa[1])
        elif name == "def_cfa_offset":
            self.cfa = (self.cfa[0], int(arguments[0]))
        elif name == "adjust_cfa_offset":
            self.cfa = (self.cfa[0], self.cfa[1] + int(arguments[0]))
        elif name == "offset":
            self.saved[arguments[0]] = int(arguments[1])
        elif name == "restore":
            self.saved.pop(arguments[0], None)
        else:
            raise Unknown(name)

    def since(self, told):
        """The directives that lead here from `told`."""
        lines = []
        if self.cfa[0] != told.cfa[0]:
            lines.append(f"def_cfa {self.cfa[0]}, {self.cfa[1]}" if told.cfa[0] or self.cfa[1] != told.cfa[1] else f"def_cfa_register {self.cfa[0]}")
        elif self.cfa[1] != told.cfa[1]:
            lines.append(f"def_cfa_offset {self.cfa[1]}")
        lines += [f"offset {register}, {place}" for register, place in self.saved.items() if told.saved.get(register) != place]
        lines += [f"restore {register}" for register in told.saved if register not in self.saved]
        return [f"\t.cfi_{line}" for line in lines]


class Function:
    """From .cfi_startproc to .cfi_endproc."""

    def __init__(self, name):
        self.name, self.lines = name, []

    def targets(self, pattern):
        """Names of functions that instructions of this kind lead to; "" for an address in a register. Labels within it are left out."""
        found = (pattern.match(line) for line in self.lines)
        names = {match[1].split("@")[0] for match in found if match}
        return {"" if re.match(r"x\d+$|\*", name) else name for name in names if not name.startswith(".L")}

    def without_entry(self):
        return [line for line in self.lines if not re.match(r"\s*\.cfi_", line)]

    def thin(self):
        # The register that addresses the frame at first is not named in the text; None stands for it.
        x86 = any(re.match(r"\s+(call|ret|jmp)q?\b", line) for line in self.lines) and not any(re.match(r"\s+bl?r?\s", line) for line in self.lines)
        first = (None, 8 if x86 else 0)
        now, told, stack, out = State(first, {}), State(first, {}), [], []
        for line in self.lines:
            directive = re.match(r"\s*\.cfi_(\w+)\s*(.*)", line)
            if directive and directive[1] not in KEPT:
                now.apply(directive[1], [argument.strip() for argument in directive[2].split(",")], stack)
                continue
            if CALL.match(line):
                out += now.since(told)
                told = State(now.cfa, now.saved)
            out.append(line)
        return out


def parts_of(text):
    """The text as a list of lines and Functions."""
    parts, function, name = [], None, ""
    for line in text.split("\n"):
        label = re.match(r"([\w.$]+):", line)
        if function is None and label:
            name = label[1]
        if re.match(r"\s*\.cfi_startproc", line):
            function = Function(name)
            parts.append(function)
        (parts if function is None else function.lines).append(line)
        if re.match(r"\s*\.cfi_endproc", line):
            function = None
    return parts


def mark_throwing(files):
    """Sets `passes` of every function: whether exceptions may pass through its frame."""
    functions = [part for parts in files for part in parts if isinstance(part, Function)]
    callers, known = collections.defaultdict(set), {function.name for function in functions}
    throwing = []
    for function in functions:
        targets = function.targets(CALL) | function.targets(JUMP)
        targets = {name for name in targets if not NO_THROW.fullmatch(name)}
        if targets - known:
            throwing.append(function.name)
        for name in targets:
            callers[name].add(function.name)
    seen = set(throwing)
    while throwing:
        for caller in callers[throwing.pop()] - seen:
            seen.add(caller)
            throwing.append(caller)
    for function in functions:
        function.passes = any((name in seen or name not in known) and not NO_THROW.fullmatch(name) for name in function.targets(CALL))


def rewrite(texts):
    files = [parts_of(text) for text in texts]
    mark_throwing(files)
    for parts in files:
        out = []
        for part in parts:
            if isinstance(part, str):
                out.append(part)
                continue
            try:
                out += part.thin() if part.passes else part.without_entry()
            except Unknown:
                out += part.lines
        yield "\n".join(out)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    texts = []
    for path in sys.argv[1:]:
        with open(path) as file:
            texts.append(file.read())
    for path, text in zip(sys.argv[1:], rewrite(texts)):
        with open(path, "w") as file:
            file.write(text)


if __name__ == "__main__":
    main()
