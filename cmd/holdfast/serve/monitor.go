package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"github.com/holdfast-io/holdfast/cmd/holdfast/health"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/metrics"
	"github.com/holdfast-io/holdfast/cmd/holdfast/page"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/cmd/holdfast/web"
)

// httpStopTimeout bounds how long requests under way may take when the node stops.
const httpStopTimeout = time.Second

// monitor is what a node shows to its operators: metrics and health over HTTP, and the audit file.
type monitor struct {
	metrics *metrics.Metrics // nil if HTTP is turned off
	health  *health.Health
	page    *page.Page  // nil if it is turned off
	web     *web.Server // nil if HTTP is turned off
	probed  *web.Server // serves health alone; nil if it has no address of its own
	audit   *auditFile  // nil if there is none
}

// start starts the monitor of a node that has yet to be started, and enters it into the configuration of the node. The
// files of the monitor are read again as again says, which has to stop before the monitor.
func (m *monitoring) start(cfg *server.Config, again *reload) (*monitor, error) {
	running := &monitor{health: health.New()}
	cfg.Health = running.health
	if m.audit != "" {
		file, err := openAudit(m.audit, cfg.Log)
		if err != nil {
			return nil, exit.Usagef("--audit: %w", err)
		}
		running.audit, cfg.Audit = file, file.logger()
		again.add("audit file", m.audit, file.open)
	}
	err := m.serveHealth(running, cfg)
	if err == nil && m.http != httpOff {
		err = m.serveHTTP(running, cfg, again)
	}
	if errors.Is(err, web.ErrConfig) {
		err = &exit.Error{Code: exit.Usage, Err: err}
	}
	if err != nil {
		return nil, errors.Join(err, running.stop())
	}
	return running, nil
}

// serveHealth serves health alone, if it has an address of its own: what is open at that of --http takes none of its
// connections. It is served to other hosts without TLS, since it contains no names and no secrets.
func (m *monitoring) serveHealth(running *monitor, cfg *server.Config) (err error) {
	if m.health == "" {
		return nil
	}
	mux := http.NewServeMux()
	running.handleHealth(mux)
	running.probed, err = web.Start(web.Config{Flag: "--health", Listen: m.health, Insecure: true, Log: cfg.Log}, mux)
	if err != nil {
		return fmt.Errorf("--health: %w", err)
	}
	return nil
}

// serveHTTP serves metrics, health and the page.
func (m *monitoring) serveHTTP(running *monitor, cfg *server.Config, again *reload) (err error) {
	running.metrics = metrics.New(cfg.Version)
	cfg.Observer = running.metrics
	listen := m.web(cfg)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", running.metrics.Handler(cfg.Log))
	running.handleHealth(mux)
	mux.HandleFunc("GET /version", showVersion(cfg.Version))
	if mode := m.pageMode(listen); mode != pageOff {
		running.page = page.New(page.Config{
			Prefix: cfg.Prefix, Name: cfg.Name, Actions: mode == pageActions,
			Log: cfg.Log,
		})
		running.page.Register(mux)
	}
	if running.web, err = web.Start(listen, mux); err != nil {
		return err
	}
	if listen.Cert != "" {
		again.add("certificate for HTTPS", listen.Cert, running.web.Reload)
		running.metrics.Certificate("https", running.web.CertificateEnds)
	}
	return nil
}

func (m *monitor) handleHealth(mux *http.ServeMux) {
	mux.Handle("GET /livez", m.health.Live())
	mux.Handle("GET /readyz", m.health.Ready())
}

// started begins to monitor the node, which serves requests.
func (m *monitor) started(running *server.Server) error {
	if m.metrics != nil {
		m.metrics.Started(running.Node())
		m.metrics.Synced(running.Synced)
	}
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
	for _, s := range []*web.Server{m.web, m.probed} {
		if s != nil {
			errs = append(errs, s.Close(ctx))
		}
	}
	if m.audit != nil {
		errs = append(errs, m.audit.close())
	}
	return errors.Join(errs...)
}

func showVersion(version string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{ // a client that is gone needs no answer
			"version": version, "go": runtime.Version(), "nats_server": natsserver.VERSION,
		})
	}
}
