package serve

import (
	"context"
	"encoding/json"
	"errors"
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
	metrics *metrics.Metrics
	health  *health.Health
	page    *page.Page  // nil if it is turned off
	web     *web.Server // nil if HTTP is turned off
	audit   *auditFile  // nil if there is none
}

// start starts the monitor of a node that has yet to be started, and enters it into the configuration of the node. The
// files of the monitor are read again as again says, which has to stop before the monitor.
func (m *monitoring) start(cfg *server.Config, again *reload) (*monitor, error) {
	running := &monitor{}
	if m.audit != "" {
		file, err := openAudit(m.audit, cfg.Log)
		if err != nil {
			return nil, exit.Usagef("--audit: %w", err)
		}
		running.audit, cfg.Audit = file, file.logger()
		again.add("audit file", m.audit, file.open)
	}
	if m.http == httpOff {
		return running, nil
	}
	running.metrics, running.health = metrics.New(cfg.Version), health.New()
	cfg.Observer = running.metrics
	listen := m.web(cfg)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", running.metrics.Handler(cfg.Log))
	mux.Handle("GET /livez", running.health.Live())
	mux.Handle("GET /readyz", running.health.Ready())
	mux.HandleFunc("GET /version", showVersion(cfg.Version))
	if mode := m.pageMode(listen); mode != pageOff {
		running.page = page.New(page.Config{
			Prefix: cfg.Prefix, Name: cfg.Name, Actions: mode == pageActions,
			Log: cfg.Log,
		})
		running.page.Register(mux)
	}
	var err error
	running.web, err = web.Start(listen, mux)
	if errors.Is(err, web.ErrConfig) {
		err = &exit.Error{Code: exit.Usage, Err: err}
	}
	if err != nil {
		return nil, errors.Join(err, running.stop())
	}
	if listen.Cert != "" {
		again.add("certificate for HTTPS", listen.Cert, running.web.Reload)
		running.metrics.Certificate("https", running.web.CertificateEnds)
	}
	return running, nil
}

// started begins to monitor the node, which serves requests until ctx ends.
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

func showVersion(version string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{ // a client that is gone needs no answer
			"version": version, "go": runtime.Version(), "nats_server": natsserver.VERSION,
		})
	}
}
