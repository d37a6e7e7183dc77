"""Which families there are and how often each is drawn."""
from . import apply_cases, cases, cel_cases, custom_cases, read_cases, sibling_cases
from .objects import dra_kinds, other_kinds

DRA, OTHERS = dra_kinds(), other_kinds()
EVERY = DRA + OTHERS

# (share, family, kinds)
FAMILIES = [
    (18, cases.random_create, DRA), (10, cases.random_create, OTHERS), (10, cases.random_two, DRA), (4, cases.random_two, OTHERS),
    (10, cases.random_status, DRA), (4, cases.random_status, OTHERS), (12, cases.random_update, DRA), (6, cases.random_update, OTHERS),
    (4, cases.random_duplicate, DRA), (2, cases.random_duplicate, OTHERS), (8, cases.random_metadata, EVERY), (8, cases.random_request, EVERY),
    (4, cases.random_delete, EVERY), (6, apply_cases.random_apply, DRA), (4, apply_cases.random_apply, OTHERS), (5, read_cases.random_read, EVERY),
    (40, sibling_cases.random_sibling, DRA), (8, cel_cases.random_selector, DRA), (0.5, custom_cases.random_custom, EVERY), (3, custom_cases.random_definition, EVERY),
]


def all_systematic():
    yield from cases.systematic(DRA)


def random_cases(rng, only):
    rows = [r for r in FAMILIES if not only or r[1].__name__ == only]
    while True:
        _, family, kinds = rng.choices(rows, [r[0] for r in rows])[0]
        try:
            yield family(rng, kinds)
        except (KeyError, IndexError, TypeError):
            continue  # a change took away the place of the next one
