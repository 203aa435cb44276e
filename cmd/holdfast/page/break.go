package page

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/messages"
)

// maxForm bounds the body of a form, in bytes.
const maxForm = 16 << 10

// breakLease breaks the lease that the form names, and shows the lock.
func (p *Page) breakLease(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	err := r.ParseForm()
	of := cli.Resource{Name: r.PostForm.Get("name"), Tenant: r.PostForm.Get("tenant")}
	token := strings.TrimSpace(r.PostForm.Get("token"))
	if err != nil {
		err = fmt.Errorf("%w: %w", errInput, err)
	} else {
		err = p.breakOf(r, of, token, strings.TrimSpace(r.PostForm.Get("reason")))
	}
	if err == nil {
		// http.Redirect would make it absolute
		w.Header().Set("Location", lockURL(of.Name, of.Tenant)+"&broken="+url.QueryEscape(token))
		w.WriteHeader(http.StatusSeeOther)
		return
	}
	code, outcome := http.StatusServiceUnavailable, "the lease is not broken"
	switch {
	case isInput(err):
		code = http.StatusBadRequest
	case errors.Is(err, holdfast.ErrStaleToken), errors.Is(err, holdfast.ErrNotHeld):
		code = http.StatusConflict
	case errors.Is(err, holdfast.ErrUnknown):
		outcome = "it is not known whether the lease is broken"
	}
	p.write(w, r, lockKind, url.Values{"name": {of.Name}, "tenant": {of.Tenant}}, code,
		fmt.Errorf("%s: %w", outcome, err))
}

func (p *Page) breakOf(r *http.Request, from cli.Resource, token, reason string) error {
	d := p.running.Load()
	if d == nil {
		return errStarting
	}
	var of cli.Token
	switch err := of.Set(token); {
	case err != nil || of == 0:
		return fmt.Errorf("%w: the token is that of a holder, as the table shows it, got %q", errInput, token)
	case reason == "" || len(reason) > messages.MaxReasonBytes:
		return fmt.Errorf("%w: the reason has 1 to %d bytes; events and the audit show it", errInput,
			messages.MaxReasonBytes)
	}
	if err := checkTenant(from.Tenant); err != nil {
		return err
	}
	err := d.of(r.Context(), from.Tenant, func(c *holdfast.Client) error {
		return c.Break(r.Context(), from.Name, messages.Token(of), reason)
	})
	p.cfg.Log.Info("a lease was to be broken on the page", "resource", from.Name, "tenant", from.Tenant, "token",
		uint64(of), "reason", reason, "remote", r.RemoteAddr, "error", err)
	return err
}
