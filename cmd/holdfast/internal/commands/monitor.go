package commands

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"runtime"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/health"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/cmd/holdfast/metrics"
	"github.com/holdfast-io/holdfast/cmd/holdfast/page"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/cmd/holdfast/web"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// defaultHTTP is the default of --http, and httpOff its value without HTTP.
	defaultHTTP, httpOff = "127.0.0.1:8422", "off"
	// httpStopTimeout bounds how long requests under way may take when the node stops.
	httpStopTimeout = time.Second
)

// The modes of the web page.
const (
	pageAuto    = "auto"
	pageOff     = "off"
	pageRead    = "read"
	pageActions = "actions"
)

// monitorFlags say where a node can be watched.
type monitorFlags struct {
	http                    string
	httpInsecure            bool
	httpTLSCert, httpTLSKey string
	httpPage                cli.Choice
	audit                   string
}

func (m *monitorFlags) add(f *pflag.FlagSet) {
	m.httpPage = cli.NewChoice(pageAuto, pageAuto, pageOff, pageRead, pageActions)
	f.StringVar(&m.http, "http", defaultHTTP, "address for the page, metrics and health, `HOST:PORT`; port 0 takes any free one, off turns HTTP off")
	f.BoolVar(&m.httpInsecure, "http-insecure", false, "accept connections of other hosts without TLS")
	f.StringVar(&m.httpTLSCert, "http-tls-cert", "", "`FILE` with the certificate for HTTPS")
	f.StringVar(&m.httpTLSKey, "http-tls-key", "", "`FILE` with its private key")
	f.Var(&m.httpPage, "http-page", "`MODE` of the web page: "+m.httpPage.List()+", which permits to break leases; auto is read, and off where other hosts reach the address")
	f.StringVar(&m.audit, "audit", "", "`FILE` to which what operators do is appended, in JSON")
}

func (m *monitorFlags) check(given *settings.Settings) error {
	if err := given.CheckFiles("http-tls-cert", "http-tls-key"); err != nil {
		return err
	}
	if m.http == httpOff {
		for _, flag := range []string{"http-insecure", "http-tls-cert", "http-tls-key", "http-page"} {
			if given.Has(flag) {
				return exit.Usagef("%s and %s exclude each other: without HTTP it has no effect", given.Given[flag], given.Given["http"])
			}
		}
	}
	if m.httpPage.Word == pageActions && m.httpTLSCert == "" && !(web.Config{Listen: m.http}).IsLocal() {
		return exit.Usagef("%s %s: an address that other hosts reach, here %s, requires TLS for it, because a web site could otherwise break leases "+
			"through a name that leads to it; give --http-tls-cert and --http-tls-key, or listen on 127.0.0.1", given.Given["http-page"], pageActions, m.http)
	}
	return cmp.Or(
		given.Require("http-tls-cert", []string{"http-tls-key"}, "a key requires its certificate"),
		given.Require("http-tls-key", []string{"http-tls-cert"}, "a certificate requires its key"),
	)
}

// monitor is what a node shows to its operators: metrics and health over HTTP, and the audit file.
type monitor struct {
	metrics *metrics.Metrics
	health  *health.Health
	page    *page.Page  // nil if it is turned off
	web     *web.Server // nil if HTTP is turned off
	audit   *auditFile  // nil if there is none
}

// start starts a monitor of the node of that name, which has yet to be started. chosen: an operator has chosen the address.
// The files of the monitor are read again as again says, which has to stop before the monitor.
func (m *monitorFlags) start(name string, prefix messages.Prefix, chosen bool, again *reload, log *slog.Logger) (*monitor, error) {
	running := &monitor{}
	if m.audit != "" {
		file, err := openAudit(m.audit, log)
		if err != nil {
			return nil, exit.Usagef("--audit: %w", err)
		}
		running.audit = file
		again.add("audit file", m.audit, file.open)
	}
	if m.http == httpOff {
		return running, nil
	}
	running.metrics, running.health = metrics.New(programVersion()), health.New()
	cfg := web.Config{
		Listen: m.http, Elsewhere: !chosen, Insecure: m.httpInsecure, Cert: m.httpTLSCert, Key: m.httpTLSKey, Log: log,
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", running.metrics.Handler(log))
	mux.Handle("GET /livez", running.health.Live())
	mux.Handle("GET /readyz", running.health.Ready())
	mux.HandleFunc("GET /version", showVersion)
	if mode := m.pageMode(cfg); mode != pageOff {
		running.page = page.New(page.Config{
			Prefix: prefix, Name: name, Actions: mode == pageActions, Log: log,
		})
		running.page.Register(mux)
	}
	var err error
	running.web, err = web.Start(cfg, mux)
	if errors.Is(err, web.ErrConfig) {
		err = &exit.Error{Code: exit.Usage, Err: err}
	}
	if err != nil {
		return nil, errors.Join(err, running.stop())
	}
	if m.httpTLSCert != "" {
		again.add("certificate for HTTPS", m.httpTLSCert, running.web.Reload)
		running.metrics.Certificate("https", running.web.CertificateEnds)
	}
	return running, nil
}

// pageMode returns the mode of the page. It shows names of resources and owners and there is no login, so without a flag
// it is for this host only.
func (m *monitorFlags) pageMode(cfg web.Config) string {
	switch {
	case m.httpPage.Word != pageAuto:
		return m.httpPage.Word
	case cfg.IsLocal():
		return pageRead
	}
	return pageOff
}

// watch configures the node to be watched.
func (m *monitor) watch(cfg *server.Config) {
	if m.metrics != nil {
		cfg.Observer = m.metrics
	}
	if m.audit != nil {
		cfg.Audit = m.audit.logger()
	}
}

// started says that the node serves requests until ctx ends.
func (m *monitor) started(ctx context.Context, running *server.Server) error {
	if m.web == nil {
		return nil
	}
	m.metrics.Started(running.Node())
	m.metrics.Synced(running.Synced)
	m.health.Started(running.Node())
	context.AfterFunc(ctx, m.health.Stopping)
	if m.page == nil {
		return nil
	}
	nc, err := running.Connect("page")
	if err != nil {
		return err
	}
	return m.page.Started(nc, running.Node())
}

// stop ends all of it.
func (m *monitor) stop() error {
	var errs []error
	ctx, cancel := context.WithTimeout(context.Background(), httpStopTimeout)
	defer cancel()
	if m.page != nil {
		errs = append(errs, m.page.Close(ctx))
	}
	if m.web != nil {
		errs = append(errs, m.web.Close(ctx))
	}
	if m.audit != nil {
		errs = append(errs, m.audit.close())
	}
	return errors.Join(errs...)
}

func showVersion(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{ // a client that is gone needs no answer
		"version": programVersion(), "go": runtime.Version(), "nats_server": natsserver.VERSION,
	})
}
