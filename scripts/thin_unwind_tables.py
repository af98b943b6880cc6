#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes unwind and exception tables smaller: they are right where exceptions pass, and nowhere else.

usage: scripts/thin_unwind_tables.py FILE.s

Rewrites the assembly that clang wrote for one library, for 64-bit ARM or x86-64, with a section for each function (-ffunction-sections). There
every function through which an exception may pass has an entry of its own, of where it lies, what the stack looks like after each instruction
of its prologue, and which of its calls lead to which handlers. Here

- functions that call nothing which may throw have no entry,
- others are ordered by what their frames look like and become a few large sections, each with one entry and one table of handlers, as if it
  were a single function: the entry tells, before a call, what differs from the call before it, be that in another function,
- calls that cannot throw have no place in the table of handlers, and neighbours that lead to the same handler share one.

A function with a directive that is not known here keeps what it has.
"""
import collections
import re
import sys

CALL = re.compile(r"\s+(?:bl|blr|callq?)\s+(\S+)")
JUMP = re.compile(r"\s+(?:b|br|b\.\w+|j[a-z]+)\s+(\S+)")  # a call in the last place, or a jump within the function
INSTRUCTION = re.compile(r"\s+[a-z]")
# Functions out of which no exception passes: destructors (one that is thrown within ends the program there), what counts the owners of a
# shared_ptr, and functions of the C and C++ libraries.
NO_THROW = re.compile(
    r"_ZNK?\w*D[012]Ev(\.\w+)*|_ZNSt16_Sp_counted_baseILN9__gnu_cxx12_Lock_policyE2EE\w+(\.\w+)*|"
    r"mem(cpy|move|set|cmp|chr)|str(len|cmp|ncmp|chr)|free|malloc|calloc|realloc|_Zd[la]Pv(m|St11align_val_t|mSt11align_val_t)?|__aarch64_\w+"
    r"|__cxa_(begin_catch|allocate_exception|free_exception)|_ZSt9terminatev|abort"
    r"|(a?(sin|cos|tan)h?|atan2|exp|exp2|expm1|log|log1p|log2|log10|pow|fmod|remainder|erf|erfc|sqrt|cbrt|floor|ceil|round|nearbyint|rint|trunc"
    r"|lgamma|tgamma|ldexp|frexp|hypot|l?lrint|l?lround)f?"
)
ROOM = 1 << 14  # bytes of a section with handlers: distances in it take two bytes, and few handlers are looked through
MOST_BYTES = 5  # of an instruction, on average


class Unknown(Exception):
    """Something that is not known here, so that it stays as it is."""


class State:
    """An unwinder's knowledge at one place: the canonical frame address as (register, offset), and the places of saved registers."""

    def __init__(self, cfa, saved):
        self.cfa, self.saved = cfa, dict(saved)

    def copy(self):
        return State(self.cfa, self.saved)

    def apply(self, name, arguments, stack):
        if name == "remember_state":
            stack.append(self.copy())
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
            lines.append(f"def_cfa {self.cfa[0]}, {self.cfa[1]}" if self.cfa[1] != told.cfa[1] else f"def_cfa_register {self.cfa[0]}")
        elif self.cfa[1] != told.cfa[1]:
            lines.append(f"def_cfa_offset {self.cfa[1]}")
        lines += [f"offset {register}, {place}" for register, place in self.saved.items() if told.saved.get(register) != place]
        lines += [f"restore {register}" for register in told.saved if register not in self.saved]
        return [f"\t.cfi_{line}" for line in lines]

    def order(self):
        return sorted(self.saved.items()), self.cfa


class Handlers:
    """A table of handlers as clang writes it.

    types: symbols of the types that handlers look for, "0" for all; code knows them by their places here, from 1.
    sites: (first label, label behind the last, handler's label or "0", action) of calls; an action is the tuple of the places of the types that
    are looked for, in order, 0 for none (destructors).
    """

    FIELD = re.compile(r"\s+\.(uleb128|byte|x?word|long|quad)\s+([^\s/#]+)")

    def __init__(self, lines):
        before, _, behind = "\n".join(lines).partition("\n.Lcst_begin")
        sites, _, types = behind.partition("\n.Lcst_end")
        actions, _, types = types.partition(".p2align")
        sites, actions, types = ([match[2] for match in map(self.FIELD.match, part.split("\n")) if match] for part in (sites, actions, types))
        # Distances in the table are from the function's beginning; types are found by pointers to them, at distances from where those stand.
        if len(sites) % 4 or not re.search(r"\.byte\s+255\b.*LPStart.*\n\s+\.byte\s+(255|155|156)\b.*TType", before):
            raise Unknown("table of handlers")
        self.lines, self.label = lines, re.search(r"^(\.Lexception\d+):", before, re.M)[1]
        self.types = [name.rsplit("-.Ltmp", 1)[0] for name in reversed(types)]
        self.sites = []
        for i in range(0, len(sites), 4):
            start, length, handler, action = sites[i : i + 4]
            self.sites.append((start.split("-")[0], length.split("-")[0], handler.split("-")[0], self.chain(int(action), [int(x) for x in actions])))

    def chain(self, action, actions):
        found, at = [], action - 1
        while action:
            if not 0 <= at < len(actions) - 1 or actions[at] > len(self.types):
                raise Unknown("an exception specification")
            kind, step = actions[at], actions[at + 1]
            found.append(kind)
            if step == 0:
                break
            at += 1 + (step if step < 64 else step - 128)
        return tuple(found)


class Function:
    """A section that holds one function: `lines` from .cfi_startproc to .cfi_endproc, and what stands before and behind them."""

    def __init__(self, lines):
        first, last = (next(i for i, line in enumerate(lines) if directive in line) for directive in (".cfi_startproc", ".cfi_endproc"))
        self.lines, self.first, self.last = lines, first, last
        self.name = next((match[1] for match in map(re.compile(r"([A-Za-z_][\w.$]*):").match, lines) if match), "")

    def find_handlers(self, tables):
        self.personality, self.lsda = (next((line for line in self.lines if directive in line), "") for directive in (".cfi_personality", ".cfi_lsda"))
        self.handlers = tables.get(self.lsda.split()[-1]) if self.lsda else None
        self.is_known = not self.lsda or (self.handlers and self.personality.endswith("__gxx_personality_v0"))

    def body(self):
        return self.lines[self.first + 1 : self.last]

    def sites(self):
        """Its table of handlers by lines: (first, behind the last, handler's label or "0", action)."""
        places = {match[1]: i for i, match in enumerate(map(re.compile(r"(\.L\w+):").match, self.lines)) if match}
        return [(places[start], places[end], handler, action) for start, end, handler, action in self.handlers.sites] if self.handlers else []

    def targets(self, pattern):
        """Names of functions that instructions of this kind lead to; "" for an address in a register. Labels within it are left out."""
        names = {target(match) for match in map(pattern.match, self.body()) if match}
        return {name for name in names if not name.startswith(".L")}

    def without_entry(self):
        return [line for line in self.lines if not re.match(r"\s*\.cfi_", line)]

    def first_state(self, first, throws):
        """Return the state at the first call that may throw. Raises Unknown for unknown directives."""
        now, stack, found = first.copy(), [], None
        for line in self.body():
            apply(line, now, stack)
            if found is None and is_call(line, throws):
                found = now.copy()
        return found or first

    def size(self):
        return MOST_BYTES * sum(bool(INSTRUCTION.match(line)) for line in self.lines)


def target(match):
    name = match[1].split("@")[0]
    return "" if re.match(r"x\d+$|\*", name) else name


def is_call(line, throws):
    match = CALL.match(line)
    return bool(match and throws(target(match)))


def apply(line, state, stack):
    """True if the line tells of the stack."""
    directive = re.match(r"\s*\.cfi_(\w+)\s*([^/#]*)", line)
    if not directive:
        return False
    if directive[1] not in ("personality", "lsda"):
        state.apply(directive[1], [argument.strip() for argument in directive[2].split(",")], stack)
    return True


class Region:
    """Functions that become one, in order."""

    count = 0

    def __init__(self, functions, first, throws):
        self.functions, self.first, self.throws = functions, first, throws
        self.label = f".Lregion{Region.count}"
        Region.count += 1
        self.labels = 0
        self.sites = []  # as in Handlers
        self.open = False  # whether the next call may share the last of them

    def write(self):
        """The lines of its sections."""
        told, leader = self.first.copy(), self.functions[0]
        out = [f'\t.section\t.text{self.label},"ax",@progbits', f"{self.label}:", "\t.cfi_startproc"]
        if leader.handlers:
            out += [leader.personality, leader.lsda.rsplit(",", 1)[0] + f", {self.label}_handlers"]
        for function in self.functions:
            out += function.lines[1 : function.first]
            told = self.write_body(function, told, out)
            out += function.lines[function.last + 1 :]
        out.append("\t.cfi_endproc")
        if leader.handlers:
            out += self.write_handlers()
        return out

    def write_body(self, function, told, out):
        """Appends a function; returns what the last call in it tells."""
        now, stack, sites = self.first.copy(), [], function.sites()
        for i, line in enumerate(function.lines[function.first + 1 : function.last], function.first + 1):
            if apply(line, now, stack):
                continue
            if not is_call(line, self.throws):
                out.append(line)
                continue
            out += now.since(told)
            told = now.copy()
            site = next(((handler, action) for start, end, handler, action in sites if start <= i < end), None)
            if site is None:  # an exception out of this call ends the program
                self.open = False
                out.append(line)
                continue
            if not self.open or self.sites[-1][2:] != site:
                self.sites.append((self.new_label(), "", *site))
                out.append(f"{self.sites[-1][0]}:")
            self.sites[-1] = (self.sites[-1][0], self.new_label(), *site)
            out += [line, f"{self.sites[-1][1]}:"]
            self.open = True
        return told

    def new_label(self):
        self.labels += 1
        return f"{self.label}_{self.labels}"

    def write_handlers(self):
        out = [f'\t.section\t.gcc_except_table{self.label},"a",@progbits', f"{self.label}_handlers:", "\t.byte\t255"]
        types = max((function.handlers.types for function in self.functions), key=len)
        numbers, records = {(): 0}, []
        for action in dict.fromkeys(site[3] for site in self.sites if site[3]):
            numbers[action] = len(records) + 1
            for kind in action:
                records += [kind, 1]
            records[-1] = 0
        if types:
            out += ["\t.byte\t155", f"\t.uleb128 {self.label}_types-{self.label}_base", f"{self.label}_base:"]
        else:
            out.append("\t.byte\t255")
        out += ["\t.byte\t1", f"\t.uleb128 {self.label}_actions-{self.label}_sites", f"{self.label}_sites:"]
        for start, end, handler, action in self.sites:
            handler = "0" if handler == "0" else f"{handler}-{self.label}"
            out += [f"\t.uleb128 {start}-{self.label}", f"\t.uleb128 {end}-{start}", f"\t.uleb128 {handler}", f"\t.uleb128 {numbers[action]}"]
        out.append(f"{self.label}_actions:")
        out += [f"\t.sleb128 {record}" for record in records]
        if types:
            out.append("\t.p2align\t2, 0x0")
        for name in reversed(types):
            out.append("\t.long\t0" if name == "0" else f"\t.long\t{name}-.")
        out.append(f"{self.label}_types:")
        return out


def sections_of(text):
    """The text as lists of lines, each from one change of the section to the next."""
    sections = [[]]
    for line in text.split("\n"):
        if re.match(r"\s*\.(section|text|data|bss)\b", line):
            sections.append([])
        if re.match(r"\s*\.(pushsection|popsection|previous|subsection)\b", line):
            sys.exit(f"this assembly is not as clang writes it: {line.strip()}")
        sections[-1].append(line)
    return sections


def throwing(functions, text):
    """A function that tells of a name whether an exception may leave it; "" is an address in a register."""
    # Functions without any entry never throw, as the compiler found.
    defined = set(re.findall(r"^([A-Za-z_][\w.$]*):", text, re.M))
    named = {function.name for function in functions}
    callers, found = collections.defaultdict(set), []
    for function in functions:
        targets = {name for name in function.targets(CALL) | function.targets(JUMP) if not NO_THROW.fullmatch(name)}
        if targets - defined:
            found.append(function.name)
        for name in targets:
            callers[name].add(function.name)
    seen = set(found)
    while found:
        for caller in callers[found.pop()] - seen:
            seen.add(caller)
            found.append(caller)
    quiet = (defined - named) | (named - seen)
    return lambda name: not NO_THROW.fullmatch(name) and name not in quiet


def families(functions):
    """Lists of functions that can share a table of handlers: where two have a type at one place of their tables, it is the same."""
    found = []  # (types of the longest, functions)
    for function in sorted(functions, key=lambda function: -len(function.handlers.types)):
        types = function.handlers.types
        members = next((members for longest, members in found if longest[: len(types)] == types), None)
        if members is None:
            members = []
            found.append((types, members))
        members.append(function)
    return [members for _, members in found]


def rewrite(text):
    # Names of sources (beside line tables), which stand where they are used first.
    is_file = re.compile(r"\s+\.file\s+\d").match
    sources = [line for line in text.split("\n") if is_file(line)]
    tables, functions, others = {}, [], []
    for lines in sections_of(text):
        lines = [line for line in lines if not is_file(line)]
        count = sum(".cfi_startproc" in line for line in lines)
        if count > 1:
            sys.exit("two functions lie in one section: compile with -ffunction-sections")
        try:
            if count:
                functions.append(Function(lines))
            elif lines and ".gcc_except_table" in lines[0]:
                handlers = Handlers(lines)
                tables[handlers.label] = handlers
            else:
                others.append(lines)
        except Unknown:
            others.append(lines)  # the function keeps it
    for function in functions:
        function.find_handlers(tables)
    throws = throwing(functions, text)
    first = State(("%rsp", 8) if "%rsp" in text else ("wsp", 0), {})

    with_handlers, without = [], []
    for function in functions:
        if not any(map(throws, function.targets(CALL))):
            others.append(function.without_entry())
            continue
        try:
            if not function.is_known:
                raise Unknown(function.name)
            function.state = function.first_state(first, throws)
            (with_handlers if function.handlers else without).append(function)
        except Unknown:
            others += [function.lines, function.handlers.lines if function.handlers else []]
    out = sources + [line for lines in others for line in lines]
    for together in [*families(with_handlers), without]:
        region, room = [], ROOM
        for function in sorted(together, key=lambda function: function.state.order()):
            if region and function.size() > room:
                out += Region(region, first, throws).write()
                region, room = [], ROOM
            region.append(function)
            room -= function.size()
        if region:
            out += Region(region, first, throws).write()
    return "\n".join(out) + "\n"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1]) as file:
        text = file.read()
    text = rewrite(text)
    with open(sys.argv[1], "w") as file:
        file.write(text)


if __name__ == "__main__":
    main()
