"""When what makes first calls quick is prepared: it takes a process, and many emulators have no function."""

import pytest


async def test_nothing_is_prepared_without_a_function(site):
    """Neither a start nor a reset, a service or its tags let a process start ahead."""
    await site.v1("POST", "/services", {"serviceName": "shop"})
    await site.v1("PUT", "/services/shop", {"description": "empty"})
    await site.fc.reset()

    assert site.instances.expecting == 0


@pytest.mark.parametrize("service", [True, False], ids=["of a service", "3.0"])
async def test_first_calls_are_prepared_when_there_is_a_function(site, pack, service):
    """The first function counts, in either API; what is prepared stays so."""
    body = {"functionName": "f", "runtime": "python3.10", "handler": "index.handler", "code": pack()}
    if service:
        await site.make_function()
        await site.make_function(name="other")
    else:
        await site.v3("POST", "/functions", body)
        await site.v3("POST", "/functions", body | {"functionName": "g"})

    assert site.instances.expecting == 1


async def test_first_calls_are_prepared_by_a_start_with_functions(site, site_of, tmp_path):
    """Also for functions that an earlier start has left, before their folder has been looked at."""
    await site.make_function()
    again = site_of(tmp_path / "state", site.database)

    await again.fc.start()
    await again.fc.close()

    assert again.instances.expecting == 1


async def test_first_calls_are_prepared_for_functions_of_the_folder(open_site, tmp_path):
    """Each function of the folder is about to be called."""
    (tmp_path / "functions" / "shop" / "order").mkdir(parents=True)
    (tmp_path / "functions" / "shop" / "order" / "index.py").write_text("def handler(event, context): return event\n")

    async with open_site(tmp_path / "functions") as site:
        assert site.instances.expecting == 1


async def test_first_calls_are_prepared_for_functions_that_a_restore_brings(site):
    """The tables are replaced beneath the service, which then goes on from them."""
    await site.make_function()
    rows = site.database.read("SELECT * FROM fc_functions").fetchall()
    await site.v1("DELETE", "/services/shop/functions/order")
    site.fc._expects_calls, site.instances.expecting = False, 0

    await site.fc.suspend()
    for row in rows:
        site.database.write(f"INSERT INTO fc_functions VALUES ({', '.join('?' * len(row))})", row)
    await site.fc.resume()

    assert site.instances.expecting == 1
