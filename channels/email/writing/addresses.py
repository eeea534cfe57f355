"""Whether an address may be written into a header or an envelope."""

from __future__ import annotations

import string

MOST_LOCAL, MOST_ADDRESS, MOST_LABEL = 64, 254, 63
"""Octets: RFC 5321, sections 4.5.3.1.1 and 4.5.3.1.3, and RFC 1035, section 2.3.4."""

_ATOM = frozenset(string.ascii_letters + string.digits + "!#$%&'*+-/=?^_`{|}~")
_LABEL = frozenset(string.ascii_letters + string.digits + "-")


def problem(address: str) -> str:
    """What is wrong with an address, empty for nothing. It never repeats the address.

    Dot-atoms only (RFC 5322, section 3.2.3): whom we write to was read by a grammar that knows no
    others. A host's name in letters beyond ASCII has to come as A-labels.
    """
    if not address.isascii() or not address.isprintable():
        return "an address must be printable ASCII"
    local, _, domain = address.rpartition("@")
    if not local or not domain:
        return "an address needs a name, an @ and a domain"
    if len(local) > MOST_LOCAL or len(address) > MOST_ADDRESS:
        return f"an address has at most {MOST_LOCAL} characters before its @, and {MOST_ADDRESS} in all"
    if not all(atom and _ATOM.issuperset(atom) for atom in local.split(".")):
        return "what stands before an address's @ must be letters, digits and single dots"
    return "" if is_host(domain) else "an address's domain must be a host's name"


def is_host(name: str) -> bool:
    return len(name) <= MOST_ADDRESS and all(
        0 < len(label) <= MOST_LABEL and _LABEL.issuperset(label) and label[0] != "-" != label[-1]
        for label in name.split(".")
    )
