package main

import (
	"context"
	"errors"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/clients/request"
)

// codes are the codes of the protocol. An error is the first that it is.
var codes = []struct {
	err  error
	code string
}{
	{holdfast.ErrLost, "lost"},
	{holdfast.ErrReleased, "released"},
	{holdfast.ErrClosed, "closed"},
	{context.Canceled, "cancelled"},
	{holdfast.ErrHeld, "held"},
	{holdfast.ErrTimeout, "timed_out"},
	{holdfast.ErrUnknown, "unknown"},
	{holdfast.ErrUnavailable, "unavailable"},
	{holdfast.ErrInvalid, "invalid"},
	{holdfast.ErrOverloaded, "overloaded"},
	{holdfast.ErrExhausted, "exhausted"},
	{holdfast.ErrStaleToken, "stale_token"},
	{holdfast.ErrNotHeld, "not_held"},
	{request.ErrNoAnswer, "unknown"}, // of Close
}

// describe returns an error as the protocol has it. One that the client does not promise has the code "unexpected".
func describe(err error) object {
	o := object{"code": "unexpected", "message": err.Error()}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			o["code"] = c.code
			break
		}
	}
	if o["code"] == "lost" {
		o["reason"] = reason(err)
	}
	var e *holdfast.Error
	if errors.As(err, &e) && o["code"] == "unavailable" {
		o["reason"] = e.Reason
	}
	if e != nil && e.Holder != nil {
		o["holder"] = object{"owner": e.Holder.Owner, "token": decimal(e.Holder.Token)}
	}
	if e != nil && e.Lost != nil {
		o["held_back"] = object{"owner": e.Lost.Owner, "token": decimal(e.Lost.Token)}
	}
	return o
}

// reason says why a lock was lost.
func reason(err error) string {
	switch {
	case errors.Is(err, holdfast.ErrNotHeld):
		return "not_held"
	case errors.Is(err, holdfast.ErrNotOwner):
		return "not_owner"
	case errors.Is(err, holdfast.ErrStaleToken):
		return "stale_token"
	case errors.Is(err, holdfast.ErrMaxHold):
		return "max_hold"
	}
	return "deadline"
}
