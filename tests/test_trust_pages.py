"""Folders that hold anything: pages are made of them, they are compared and watched, or refused in one line."""

import json
import shutil
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import Cli
from .hostile import FIXTURES, MORE, one_error, plain_words
from .test_trust_paths import changed
from .test_trust_texts import check_outputs


@settings(deadline=None, max_examples=5 * MORE, suppress_health_check=FIXTURES)
@given(data=st.data())
def test_a_page_is_made_or_refused(data: st.DataObject, kept: Path, cli: Cli, tmp_path: Path) -> None:
    """Any value of the manifest, a point or the claims becomes any other, or goes."""
    folder = Path(shutil.copytree(kept, tmp_path / "r"))
    try:
        claims = [{"id": "C1", "statement": "s", "verdict": "holds", "margin": 1.0, "exact": False}]
        (folder / "claims.json").write_text(json.dumps(claims))
        victims = [folder / "manifest.json", *sorted((folder / "points").iterdir()), folder / "claims.json"]
        victim = data.draw(st.sampled_from(victims))
        content = {"whole": json.loads(victim.read_text())}
        if isinstance(content["whole"], dict):
            content["whole"].pop("digest", None)
        content = changed(data, content)
        victim.write_text(json.dumps(content.get("whole")))
        for command in (
            ("report", folder, "--html", folder / "page.html"),
            ("compare", kept, folder),
            ("watch", folder, "--once"),
        ):
            status, out, err = cli(*command)
            one_error(status, err)
            plain_words(out)
        check_outputs(folder)
    finally:
        shutil.rmtree(folder)
