package relay

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Message is a line of the protocol and what belongs to it. Only published and delivered messages have a subject.
type Message struct {
	Subject, Reply string
	raw            []byte
}

// Info is the line in which a server introduces itself.
func (m Message) Info() (line string, ok bool) {
	return string(m.raw), bytes.HasPrefix(m.raw, []byte("INFO "))
}

// WithInfo returns another such line.
func (m Message) WithInfo(line string) Message {
	m.raw = []byte(line)
	return m
}

// Body returns what the message carries, without its headers.
func (m Message) Body() []byte {
	_, rest, headers := m.parts()
	return bytes.TrimSuffix(rest[headers:], []byte("\r\n"))
}

// WithBody returns the message with another body. Its headers stay.
func (m Message) WithBody(body []byte) Message {
	fields, rest, headers := m.parts()
	fields[len(fields)-1] = strconv.Itoa(headers + len(body))
	m.raw = fmt.Appendf(nil, "%s\r\n%s%s\r\n", strings.Join(fields, " "), rest[:headers], body)
	return m
}

// Answered returns the message with which a server delivers a body in the place of this one.
func (m Message) Answered(body string) Message {
	fields, _, _ := m.parts()
	m.raw = fmt.Appendf(nil, "MSG %s %s %d\r\n%s\r\n", fields[1], fields[2], len(body), body)
	return m
}

// parts returns the words of the line, what follows it, and how many bytes of that are headers.
func (m Message) parts() (fields []string, rest []byte, headers int) {
	line, rest, _ := bytes.Cut(m.raw, []byte("\r\n"))
	fields = strings.Fields(string(line))
	if strings.HasPrefix(fields[0], "H") {
		headers, _ = strconv.Atoi(fields[len(fields)-2])
	}
	return fields, rest, headers
}

func read(in *bufio.Reader) (Message, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return Message{}, err
	}
	m := Message{raw: []byte(line)}
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return m, nil
	}
	sizes := 1 + strings.Count(fields[0], "H") // of headers, and of all
	switch fields[0] {
	case "PUB", "HPUB":
	case "MSG", "HMSG":
		fields = append(fields[:2], fields[3:]...) // without the number of the subscription
	default:
		return m, nil
	}
	m.Subject = fields[1]
	if len(fields) == 3+sizes {
		m.Reply = fields[2]
	}
	size, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil {
		return m, err
	}
	body := make([]byte, size+len("\r\n"))
	if _, err := io.ReadFull(in, body); err != nil {
		return m, err
	}
	m.raw = append(m.raw, body...)
	return m, nil
}
