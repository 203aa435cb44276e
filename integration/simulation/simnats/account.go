package simnats

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
)

// Import is what an account has of another one, or of itself: as in the configuration of NATS, with its export. Both
// subjects end with ">", and have no wildcard before.
type Import struct {
	// Account imports, and From exports.
	Account, From string
	// To is in the account what Subject is in the exporting one.
	Subject, To string
	// Stream: what is published to Subject is delivered on To as well. Else it is a service: what is published to To is
	// published to Subject, and the first answer comes back. Nobody here waits for longer than the response threshold.
	Stream bool
	// Share: the exporting account sees who the client is, and not only its account.
	Share bool
}

// translate returns the subject of one end of an import for one of the other end, if it is there.
func translate(subject, from, to string) (string, bool) {
	rest, is := strings.CutPrefix(subject, strings.TrimSuffix(from, ">"))
	return strings.TrimSuffix(to, ">") + rest, is && rest != ""
}

// cross lets a message pass the imports that it meets, and reports whether anybody gets it there.
func (n *Network) cross(at *server, m *message) (some bool) {
	if r := n.responses[m.subject]; r != nil && r.from == m.account {
		return n.respond(at, r, m)
	}
	for _, i := range n.Imports {
		c := *m
		var is bool
		switch {
		case i.Stream && i.From == m.account && !m.imported:
			c.account = i.Account
			if c.subject, is = translate(m.subject, i.Subject, i.To); is {
				some = n.spread(at, &c) || some
			}
		case !i.Stream && i.Account == m.account && m.from != nil && m.delivered == "":
			c.account, c.imported = i.From, true
			if c.subject, is = translate(m.subject, i.To, i.Subject); is {
				some = n.serve(at, m, &c, i.Share) || some
			}
		}
	}
	return some
}

// response is where what is published to a subject goes, once: back from the account of a service to that of who has
// asked. The server where it was asked knows the place.
type response struct {
	at      *server
	from    string
	account string
	subject string
}

// responsePrefix begins the subjects of such places.
const responsePrefix = "_R_."

// place returns a subject of an account for what is to go to the reply subject of a message.
func (n *Network) place(at *server, account string, m *message) string {
	if m.reply == "" {
		return ""
	}
	n.places++
	subject := fmt.Sprintf("%s%s.%d", responsePrefix, at.name, n.places)
	n.responses[subject] = &response{at, account, m.account, m.reply}
	return subject
}

// serve lets a request pass an import to the service, and reports whether there is one.
func (n *Network) serve(at *server, asked, m *message, share bool) bool {
	m.header = requestInfo(m.header, asked.from.info(share))
	m.reply = n.place(at, m.account, asked)
	if n.route(at, m) {
		return true
	}
	delete(n.responses, m.reply)
	return false
}

// respond lets an answer go back, and reports whether its place is known. Whether anybody gets it there is not.
func (n *Network) respond(at *server, r *response, m *message) bool {
	if !n.reaches(at, r.at) {
		return false
	}
	n.between(at, r.at, responsePrefix, func() {
		if n.responses[m.subject] != r {
			return
		}
		delete(n.responses, m.subject)
		c := *m
		c.account, c.subject, c.reply = r.account, r.subject, n.place(r.at, r.account, m)
		n.route(r.at, &c)
	})
	return true
}

// forget drops what a server knew that does not run any more.
func (n *Network) forget(s *server) {
	maps.DeleteFunc(n.responses, func(_ string, r *response) bool { return r.at == s })
}

// info is what the server says of a client.
func (c *conn) info(share bool) natsserver.ClientInfo {
	info := natsserver.ClientInfo{Account: c.account, RTT: time.Millisecond}
	if share {
		info.Start, info.Host, info.ID, info.Server, info.Cluster = &c.began, "pipe", c.id, c.server.name, clusterName
		info.User, info.Name, info.Lang, info.Version = c.options.User, c.options.Name, c.options.Lang, c.options.Version
		info.Kind, info.ClientType = "Client", "nats"
	}
	return info
}

// requestInfo returns a header that says who has sent a request. One that the client has written is removed, as far as
// NATS sees it.
func requestInfo(header []byte, info natsserver.ClientInfo) []byte {
	var b bytes.Buffer
	if len(header) == 0 {
		header = []byte("NATS/1.0\r\n\r\n")
	}
	rest := bytes.TrimSuffix(header, []byte("\r\n"))
	for {
		before, after, is := bytes.Cut(rest, []byte("\r\n"+natsserver.ClientInfoHdr+":"))
		b.Write(before)
		if !is {
			break
		}
		_, rest, _ = bytes.Cut(after, []byte("\r\n"))
		rest = append([]byte("\r\n"), rest...)
	}
	text, _ := json.Marshal(info)
	_ = http.Header{natsserver.ClientInfoHdr: {string(text)}}.Write(&b)
	b.WriteString("\r\n")
	return b.Bytes()
}
