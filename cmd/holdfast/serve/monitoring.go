package serve

import (
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/cmd/holdfast/web"
)

// defaultHTTP is the default of --http, and httpOff its value without HTTP.
const defaultHTTP, httpOff = "127.0.0.1:8422", "off"

// The modes of the web page.
const (
	pageAuto    = "auto"
	pageOff     = "off"
	pageRead    = "read"
	pageActions = "actions"
)

// monitoring is where and how a node can be watched.
type monitoring struct {
	http     string
	insecure bool
	tls      []string // the certificate and its key; nil: no HTTPS
	page     cli.Choice
	health   string // the address of health alone, empty for none
	audit    string
	chosen   bool // an operator has chosen the address
}

func (m *monitoring) add(f *pflag.FlagSet) {
	m.page = cli.NewChoice(pageAuto, pageAuto, pageOff, pageRead, pageActions)
	f.StringVar(&m.http, "http", defaultHTTP,
		"`HOST:PORT` for the page, metrics and health; port 0 takes any free one, off turns HTTP off")
	f.BoolVar(&m.insecure, "http-insecure", false, "accept connections of other hosts without TLS")
	f.StringSliceVar(&m.tls, "http-tls", nil,
		"`CERT,KEY` for HTTPS: the files with the certificate and with its private key")
	f.Var(&m.page, "http-page", "`MODE` of the page: "+m.page.List()+
		", which permits to break leases; auto is read, and off where other hosts reach the address")
	f.StringVar(&m.health, "health", "",
		"`HOST:PORT` for /livez and /readyz alone, without TLS; port 0 takes any free one")
	f.StringVar(&m.audit, "audit", "", "`FILE` to which what operators do is appended, in JSON")
}

func (m *monitoring) check(given *settings.Settings) error {
	m.chosen = given.Given["http"] != ""
	if m.http == httpOff {
		for _, flag := range []string{"http-insecure", "http-tls", "http-page"} {
			if given.Has(flag) {
				return exit.Usagef("%s and %s exclude each other: without HTTP it has no effect",
					given.Given[flag], given.Given["http"])
			}
		}
	}
	if m.http != httpOff && (web.Config{Listen: m.health}).Meets(web.Config{Listen: m.http}) {
		return exit.Usagef("%s %s: --http listens on %s; give one of them another port", given.Given["health"], m.health,
			m.http)
	}
	if m.page.Word == pageActions && m.tls == nil && !(web.Config{Listen: m.http}).IsLocal() {
		return exit.Usagef(
			"%s %s: an address that other hosts reach, here %s, requires TLS for it, because a web site "+
				"could otherwise break leases through a name that leads to it; give --http-tls, or listen on 127.0.0.1",
			given.Given["http-page"], pageActions, m.http)
	}
	return given.CheckFileList("http-tls", m.tls, "certificate", "key")
}

func (m *monitoring) apply(*server.Config) error { return nil } // the monitor enters itself when it starts

// web returns the configuration of the HTTP server.
func (m *monitoring) web(cfg *server.Config) web.Config {
	w := web.Config{Flag: "--http", Listen: m.http, Elsewhere: !m.chosen, Insecure: m.insecure, Log: cfg.Log}
	if m.tls != nil {
		w.Cert, w.Key = m.tls[0], m.tls[1]
	}
	return w
}

// pageMode returns the mode of the page. It shows names of resources and owners and there is no login, so without a
// flag it is for this host only.
func (m *monitoring) pageMode(cfg web.Config) string {
	switch {
	case m.page.Word != pageAuto:
		return m.page.Word
	case cfg.IsLocal():
		return pageRead
	}
	return pageOff
}
