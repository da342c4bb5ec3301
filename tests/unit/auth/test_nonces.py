"""The memory of nonces."""

from emulator.auth.authenticator import NonceMemory
from emulator.kernel.clock import MINUTE, Millis

NOW = Millis(1_000_000_000_000)


def test_nonce_is_forgotten_when_fifteen_minutes_are_over():
    """After its time a nonce is as good as new."""
    memory = NonceMemory()
    memory.is_new("k", "n", NOW, NOW)

    assert not memory.is_new("k", "n", Millis(NOW + 15 * MINUTE - 1), NOW)
    assert memory.is_new("k", "n", Millis(NOW + 15 * MINUTE), NOW)


def test_nonces_of_different_keys_do_not_meet():
    """The key id is part of what is remembered."""
    memory = NonceMemory()

    assert memory.is_new("a", "n", NOW, NOW)
    assert memory.is_new("b", "n", NOW, NOW)


def test_memory_holds_no_more_than_its_capacity():
    """When it is full the oldest nonce goes, the newest stays."""
    memory = NonceMemory(capacity=10)

    for number in range(25):
        memory.is_new("k", str(number), NOW, NOW)

    assert len(memory) == 10
    assert not memory.is_new("k", "24", NOW, NOW)
    assert memory.is_new("k", "0", NOW, NOW)


def test_what_is_over_is_dropped_without_waiting_for_a_full_memory():
    """New nonces sweep out the old ones."""
    memory = NonceMemory()
    for number in range(100):
        memory.is_new("k", str(number), NOW, NOW)

    memory.is_new("k", "later", Millis(NOW + 16 * MINUTE), Millis(NOW + 16 * MINUTE))

    assert len(memory) == 1


def test_repeated_nonce_is_not_kept_twice():
    """A refused repetition leaves the memory as it was."""
    memory = NonceMemory()
    memory.is_new("k", "n", NOW, NOW)

    memory.is_new("k", "n", NOW, NOW)

    assert len(memory) == 1
