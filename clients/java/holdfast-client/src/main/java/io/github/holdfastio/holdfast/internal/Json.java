package io.github.holdfastio.holdfast.internal;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Reads JSON: events, and the answers to requests without fields. */
final class Json {
    private static final int MAX_DEPTH = 32;

    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** Returns an object. Throws IllegalArgumentException if the bytes are none. */
    static Message parse(byte[] bytes) {
        try {
            Json json = new Json(
                    StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString());
            Message message = json.object(0);
            json.blanks();
            if (json.at != json.text.length()) {
                throw json.malformed();
            }
            return message;
        } catch (CharacterCodingException e) {
            throw new IllegalArgumentException("no UTF-8", e);
        }
    }

    private Message object(int depth) {
        Message message = new Message();
        expect('{');
        if (!accept('}')) {
            do {
                blanks();
                String name = text();
                expect(':');
                Object value = value(depth + 1);
                if (value != NULL) {
                    message.with(name, value);
                }
            } while (accept(','));
            expect('}');
        }
        return message;
    }

    private static final Object NULL = new Object();

    private Object value(int depth) {
        if (depth > MAX_DEPTH) {
            throw malformed();
        }
        blanks();
        return switch (peek()) {
            case '{' -> object(depth);
            case '[' -> list(depth);
            case '"' -> text();
            case 't' -> word("true", true);
            case 'f' -> word("false", false);
            case 'n' -> word("null", NULL);
            default -> number();
        };
    }

    private List<Object> list(int depth) {
        List<Object> values = new ArrayList<>();
        expect('[');
        if (!accept(']')) {
            do {
                values.add(value(depth + 1));
            } while (accept(','));
            expect(']');
        }
        return values;
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, at)) {
            throw malformed();
        }
        at += word.length();
        return value;
    }

    private Object number() {
        int begin = at;
        while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        String number = text.substring(begin, at);
        try {
            return Long.valueOf(number);
        } catch (NumberFormatException e) {
            return Double.valueOf(number);
        }
    }

    private String text() {
        if (peek() != '"') {
            throw malformed();
        }
        at++;
        StringBuilder value = new StringBuilder();
        for (char c; (c = next()) != '"'; ) {
            value.append(c == '\\' ? escaped() : c);
        }
        return value.toString();
    }

    private char escaped() {
        char c = next();
        return switch (c) {
            case '"', '\\', '/' -> c;
            case 'b' -> '\b';
            case 'f' -> '\f';
            case 'n' -> '\n';
            case 'r' -> '\r';
            case 't' -> '\t';
            case 'u' -> {
                if (at + 4 > text.length()) {
                    throw malformed();
                }
                at += 4;
                yield (char) Integer.parseInt(text.substring(at - 4, at), 16);
            }
            default -> throw malformed();
        };
    }

    private char next() {
        char c = peek();
        at++;
        return c;
    }

    private char peek() {
        if (at >= text.length()) {
            throw malformed();
        }
        return text.charAt(at);
    }

    private void blanks() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private boolean accept(char c) {
        blanks();
        if (at < text.length() && text.charAt(at) == c) {
            at++;
            return true;
        }
        return false;
    }

    private void expect(char c) {
        if (!accept(c)) {
            throw malformed();
        }
    }

    private IllegalArgumentException malformed() {
        return new IllegalArgumentException("malformed JSON at " + at);
    }
}
