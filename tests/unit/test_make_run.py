import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parents[2] / "data" / "demo"


def test_the_script_makes_the_committed_files_byte_for_byte(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(DEMO / "make_run.py"), str(tmp_path)], check=True, timeout=60)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert made == {name: (DEMO / name).read_bytes() for name in ("teralune.qrels", "teralune-bm25.run")}
