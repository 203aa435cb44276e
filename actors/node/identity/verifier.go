package identity

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/holdfast-io/holdfast/messages"
)

const (
	// header is what a service import of NATS writes, behind all headers of the client. The import removes one of the
	// client only if it stands between two ends of lines as NATS writes them, so the rest is checked here: see [check].
	header = "Nats-Request-Info"
	// maxHeaders bounds the headers of a request: a client may leave out up to two bytes of each line, and all that it
	// can leave out is less than the header of NATS.
	maxHeaders = 8
	// firstAndLast is the length of the first line of headers and of the empty one at their end, around that of a
	// header.
	firstAndLast, aroundHeader = len("NATS/1.0\r\n\r\n"), len(": \r\n")
	// field is what the errors name.
	field = "sender"
	// maxHeaderBytes bounds the work for a header; the JWT of a user with many permissions fits.
	maxHeaderBytes = 64 << 10
	// maxBytes leaves room for a slash and a name behind the identity in an owner.
	maxBytes = messages.MaxOwnerBytes - 56
	// redacted is what NATS writes in the place of a token.
	redacted = "[REDACTED]"
)

// clientInfo is what the header has about a client. NATS fills in the account in any case, the rest if the import has
// share: true.
type clientInfo struct {
	Account   string `json:"acc"`
	User      string `json:"user"`
	JWT       string `json:"jwt"`
	IssuerKey string `json:"issuer_key"`
}

// Verifier finds out who has sent a request. It is safe for concurrent use.
type Verifier struct {
	mode  Mode
	users *users
}

// New returns the verifier of a mode, nil for [None].
func New(mode Mode) *Verifier {
	if mode == None {
		return nil
	}
	return &Verifier{mode: mode, users: newUsers()}
}

// Needed reports whether a request with this operation needs a verified sender: those that name an owner, or that
// concern a session. Permissions decide about the others.
func Needed(op messages.Operation) bool {
	return op != messages.OpGet && op != messages.OpBreak && op != messages.OpConfirm
}

// Of returns who has sent a message, by its header. It returns an [messages.InvalidError] if the header does not say
// it, or not reliably.
func (v *Verifier) Of(m *nats.Msg) (string, error) {
	if err := check(m); err != nil {
		return "", err
	}
	info, err := parse(m.Header)
	if err != nil {
		return "", err
	}
	id := info.Account
	if v.mode == User {
		if id, err = v.user(info); err != nil {
			return "", err
		}
	}
	if err := checkIdentity(id); err != nil {
		return "", err
	}
	return id, nil
}

// checkIdentity returns an error unless the name is that of one sender alone. With a slash it would also be an owner of
// the sender whose name stands before that, and other nodes would read it without the spaces around it.
func checkIdentity(id string) error {
	if err := messages.CheckText(field, id, 1, maxBytes); err != nil {
		return err
	}
	if strings.Contains(id, "/") || strings.TrimSpace(id) != id {
		return messages.Invalid(field, "a name without slashes, and without spaces at its ends",
			fmt.Sprintf("%.64q", id))
	}
	return nil
}

// check returns an error unless the one header that was read is that of NATS. The client library ends lines and headers
// where NATS does not, and NATS writes its header last. So if another one was read, that of NATS was read as a part of
// a name or value, or was not read, and then the headers are longer than what was read of them.
func check(m *nats.Msg) error {
	count, length := 0, firstAndLast
	for name, values := range m.Header {
		for _, value := range values {
			// mutant: HeaderInAValue
			if name != header && strings.Contains(name, header) || strings.Contains(value, header) {
				return messages.Invalid(field, "other headers without "+header, "one with it")
			}
			count, length = count+1, length+len(name)+len(value)+aroundHeader
		}
	}
	switch sent := m.Size() - len(m.Subject) - len(m.Reply) - len(m.Data); {
	case count > maxHeaders:
		return messages.Invalid(field, fmt.Sprintf("at most %d headers, with that of NATS", maxHeaders),
			fmt.Sprint(count))
	case sent > length: // mutant: HeaderBehindTheEnd
		return messages.Invalid(field, fmt.Sprintf("headers of %d bytes, as they were read", length),
			fmt.Sprintf("%d bytes", sent))
	}
	return nil
}

// parse returns what the header says. More than one header may be a forged one beside that of NATS.
func parse(h nats.Header) (info clientInfo, err error) {
	values := h[header]
	switch {
	case len(values) == 0:
		const rule = "verified by NATS: requests come through a service import; use the prefix that is imported"
		return info, messages.Invalid(field, rule, "none")
	case len(values) > 1:
		return info, messages.Invalid(field, "one header "+header, fmt.Sprint(len(values)))
	case len(values[0]) > maxHeaderBytes:
		return info, messages.Invalid(field, fmt.Sprintf("a header %s of at most %d bytes", header, maxHeaderBytes),
			fmt.Sprintf("%d bytes", len(values[0])))
	}
	if err := json.Unmarshal([]byte(values[0]), &info); err != nil {
		return info, messages.Invalid(field, "a header "+header+" in JSON", "something else")
	}
	return info, nil
}

// user returns the user of a client. In operator mode NATS has verified the JWT, and nothing else: the names that a
// client sends beside it are its own claims. An issuer that is the key of an account is a sign of operator mode, and
// the signature of the JWT shows that this issuer has signed it. Otherwise NATS has verified the user's name or nkey,
// and a JWT would be a claim.
func (v *Verifier) user(info clientInfo) (string, error) {
	switch {
	case info.JWT != "" && nkeys.IsValidPublicAccountKey(info.IssuerKey):
		return v.users.subject(info.JWT, info.IssuerKey) // mutant: ClaimedUser
	case info.User == "" || info.User == redacted:
		return "", messages.Invalid(field, "a user with a name or an nkey; the service import needs share: true",
			"none")
	}
	return info.User, nil
}

// decode returns the user of a JWT that the issuer has signed.
func decode(token, issuer string) (string, error) {
	claims, err := jwt.DecodeUserClaims(token) // it verifies the signature
	if err != nil || claims.Issuer != issuer {
		return "", messages.Invalid(field, "a user JWT of the account that NATS names as its issuer", "another one")
	}
	return claims.Subject, nil
}
