//go:build !unix

package demo

import "errors"

var errNoPause = errors.New("this system cannot pause a process, which is what the demonstration shows")

func (p *process) pause() error  { return errNoPause }
func (p *process) resume() error { return errNoPause }
