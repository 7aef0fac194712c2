"""Functions of the texts of kernels for Metal: the thread's place, function objects for lambdas.

Metal's language has no variables that say where a thread is, so functions that need that get a
`Place` as first argument. It has no lambda expressions either: a class with references to what the
expression captures stands in its place.
"""

import re
from dataclasses import dataclass

BUILT_IN = r"threadIdx|blockIdx|gridDim|__shfl_\w+|__ballot_sync|MLX_SHARED"  # they use the place
LAMBDA = re.compile(
    r"\[&?\]\(((?:[^()]|\([^()]*\))*)\)(?: MLX_INLINED)?(?: -> ([^{;]+?))?(?= \{)", re.S
)
HEAD = re.compile(r"\bMLX_(?:FN|NOINLINE) [^;{}()]*?\b(operator\(\)|\w+)\(")
STATEMENTS = ("return", "else", "case", "new", "throw", "goto")


def closing(text: str, at: int, pair: str) -> int:
    """The position behind the bracket that closes the one at `at`."""
    depth = 0
    for end in range(at, len(text)):
        depth += {pair[0]: 1, pair[1]: -1}.get(text[end], 0)
        if depth == 0:
            return end + 1
    raise SystemExit(f"no {pair[1]} for {text[at : at + 60]!r}")


def split(text: str) -> list[str]:
    """Parts between commas that are in no brackets."""
    parts, depth, begin = [], 0, 0
    for at, letter in enumerate(text):
        depth += {"(": 1, "[": 1, "{": 1, "<": 1, ")": -1, "]": -1, "}": -1, ">": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append(text[begin:at])
            begin = at + 1
    return [p.strip() for p in [*parts, text[begin:]] if p.strip()]


@dataclass
class Function:
    """A function of a text: positions of its declaration, its parameters and its body."""

    name: str
    template: str  # the parameters of its template
    head: int
    parameters: int
    behind: int  # the parameters
    body: int  # behind the opening bracket
    end: int


def functions(text: str) -> list[Function]:
    """The functions of a text that have bodies."""
    found = []
    for match in HEAD.finditer(text):
        behind = closing(text, match.end() - 1, "()")
        body = re.compile(r"[^;{]*\{").match(text, behind)
        if not body:
            continue
        head = text.rfind("\n", 0, match.start()) + 1
        template = re.search(r"[ \t]*template <([^;{}]*)>\s*\Z", text[:head])
        if template:
            start = text.rfind("template <", 0, head)
            template_text = text[start + len("template <") : text.rfind(">", 0, head)]
            head = text.rfind("\n", 0, start) + 1
        else:
            template_text = ""
        end = closing(text, body.end() - 1, "{}")
        found.append(
            Function(match.group(1), template_text, head, match.end(), behind, body.end(), end)
        )
    return found


def uses_of(names: set[str]) -> str:
    """A pattern of uses of the place, or of functions with these names."""
    calls = rf"\b(?:{'|'.join(sorted(names))})(?=\(|<[^ ]| \w+\()" if names else r"\bmlx_place\b"
    return rf"\b(?:{BUILT_IN})\b|\bmlx_place\b|{calls}"


def placed_names(text: str, known: set[str]) -> set[str]:
    """Names of functions that need the thread's place: they, or functions they call, use it."""
    names: set[str] = set()
    listed = [f for f in functions(text) if f.name != "operator()"]
    while True:
        needs = re.compile(uses_of(names | known))
        found = {f.name for f in listed if needs.search(text, f.behind, f.end)}
        if found <= names:
            return names
        names |= found


# --- lambda expressions


def parameter_name(parameter: str) -> str:
    """The name of a parameter, or what stands in its place."""
    match = re.search(r"(\w+)\)?(?:\[[^\]]*\])*$", parameter)
    return match.group(1) if match else ""


def is_local(name: str, before: str, called: bool) -> bool:
    """Whether a text declares a variable."""
    if called:
        return bool(re.search(rf"\b(?:auto {name} = |[A-Z]\w*&? {name}[,)])", before))
    declared = rf"([\w>\])]+)[*&]*\s+[*&]*{name}\b\s*(?:=(?!=)|;|\[|\{{|\(|,|\)|:)"
    for match in re.finditer(declared, before):
        if match.group(1) not in STATEMENTS:
            return True
    return bool(re.search(rf",\s*[*&]?{name}\b\s*(?:=(?!=)|\[|;)|\(&{name}\)\[", before))


def captures(text: str, within: str, before: str, own: set[str]) -> list[str]:
    """Variables of the function around it that a lambda expression uses."""
    templates = {p.split()[-1] for p in split(within)}
    found: list[str] = []
    for match in re.finditer(r"(?<![\w.:])(?<!->)([a-z_]\w*)\b(\s*\()?", text):
        name = match.group(1)
        if name in {*found, *own, *templates, *STATEMENTS} or re.match(r"k[A-Z]", name):
            continue
        if is_local(name, before, bool(match.group(2))):
            found.append(name)
    return found


def own_names(parameters: str, body: str) -> set[str]:
    """Names that a lambda expression declares."""
    names = {parameter_name(p) for p in split(parameters)}
    kind = r"\b(?!return\b)(?:const )?[A-Za-z_][\w:]*(?:<[^;<>]*>)?"
    for match in re.finditer(kind + r"[*&]? [*&]*(\w+) = ", body):
        names.add(match.group(1))
        rest = body[match.end() : body.find(";", match.end())]
        names |= {p.split(" =")[0].strip("*& ") for p in split(rest)[1:] if " = " in p}
    for match in re.finditer(kind + r" (\w+)(?:\[[^;]*\])?(?:, (\w+))?;", body):
        names |= {n for n in match.groups() if n}
    return names - {""}


def declared_around(text: str, function: Function, match: re.Match[str], end: int) -> str:
    """The text of a function before a lambda expression, with the parameters of lambda expressions
    around it as declarations."""
    around = [
        m.group(1)
        for m in LAMBDA.finditer(text, function.body, match.start())
        if closing(text, text.index("{", m.end()), "{}") >= end
    ]
    given = "".join(f" auto {parameter_name(p)} = ;" for a in around for p in split(a))
    return text[function.parameters : match.start()] + given


def class_of(name: str, function: Function, text: str, match: re.Match[str], places: str) -> str:
    """The text with a class, and an object of it, in the place of a lambda expression."""
    begin = text.index("{", match.end())
    end = closing(text, begin, "{}")
    body = text[begin + 1 : end - 1]
    before = declared_around(text, function, match, end)
    captured = captures(body, function.template, before, own_names(match.group(1), body))
    types, given = [], []
    for n, parameter in enumerate(split(match.group(1))):
        if re.match(r"auto\b", parameter):
            types.append(f"class Given{n}")
            parameter = re.sub(r"^auto\b", f"Given{n}", parameter)
        given.append(parameter)
    template = [*split(function.template), *(f"class Captured_{c}" for c in captured)]
    in_body = text[function.body : match.start()]
    constants = re.findall(r"^\s*((?:using|constexpr) [^;]+;)", in_body, re.M)
    members = [re.sub(r"^constexpr", "static constexpr", c) for c in constants]
    place = bool(re.search(places, body))
    if place:
        members.append("MLX_THREAD const Place& mlx_own_place;")
        body = "\nPlace mlx_place = mlx_own_place;" + body
    members += [f"Captured_{c} {c};" for c in captured]
    made = [f"template <{', '.join(template)}>"] if template else []
    made += [f"struct {name} {{", *members]
    if types:
        made.append(f"template <{', '.join(types)}>")
    result = match.group(2) or "auto"
    made.append(f"MLX_FN {result} operator()({', '.join(given)}) const {{{body}}}\n}};\n")
    arguments = [p.split()[-1] for p in split(function.template)]
    arguments += [f"decltype(({c}))" for c in captured]
    instance = f"<{', '.join(arguments)}>" if arguments else ""
    values = ", ".join([*(["mlx_place"] if place else []), *captured])
    use = f"{name}{instance}{{{values}}}"
    return (
        text[: function.head]
        + "\n".join(made)
        + text[function.head : match.start()]
        + use
        + text[end:]
    )


def without_lambdas(text: str, stem: str, names: set[str]) -> str:
    """Lambda expressions as classes before the functions that have them, inner ones first."""
    places = uses_of(names)
    for number in range(1000):
        listed = functions(text)
        for match in LAMBDA.finditer(text):
            begin = text.index("{", match.end())
            if not LAMBDA.search(text, begin, closing(text, begin, "{}")):
                break
        else:
            return text
        own = [f for f in listed if f.body <= match.start() < f.end]
        name = f"Lambda_{stem}_{number}"
        text = class_of(name, max(own, key=lambda f: f.body), text, match, places)
    raise SystemExit(f"{stem}: lambda expressions without end")


# --- places


def shared(match: re.Match[str]) -> str:
    """Memory of a block, taken from the kernel's."""
    made = []
    for name, size in re.findall(r"(\w+)((?:\[[^;]*?\])*)(?:, |$)", match.group(2)):
        kind = match.group(1) + size
        made.append(f"threadgroup {match.group(1)} (&{name}){size} = mlx_place.take<{kind}>();")
    return " ".join(made)


def call_places(text: str, names: set[str], begin: int, end: int) -> list[int]:
    """Positions of the arguments of calls, and of objects that are made."""
    if not names:
        return []
    found = []
    for call in re.finditer(rf"\b({'|'.join(sorted(names))})\b", text[begin:end]):
        at = begin + call.end()
        if text[at] == "<":
            at = closing(text, at, "<>")
        made = re.compile(r"(?: \w+)?\(").match(text, at)
        if made:
            found.append(made.end())
    return found


def placed(text: str, own: set[str], known: set[str]) -> str:
    """The text with the thread's place as first argument of functions that need it."""
    names = own | known
    inserts: set[tuple[int, str]] = set()

    def insert(at: int, piece: str) -> None:
        inserts.add((at, piece if text[at] == ")" else piece + ", "))

    for f in functions(text):
        if f.name in own:
            insert(f.parameters, "MLX_THREAD const Place& mlx_own_place")
            inserts.add((f.body, "\n  Place mlx_place = mlx_own_place;"))
        for at in call_places(text, names, f.behind, f.body):
            insert(at, "mlx_own_place")
        for at in call_places(text, names, f.body, f.end):
            insert(at, "mlx_place")
    for at, piece in sorted(inserts, reverse=True):
        text = text[:at] + piece + text[at:]
    return re.sub(r"(?:alignas\(16\) )?MLX_SHARED ((?:unsigned )?\w+) (\w+[^;]*);", shared, text)
