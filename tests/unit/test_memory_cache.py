import pytest

from befund.adapters.memory_cache import MemoryCache


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_the_least_recently_used_is_forgotten_first() -> None:
    cache = MemoryCache(entries=2)
    await cache.put("a", b"1")
    await cache.put("b", b"2")
    await cache.get("a")
    await cache.put("c", b"3")
    assert [await cache.get(key) for key in "abc"] == [b"1", None, b"3"]


@pytest.mark.anyio
async def test_values_are_held_up_to_a_size_together() -> None:
    cache = MemoryCache(size=10)
    await cache.put("a", b"123456")
    await cache.put("a", b"12345")
    await cache.put("b", b"12345")
    assert await cache.get("a") == b"12345"
    await cache.put("c", b"1")
    assert [await cache.get(key) for key in "abc"] == [b"12345", None, b"1"]


@pytest.mark.anyio
async def test_a_value_larger_than_all_is_not_held() -> None:
    cache = MemoryCache(size=3)
    await cache.put("a", b"1234")
    assert await cache.get("a") is None
