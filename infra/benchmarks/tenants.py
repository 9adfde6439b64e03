"""Compare searches of a tenant among other tenants with searches of the same tenant alone: CPU time and recall.

One database has all tenants, and two further databases have one tenant each. Each round asks one question in each
database, one after the other, so that changes in the machine's speed affect all equally. The searches are measured
again after the tenants get their own vector indexes.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from infra.benchmarks.corpus import questions, texts
from infra.benchmarks.database import new_database, opened, owner_of
from infra.benchmarks.figures import Figure
from infra.benchmarks.search import Bench, fill, measured_bench, recall, share, writing_bench
from mnemosyne.adapters.embedders.offline import SPACE, OfflineEmbedder
from mnemosyne.cli.local import postgres
from mnemosyne.domain.search import SearchMode

PARTS = {"tenth": 10, "third": 3}
"""The measured tenants. A tenant with the number n has one n-th of all memories."""
WARM_UP = 3


def compare_tenants(
    shared: Bench, alone: Mapping[str, Bench], query_texts: Sequence[str], suffix: str, names: Mapping[str, str]
) -> list[Figure]:
    """Search for each tenant in the shared database and in the tenant's own database, and compare the CPU times.

    The figures are the ratios of the CPU times, and the recall in the shared database. `names` has a description of
    each tenant, which becomes part of the names of the tenant's figures.
    """
    ratios: dict[tuple[str, str], list[float]] = defaultdict(list)
    for number, question in enumerate([*query_texts[:WARM_UP], *query_texts]):
        for tenant, mode in ((tenant, mode) for tenant in alone for mode in (SearchMode.SEMANTIC, SearchMode.HYBRID)):
            vector = shared.vector(tenant, question)
            order = [shared, alone[tenant]] if number % 2 else [alone[tenant], shared]
            costs = {
                id(bench): bench.cost(lambda bench=bench: bench.search(tenant, question, vector, mode=mode))  # type: ignore[misc]  # noqa: B023
                for bench in order
            }
            if number >= WARM_UP:
                ratios[tenant, mode.value].append(costs[id(shared)] / costs[id(alone[tenant])])
    figures = [
        Figure.of(f"{mode}, {names[tenant]}{suffix} / alone", values, 1.5) for (tenant, mode), values in ratios.items()
    ]
    return figures + [
        share(f"recall@10 by meaning, {names[tenant]}{suffix}", recall(shared, tenant, query_texts), 0.98)
        for tenant in alone
    ]


def figures(rows: int, rounds: int) -> list[Figure]:
    """Measure two tenants: one has a tenth of the `rows` memories, the other a third. Return the figures."""
    corpus = texts(rows + rounds)
    query_texts = questions(corpus[rows:], rounds)
    contents: dict[str, list[str]] = {}
    used = 0
    for tenant, part in PARTS.items():
        contents[tenant] = corpus[used : used + rows // part]
        used += rows // part
    names = {name: f"tenant of {len(own):,} among {rows:,}" for name, own in contents.items()}
    with new_database(SPACE) as (server, directory), ExitStack() as exits:
        with owner_of(server, postgres.OWNER) as owner:
            for tenant in PARTS:
                owner.script(f"CREATE DATABASE alone_{tenant} TEMPLATE {postgres.DATABASE}")
        embedder = OfflineEmbedder(directory.path / "words.bin")

        def filled_bench(database: str, contents: Mapping[str, Sequence[str]]) -> Bench:
            """Store the texts of each namespace in a database. Return a Bench with new connections to the database."""
            with writing_bench(server, embedder, database) as writers:
                fill(writers, contents)
            memories = exits.enter_context(opened(server, SPACE, database=database))
            return measured_bench(memories, embedder, exits.enter_context(owner_of(server, database)))

        alone = {name: filled_bench(f"alone_{name}", {name: own}) for name, own in contents.items()}
        shared = filled_bench(postgres.DATABASE, contents | {"others": corpus[used:rows]})
        results = compare_tenants(shared, alone, query_texts, "", names)
        for tenant in PARTS:
            ((statement,),) = shared.owner.run("SELECT own_index_statement(:namespace)", namespace=tenant)
            shared.owner.script(statement)
        return results + compare_tenants(shared, alone, query_texts, ", own index", names)
