#!/usr/bin/env python3
"""Checks that a schema offers all of a contract: check.py CONTRACT SCHEMA NOT_YET

Types, fields, arguments, enum values and input fields must be there under the same names and types; the schema may
offer more. NOT_YET lists what is known to be missing, one a line, as `Type`, `Type.field` or `Type.field(argument)`;
what has come to exist must be taken off the list.
"""
import re
import sys

TOKEN = re.compile(r'"""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"|#[^\n]*|[\w@]+|[^\s\w]')


def tokens(path):
    with open(path, encoding="utf-8") as file:
        found = TOKEN.findall(file.read())
    return [token for token in found if not token.startswith(('"', "#", ","))]


def matching(all_tokens, start, opening, closing):
    depth = 0
    for place in range(start, len(all_tokens)):
        depth += (all_tokens[place] == opening) - (all_tokens[place] == closing)
        if depth == 0:
            return place
    sys.exit(f"{opening} is never closed")


def fields(prefix, body):
    """`name(arguments): Type = default @directive`, or a bare name, which is an enum's value."""
    found, place = {}, 0
    while place < len(body):
        name = f"{prefix}.{body[place]}"
        place += 1
        if place < len(body) and body[place] == "(":
            end = matching(body, place, "(", ")")
            for argument, kind in fields("", body[place + 1:end]).items():
                found[f"{name}({argument[1:]})"] = kind
            place = end + 1
        kind = ""
        if place < len(body) and body[place] == ":":
            place += 1
            while place < len(body) and (body[place] in "[]!" or not kind or kind.endswith("[")):
                kind += body[place]
                place += 1
        if place < len(body) and body[place] == "=":
            place += 2
        while place < len(body) and body[place].startswith("@"):
            place += 1
            if place < len(body) and body[place] == "(":
                place = matching(body, place, "(", ")") + 1
        found[name] = kind
    return found


def definitions(path):
    all_tokens, found, place = tokens(path), {}, 0
    while place < len(all_tokens):
        word = all_tokens[place]
        if word == "scalar":
            found[all_tokens[place + 1]] = word
            place += 2
        elif word in ("type", "interface", "input", "enum"):
            name = all_tokens[place + 1]
            start = all_tokens.index("{", place)
            end = matching(all_tokens, start, "{", "}")
            found[name] = word
            found.update(fields(name, all_tokens[start + 1:end]))
            place = end + 1
        elif word == "{":
            place = matching(all_tokens, place, "{", "}") + 1
        else:
            place += 1
    return found


def main(contract_path, schema_path, not_yet_path):
    contract, schema = definitions(contract_path), definitions(schema_path)
    with open(not_yet_path, encoding="utf-8") as file:
        lines = [line.split("#")[0].strip() for line in file]
    not_yet = {line for line in lines if line}
    excused = lambda name: any(name == of or name.startswith((of + ".", of + "(")) for of in not_yet)
    wrong = []
    for name, kind in sorted(contract.items()):
        if name in schema and name in not_yet:
            wrong.append(f"{name} exists: take it off {not_yet_path}")
        elif name not in schema and not excused(name):
            wrong.append(f"{name} is missing")
        elif name in schema and schema[name] != kind:
            wrong.append(f"{name} is {schema[name]!r}, the contract says {kind!r}")
    wrong += [f"{name} is not in the contract: take it off {not_yet_path}" for name in sorted(not_yet - set(contract))]
    print("\n".join(wrong) or f"the contract is kept: {len(contract)} names, {len(not_yet)} entries not built yet")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main(*sys.argv[1:])
