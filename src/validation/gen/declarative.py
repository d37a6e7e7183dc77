#!/usr/bin/env python3
"""Writes the table of declarative validation rules out of upstream's generated Go.

usage: declarative.py KUBERNETES API > declarative_rules.inc

KUBERNETES and API are modules of k8s.io/kubernetes and k8s.io/api. One line per type ("type Name"), per field
("name rule rule | rule") and per rule of the type itself ("self rule"). A rule is NAME[:ARGUMENT…][~LEVEL][!]: "~b" beta,
"~a" alpha, none standard; "!" ends the field at the next "|" when it reports; "( … )" is a cohort with its own end.
"""
import re
import sys

GROUPS = {
    "resource": "resource.k8s.io", "apps": "apps", "core": "", "batch": "batch", "scheduling": "scheduling.k8s.io",
    "policy": "policy", "rbac": "rbac.authorization.k8s.io", "storage": "storage.k8s.io", "node": "node.k8s.io",
    "networking": "networking.k8s.io", "autoscaling": "autoscaling", "discovery": "discovery.k8s.io",
    "certificates": "certificates.k8s.io", "flowcontrol": "flowcontrol.apiserver.k8s.io",
    "admissionregistration": "admissionregistration.k8s.io",
}
SERVED = {
    "resource": ["v1", "v1beta2", "v1beta1", "v1alpha3"], "scheduling": ["v1", "v1beta1", "v1alpha3"],
    "networking": ["v1", "v1beta1"], "autoscaling": ["v1", "v2"], "storage": ["v1", "v1beta1"],
    "certificates": ["v1", "v1beta1"], "admissionregistration": ["v1", "v1beta1", "v1alpha1"],
}


def block(text, start):
    """The text between the brace at `start` and its partner, and the index behind it."""
    depth = 0
    for i in range(start, len(text)):
        if text[i] == "{":
            depth += 1
        elif text[i] == "}":
            depth -= 1
            if depth == 0:
                return text[start + 1:i], i + 1
    raise ValueError("unbalanced")


def arguments(text):
    """Splits a Go argument list at its top level."""
    out, depth, word = [], 0, ""
    for c in text:
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        if c == "," and depth == 0:
            out.append(word.strip())
            word = ""
        else:
            word += c
    return out + [word.strip()]


def call(text, start):
    """Name, arguments and the index behind the closing parenthesis of the call at `start`."""
    paren = text.index("(", start)
    depth = 0
    for i in range(paren, len(text)):
        if text[i] == "(":
            depth += 1
        elif text[i] == ")":
            depth -= 1
            if depth == 0:
                return text[start:paren], arguments(text[paren + 1:i]), i + 1
    raise ValueError("unbalanced call")


class File:
    def __init__(self, path, api_dir):
        self.text = open(path).read()
        types = open(api_dir + "/types.go").read()
        self.tags = dict(re.findall(r'^\t(\w+)\s+[^\n]*`json:"(\w+)', types, re.M))
        self.symbols = dict(self.assignments(r"symbolsFor\w+", "sets.New"))
        self.unions = dict(self.assignments(r"(?:union|zeroOrOneOf)MembershipFor\w+", "validate.New"))

    def assignments(self, name, maker):
        for m in re.finditer(r"^var (%s) = " % name, self.text, re.M):
            _, args, _ = call(self.text, m.end())
            yield m.group(1), args

    def keys(self, fn):
        fields = dict.fromkeys(re.findall(r"\ba\.(\w+)", fn))
        return "+".join(self.tags.get(k, k[0].lower() + k[1:]) for k in fields)


def constant(api_dir, name):
    """The text of a string constant; some take theirs from one of the core group."""
    text = open(api_dir + "/types.go").read()
    m = re.search(r"\b%s\b[^=\n]*=\s*(?:\w+\()?\"([^\"]*)\"" % re.escape(name), text)
    if m:
        return m.group(1)
    m = re.search(r"\b%s\b[^=\n]*=\s*\w+\(v1\.(\w+)\)" % re.escape(name), text)
    if not m:
        raise ValueError("no constant " + name)
    return constant(api_dir + "/../../core/v1", m.group(1))


def enum_values(api_dir, symbols):
    return [constant(api_dir, symbol.split(".")[-1]) for symbol in symbols]


def validator(name):
    name = name.split(".")[-1]
    if name.startswith("Validate_"):
        return "is:" + name[len("Validate_"):]
    return RULES.get(name, name[0].lower() + name[1:])


RULES = {
    "OptionalValue": "optV", "OptionalPointer": "optP", "OptionalSlice": "optS", "OptionalMap": "optM",
    "RequiredValue": "reqV", "RequiredPointer": "reqP", "RequiredSlice": "reqS", "RequiredMap": "reqM",
    "ForbiddenPointer": "forbidP", "ForbiddenSlice": "forbidS", "UUID": "uuid",
}


def rule(file, name, args, api_dir):
    """The table's spelling of one call of apimachinery's validate package."""
    name = name.split(".")[-1]
    rest = args[5:]
    if name in ("MaxItems", "MaxBytes", "MaxLength", "Minimum", "Maximum"):
        return "%s:%s" % (name[0].lower() + name[1:], rest[0])
    if name == "Enum":
        values = list(enum_values(api_dir, file.symbols[rest[0]]))
        return "enum:" + ",".join(sorted(values))
    if name in ("Union", "ZeroOrOneOfUnion"):
        members = [re.search(r'Member\("(\w+)"', a) for a in file.unions[rest[0]]]
        if None in members:  # a list of conditions, which this program does not need
            return None
        members = [m.group(1) for m in members]
        return ("union:" if name == "Union" else "zeroOrOne:") + ",".join(members)
    if name == "Discriminated" or name == "DiscriminatedUnion":
        return None
    if name == "ValSliceUnique":
        return "unique:" + ("*" if "DirectEqual" in rest[0] else file.keys(rest[0]))
    if name == "EachValSliceVal":
        match = "" if rest[0] == "nil" else "*" if "DirectEqual" in rest[0] else file.keys(rest[0])
        if rest[2].startswith("func"):
            inner, inner_args, _ = call(rest[2], rest[2].index("validate."))
            return "each:%s:(%s)" % (match, rule(file, inner, inner_args, api_dir))
        return "each:%s:(%s)" % (match, validator(rest[2]))
    if name == "EachMapKey":
        return "eachKey:(%s)" % validator(rest[0])
    if name == "EachMapVal":
        return "eachValue:(%s)" % validator(rest[1])
    if name == "Subfield":
        if rest[3].startswith("func"):
            inner, inner_args, _ = call(rest[3], rest[3].index("validate."))
            return "sub:%s:(%s)" % (rest[0].strip('"'), rule(file, inner, inner_args, api_dir))
        return "sub:%s:(%s)" % (rest[0].strip('"'), validator(rest[3]))
    if name == "IfOption":
        if rest[2].startswith("func"):
            inner, inner_args, _ = call(rest[2], rest[2].index("validate."))
            body = rule(file, inner, inner_args, api_dir)
        else:
            body = validator(rest[2])
        return "if:%s:%s:(%s)" % (rest[0].strip('"'), rest[1], body)
    if name in ("UpdatePointer", "UpdateValueByCompare", "ValSliceUpdate"):
        return "update:" + ",".join(a.split(".")[-1] for a in rest if a.startswith("validate.No"))
    if name in ("DependentRequired", "DependentForbidden"):
        return None
    return validator("validate." + name)


def statements(file, text, api_dir):
    """The rules of a function body, as tokens."""
    tokens = []
    at = 0
    pattern = re.compile(r"if e := (validate\.)|func\(\) \{ // cohort|if earlyReturn \{|"
                         r"errs = append\(errs, ((?:\w+\.)?Validate_(\w+))\(ctx")
    while m := pattern.search(text, at):
        if m.group(0).startswith("if earlyReturn"):
            tokens.append("|")
            at = m.end()
        elif m.group(0).startswith("func()"):
            body, at = block(text, text.index("{", m.start()))
            tokens += ["(", *statements(file, body, api_dir), ")"]
        elif m.group(3):
            tokens.append("is:" + m.group(3))
            at = m.end()
        else:
            name, args, end = call(text, m.start(1))
            marks = re.match(r"(?:\.Mark\w+\(\))*", text[end:]).group(0)
            body, at = block(text, text.index("{", end))
            spelled = rule(file, name, args, api_dir)
            if spelled is None:
                continue
            level = "~b" if "MarkBeta" in marks else "~a" if "MarkAlpha" in marks else ""
            stop = "!" if "earlyReturn = true" in body else ""
            tokens.append(spelled + level + stop)
    return tokens


def trim(tokens):
    while tokens and tokens[-1] == "|":
        tokens.pop()
    return tokens


def main():
    source = sys.argv[1]
    api = sys.argv[2]
    print("// Made by gen/declarative.py from the tags of upstream's types; not edited by hand.")
    print('R"rules(')
    for package, group in GROUPS.items():
        for version in SERVED.get(package, ["v1"]):
            path = "%s/pkg/apis/%s/%s/zz_generated.validations.go" % (source, package, version)
            api_dir = "%s/%s/%s" % (api, package, version)
            try:
                file = File(path, api_dir)
            except FileNotFoundError:
                continue
            types = {}
            for m in re.finditer(r"^func Validate_(\w+)\(", file.text, re.M):
                body, _ = block(file.text, file.text.index("{", file.text.index("(errs field.ErrorList)", m.end())))
                name = m.group(1)
                lines = []
                at = 0
                self_text = ""
                fields = re.compile(r"\t\{ // field \w+\.%s\.(\w+)\n" % name)
                while f := fields.search(body, at):
                    self_text += body[at:f.start()]
                    field_body, at = block(body, f.start() + 1)
                    tokens = trim(statements(file, field_body, api_dir))
                    child = re.findall(r'fldPath\.Child\("([\w.]+)"\)', field_body)[-1]
                    if "." in child:
                        child = "-"
                    if tokens:
                        lines.append(" ".join([child, *tokens]))
                self_text += body[at:]
                tokens = trim(statements(file, self_text, api_dir))
                if tokens:
                    lines.insert(0, " ".join(["self", *tokens]))
                types[name] = lines
            # Types whose rules are all of other files (metadata, conditions) or empty lead nowhere.
            def leads(name, seen):
                for line in types.get(name, []):
                    for token in line.split()[1:]:
                        inner = re.findall(r"is:(\w+)", token)
                        if not inner and token not in "|()" and "~a" not in token and not token.startswith("opt"):
                            return True
                        for t in inner:
                            if t not in seen and leads(t, seen | {t}):
                                return True
                return False
            kept = {n for n in types if leads(n, {n})}
            print("@%s/%s" % (group, version))
            for name, lines in types.items():
                if name not in kept:
                    continue
                print("type " + name)
                for line in lines:
                    words = [w for w in line.split() if not (re.search(r"is:(\w+)", w) and re.search(r"is:(\w+)", w).group(1) not in kept)]
                    if [w for w in words[1:] if w not in "|()" and not w.startswith("opt")] :
                        print(" " + " ".join(words))
    print(')rules"')


main()
