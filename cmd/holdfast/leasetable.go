package main

import (
	"slices"
	"strconv"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/messages"
)

// tableOf returns the table of the leases. WAITING is omitted if no number is known.
func tableOf(leases []*messages.Lease, waiting []int) display.Table {
	t := display.Table{
		{Cells: []string{"RESOURCE"}},
		{Cells: []string{"OWNER"}},
		{Cells: []string{"TOKEN"}, Right: true},
		{Cells: []string{"LEFT"}, Right: true},
	}
	if slices.ContainsFunc(waiting, func(n int) bool { return n >= 0 }) {
		t = append(t, display.Column{Cells: []string{"WAITING"}, Right: true})
	}
	for i, l := range leases {
		row := []string{
			display.Name(l.GetResource()), display.Name(l.GetOwner()), strconv.FormatUint(l.GetToken(), 10),
			display.Duration(cli.Millis(l.GetRemainingMs())), count(waiting[i]),
		}
		t.Add(row)
	}
	return t
}

func count(n int) string {
	if n < 0 {
		return "?"
	}
	return strconv.Itoa(n)
}
