//go:build !unix

package demo

import "errors"

var errNoPause = errors.New("the demonstration requires SIGSTOP and SIGCONT, which this system does not have")

func (p *process) pause() error  { return errNoPause }
func (p *process) resume() error { return errNoPause }
