package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/messages"
)

// kind returns what a lease or a waiting request is in few words: "exclusive", "shared", or "2 of 5" permits.
func kind(limit uint32, permits int) string {
	switch {
	case limit <= 1:
		return "exclusive"
	case limit == math.MaxUint32 && permits <= 1:
		return "shared"
	case limit == math.MaxUint32:
		return fmt.Sprintf("shared by %d", permits)
	}
	return fmt.Sprintf("%d of %d", permits, limit)
}

func kindOf(l *messages.Lease) string { return kind(l.GetLimit(), len(l.GetSlots())) }

func kindOfWaiter(w *messages.Waiter) string { return kind(w.GetLimit(), int(w.GetPermits())) }

// slots returns the numbers of permits, with runs shortened: "0,3-7".
func slots(numbers []uint32) string {
	var b strings.Builder
	for i := 0; i < len(numbers); {
		end := i
		for end+1 < len(numbers) && numbers[end+1] == numbers[end]+1 {
			end++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatUint(uint64(numbers[i]), 10))
		if end > i {
			b.WriteString("-" + strconv.FormatUint(uint64(numbers[end]), 10))
		}
		i = end + 1
	}
	return b.String()
}

// share returns what identifies a lease: its token, and of a shared one its fence, its kind and its slots.
func share(l *messages.Lease) string {
	if l.GetLimit() == 0 {
		return fmt.Sprintf("token %d", l.GetToken())
	}
	name := "slot"
	if len(l.GetSlots()) > 1 {
		name = "slots"
	}
	return fmt.Sprintf("token %d, fence %s, %s, %s %s", l.GetToken(), display.Name(strings.TrimLeft(l.GetFence(), "0")), kindOf(l), name, slots(l.GetSlots()))
}
