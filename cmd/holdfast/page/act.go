package page

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/messages"
)

// maxForm bounds the body of a form, maxName the name of who acts, in bytes.
const maxForm, maxName = 16 << 10, 64

// action is what an operator can do to a lease.
type action struct {
	// name is that of its path, and of the parameter that says that it was done.
	name string
	// done is what became of the lease, of which token is a part: "the lease is not broken".
	done string
	// do does it: by says who, and why what the operator has typed.
	do func(ctx context.Context, c *holdfast.Client, resource string, token messages.Token, by, why string) error
}

var actions = []action{
	{"break", "broken", func(ctx context.Context, c *holdfast.Client, resource string, token messages.Token,
		by, why string) error {
		return c.Break(ctx, resource, token, cli.Reason(by, why))
	}},
	{"confirm", "confirmed", func(ctx context.Context, c *holdfast.Client, resource string, token messages.Token,
		by, why string) error {
		return c.Confirm(ctx, resource, token, by, why)
	}},
}

// act does what the form says to the lease that it names, and shows the lock.
func (p *Page) act(a action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		err := r.ParseForm()
		of := cli.Resource{Name: r.PostForm.Get("name"), Tenant: r.PostForm.Get("tenant")}
		if err != nil {
			err = fmt.Errorf("%w: %w", errInput, err)
		} else {
			err = p.do(r, a, of)
		}
		if err == nil {
			// http.Redirect would make it absolute
			w.Header().Set("Location", lockURL(of.Name, of.Tenant)+"&"+a.done+"="+url.QueryEscape(r.PostForm.Get("token")))
			w.WriteHeader(http.StatusSeeOther)
			return
		}
		code, outcome := http.StatusServiceUnavailable, "the lease is not "+a.done
		switch {
		case isInput(err):
			code = http.StatusBadRequest
		case errors.Is(err, holdfast.ErrStaleToken), errors.Is(err, holdfast.ErrNotHeld):
			code = http.StatusConflict
		case errors.Is(err, holdfast.ErrUnknown):
			outcome = "it is not known whether the lease is " + a.done
		}
		p.write(w, r, lockKind, url.Values{"name": {of.Name}, "tenant": {of.Tenant}}, code,
			fmt.Errorf("%s: %w", outcome, err))
	}
}

func (p *Page) do(r *http.Request, a action, to cli.Resource) error {
	d := p.running.Load()
	if d == nil {
		return errStarting
	}
	var of cli.Token
	token, why := r.PostForm.Get("token"), strings.TrimSpace(r.PostForm.Get("reason"))
	name := strings.TrimSpace(r.PostForm.Get("by"))
	by := name + " (" + p.from(r) + ")"
	longest := messages.MaxReasonBytes - len(cli.Reason(by, " ")) + 1
	switch err := of.Set(token); {
	case err != nil || of == 0:
		return fmt.Errorf("%w: choose the lease that you mean by its token, got %q", errInput, token)
	case name == "" || len(name) > maxName:
		return fmt.Errorf("%w: the name of who acts has 1 to %d bytes; events and the audit show it", errInput, maxName)
	case why == "" || len(why) > longest:
		return fmt.Errorf("%w: the reason has 1 to %d bytes; events and the audit show it", errInput, longest)
	}
	if err := checkTenant(to.Tenant); err != nil {
		return err
	}
	err := d.of(r.Context(), to.Tenant, func(c *holdfast.Client) error {
		return a.do(r.Context(), c, to.Name, messages.Token(of), by, why)
	})
	p.cfg.Log.Info("a lease was to be "+a.done+" on the page", "resource", to.Name, "tenant", to.Tenant, "token",
		uint64(of), "reason", why, "by", by, "error", err)
	return err
}

// from says where a request came from: the node whose page it was, and the address.
func (p *Page) from(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	return "page of " + p.cfg.Name + " from " + host
}
