package io.github.holdfastio.holdfast.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.github.holdfastio.holdfast.InvalidException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class KeyTest {
    @ParameterizedTest
    @CsvSource({
        "orders.42, orders.42",
        "document:123, document=3A123",
        "a..b, a.=2Eb",
        "a...b, a.=2E=2Eb",
        ".a, =2Ea",
        "a., a=2E",
        "., =2E",
        "caf\u00e9, caf=C3=A9",
        "cafe\u0301, caf=C3=A9",
        "\u212b, =C3=85",
        "a b*c>d=e, a=20b=2Ac=3Ed=3De",
        "/a/b-c_d, /a/b-c_d",
        "\uD83D\uDD12, =F0=9F=94=92"
    })
    void theKeyOfAName(String name, String key) {
        assertEquals(key, Key.encode(name));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "a\u0000b", "a\u001f", "\u007f", "a\u0080", "\u009f", "a\nb", "\ud800"})
    void whatIsNoName(String name) {
        assertThrows(InvalidException.class, () -> Key.encode(name));
    }

    @ParameterizedTest
    @CsvSource({"a, 512, true", "a, 513, false", "\u00e9, 256, true", "\u00e9, 257, false"})
    void theBoundsOfNames(String letter, int times, boolean fits) {
        String name = letter.repeat(times);
        if (fits) {
            Key.encode(name);
        } else {
            assertThrows(InvalidException.class, () -> Key.encode(name));
        }
    }
}
