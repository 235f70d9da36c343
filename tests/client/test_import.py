import subprocess
import sys

LOADED = """
import sys
import befund_client
print(*sorted({name.partition(".")[0] for name in sys.modules}))
print(*sorted(name for name in sys.modules if name.startswith("befund")))
"""


def _loaded() -> tuple[set[str], set[str]]:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    packages, ours = done.stdout.splitlines()
    return set(packages.split()), set(ours.split())


def test_the_import_loads_nothing_of_the_server() -> None:
    packages, ours = _loaded()
    heavy = {"litestar", "numpy", "uvicorn", "structlog", "prometheus_client", "rich", "anyio"}
    assert packages & heavy == set()
    assert {name for name in ours if not name.startswith(("befund_client", "befund.contract"))} == {"befund"}


def test_the_import_defers_what_is_slow_to_load() -> None:
    packages, _ = _loaded()
    assert packages & {"httpx", "asyncio", "ssl"} == set()
