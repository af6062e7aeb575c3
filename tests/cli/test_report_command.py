"""``structsvm report``: a page from files."""

import json


def test_a_page_on_other_recordings(run, folder):
    code, out, err = run("report m.structsvm test -o report.html")
    assert (code, out) == (0, "")
    assert "the page is in report.html" in err
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<h1>What m is worth</h1>" in page
    assert "synthetic_03" in page


def test_json(run, folder):
    code, out, err = run("report m.structsvm train -o", folder / "r.html", "--json")
    assert code == 0
    assert json.loads(out) == {"page": str(folder / "r.html")}
    assert "warning: the model was learned from 4 of these 4 recordings" in err


def test_what_cannot_be(refused):
    assert "must end with one of .html" in refused("report m.structsvm test -o report.pdf")
    assert "cannot have 201 segments" in refused(
        "report m.structsvm test -o other.html --n-clusters 201"
    )
