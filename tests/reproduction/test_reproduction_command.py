"""`simcomplete paper`: list, run and report."""

import json

from typer.testing import CliRunner

from simcomplete._cli.app import app
from simcomplete._reproduction.protocol import load_protocols
from simcomplete._reproduction.rows import read_rows


def test_the_commands(tmp_path):
    def call(*words, code=0):
        result = CliRunner().invoke(app, ["paper", *words])
        assert result.exit_code == code, result.output
        return result

    listed = json.loads(call("list", "--json").stdout)
    assert [one["name"] for one in listed] == [one.name for one in load_protocols()]
    assert "ablation" in call("list").stdout
    run = ["run", "smcnn-smcnmf", "--quick", "-o", str(tmp_path), "--only", "column=original", "--only", "method=smcnn"]
    assert json.loads(call(*run, "--json").stdout)["made"] == 1
    assert "0 new rows" in call(*run, "--verbose").stdout
    report = call("report", "smcnn-smcnmf", "--quick", "-o", str(tmp_path), "--pack", str(tmp_path / "r.jsonl.gz"))
    assert str(tmp_path / "index.html") in report.stdout
    assert len(read_rows(tmp_path / "r.jsonl.gz")) == 1
    assert "[SMCNN](../methods/smcnn.md) | original | 0." in (tmp_path / "smcnn-smcnmf.md").read_text(encoding="utf-8")
    assert "exclude each other" in call("run", "rank", "--quick", "--full", code=2).stderr
    assert "there is no protocol" in call("run", "best", code=2).stderr
