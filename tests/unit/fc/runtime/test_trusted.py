"""The files that an instance's variables name are there before its code is loaded."""

import asyncio
import shutil

import pytest

PYTHON = """
    import os
    found = open(os.environ["LOCALYUN_CA_BUNDLE"]).read()
    def handler(event, context):
        return found
"""

NODE = """
const found = require('fs').readFileSync(process.env.LOCALYUN_CA_BUNDLE, 'utf8');
exports.handler = (event, context, callback) => callback(null, found);
"""


@pytest.mark.parametrize("runtime", ["python3.10", "nodejs20"])
async def test_an_instance_is_started_when_its_files_are_there(functions, tmp_path, runtime):
    """Two calls at once, each of which starts an instance; the file comes while both wait."""
    if runtime == "nodejs20" and shutil.which("node") is None:
        pytest.skip("there is no node on the PATH")
    file = tmp_path / "bundle.pem"
    there = asyncio.Event()
    waiting = asyncio.Semaphore(0)

    async def trusted():
        waiting.release()
        await there.wait()

    image = functions.image(PYTHON, runtime=runtime)
    (image.code_dir / "index.js").write_text(NODE)
    settings = {"extra_environment": {"LOCALYUN_CA_BUNDLE": str(file)}, "trusted": trusted}
    async with functions.pool(**settings) as pool:
        calls = [asyncio.ensure_future(pool.invoke(image, functions.invocation())) for _ in range(2)]
        await waiting.acquire()
        await waiting.acquire()
        file.write_text("certificates")
        there.set()
        results = await asyncio.gather(*calls)

    assert [result.body for result in results] == [b"certificates"] * 2
