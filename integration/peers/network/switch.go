//go:build linux

package network

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// switchVariable has a process of the benchmark itself be the switch. Its value is the time of one way in ns, and the
// number of descriptors that the process has been given.
const switchVariable = "HOLDFAST_PEERS_SWITCH"

const (
	// longest is a packet of TCP before it is cut, with the headers of Ethernet and of the device.
	longest = 1<<16 + 14 + deviceHeader
	// deviceHeader is what the device writes before each frame.
	deviceHeader = 10
	// atOnce bounds the frames of one device before the others have their turn.
	atOnce = 64
	// early is how much sooner a frame may leave, with others: a wake-up for each would cost more than the frames.
	early = 10 * time.Microsecond
	// echoInterval is the pause between two echoes, echoPatience that after which one is lost.
	echoInterval = 50 * time.Millisecond
	echoPatience = time.Second
	// priority is that of the switch as a real-time process: on a busy machine it would measure the scheduler.
	priority = 10
)

// SwitchIfAsked is the switch until its standard input ends, if the process was started for that. The main function
// calls it, and then has nothing else to do.
func SwitchIfAsked() (asked bool, err error) {
	text := os.Getenv(switchVariable)
	if text == "" {
		return false, nil
	}
	s := &cable{begun: time.Now(), learned: map[[6]byte]int{}}
	var given int
	if _, err := fmt.Sscan(text, &s.oneWay, &given); err != nil {
		return true, fmt.Errorf("%s: %w", switchVariable, err)
	}
	s.polled = []unix.PollFd{{Fd: 0, Events: unix.POLLIN}}
	for i := range given {
		s.polled = append(s.polled, unix.PollFd{Fd: int32(firstExtra + i), Events: unix.POLLIN})
	}
	if err := s.run(); err != nil {
		return true, err
	}
	return true, json.NewEncoder(os.Stdout).Encode(s.echoes())
}

// frame is a frame on its way. Since all take the same time, they leave as they came.
type frame struct {
	from int
	due  time.Duration
	data []byte
}

// cable is the switch: one goroutine on one thread.
type cable struct {
	oneWay  time.Duration
	begun   time.Time
	polled  []unix.PollFd // standard input, the socket of the echoes, the devices
	learned map[[6]byte]int
	queue   []frame
	head    int
	free    [][]byte

	sent  []time.Duration // when each echo was
	trips []time.Duration
}

// The places of what is polled.
const (
	atInput = iota
	atEcho
	atDevices
)

func (s *cable) now() time.Duration { return time.Since(s.begun) }

// run returns when the standard input ends.
func (s *cable) run() error {
	runtime.LockOSThread()
	realTime()
	for _, p := range s.polled {
		if err := unix.SetNonblock(int(p.Fd), true); err != nil {
			return err
		}
	}
	buffer := make([]byte, longest)
	for {
		wait := unix.NsecToTimespec(int64(s.idle()))
		if _, err := unix.Ppoll(s.polled, &wait, nil); err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if s.polled[atInput].Revents != 0 {
			return nil
		}
		for at := atDevices; at < len(s.polled); at++ {
			if s.polled[at].Revents != 0 {
				s.read(at, buffer)
			}
		}
		s.deliver()
		if s.polled[atEcho].Revents != 0 {
			s.hear(buffer)
		}
		s.echo()
	}
}

// realTime has the thread run as soon as there is something to do. Where that is refused, it only goes first.
func realTime() {
	if unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: priority}, 0) != nil {
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, -20)
	}
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
}

// idle returns how long there is nothing to do but to read.
func (s *cable) idle() time.Duration {
	next := time.Duration(len(s.sent)) * echoInterval
	if s.head < len(s.queue) {
		next = min(next, s.queue[s.head].due)
	}
	return max(0, next-s.now())
}

// read takes what has come in at a device.
func (s *cable) read(at int, buffer []byte) {
	for range atOnce {
		size, err := unix.Read(int(s.polled[at].Fd), buffer)
		if err != nil || size < deviceHeader+14 {
			return
		}
		s.learned[[6]byte(buffer[deviceHeader+6:])] = at
		var data []byte
		if last := len(s.free) - 1; last >= 0 {
			data, s.free = s.free[last], s.free[:last]
		}
		s.queue = append(s.queue, frame{at, s.now() + s.oneWay, append(data[:0], buffer[:size]...)})
	}
}

// deliver writes what is due.
func (s *cable) deliver() {
	for ; s.head < len(s.queue) && s.queue[s.head].due <= s.now()+early; s.head++ {
		f := s.queue[s.head]
		to, known := s.learned[[6]byte(f.data[deviceHeader:])]
		for at := atDevices; at < len(s.polled); at++ {
			if at != f.from && (!known || at == to) {
				_, _ = unix.Write(int(s.polled[at].Fd), f.data) // a full device loses it, as a cable would
			}
		}
		s.free = append(s.free, f.data)
	}
	if 2*s.head >= len(s.queue) {
		s.queue, s.head = s.queue[:copy(s.queue, s.queue[s.head:])], 0
	}
}

// echo sends an ICMP echo to the first node when one is due.
func (s *cable) echo() {
	if s.now() < time.Duration(len(s.sent))*echoInterval {
		return
	}
	packet := make([]byte, 16)
	packet[0] = 8 // an echo request
	binary.BigEndian.PutUint64(packet[8:], uint64(len(s.sent)))
	var sum uint32
	for i := 0; i < len(packet); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(packet[i:]))
	}
	sum = sum>>16 + sum&0xffff
	binary.BigEndian.PutUint16(packet[2:], ^uint16(sum+sum>>16))
	s.sent = append(s.sent, s.now())
	_ = unix.Sendto(int(s.polled[atEcho].Fd), packet, 0, &unix.SockaddrInet4{Addr: [4]byte{10, 231, 0, firstNode}})
}

// hear takes the answers.
func (s *cable) hear(buffer []byte) {
	for {
		size, err := unix.Read(int(s.polled[atEcho].Fd), buffer)
		if err != nil {
			return
		}
		if packet := buffer[:size]; size >= 36 && packet[20] == 0 { // an echo reply, after the header of IP
			if n := binary.BigEndian.Uint64(packet[28:]); n < uint64(len(s.sent)) {
				s.trips = append(s.trips, s.now()-s.sent[n])
			}
		}
	}
}

func (s *cable) echoes() Echoes {
	e := Echoes{Count: len(s.trips)}
	for _, at := range s.sent {
		if s.now()-at > echoPatience {
			e.Lost++
		}
	}
	e.Lost = max(0, e.Lost-e.Count)
	slices.Sort(s.trips)
	if n := len(s.trips); n > 0 {
		e.P50, e.P99, e.Max = s.trips[n/2], s.trips[n*99/100], s.trips[n-1]
	}
	return e
}
