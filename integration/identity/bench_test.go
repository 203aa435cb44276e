package identity

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node/identity"
)

// BenchmarkPair measures an acquire with its release, sent one by one: directly to a service that verifies no owners,
// and through the import of an account to one that does.
func BenchmarkPair(b *testing.B) {
	node, login := key(b)
	public, _ := key(b)
	config := strings.Replace(single(node, public), "users: [", "users: [ { user: direct, password: d }", 1)
	for _, tasks := range []int{1, 64} {
		for _, way := range []struct {
			mode           identity.Mode
			prefix, u, pwd string
		}{{identity.None, "holdfast", "direct", "d"}, {identity.User, "locks", "alice", "a"}} {
			b.Run(fmt.Sprintf("%s/%d", way.mode, tasks), func(b *testing.B) {
				s := start(b, way.mode, config, login)
				nc := s.connect(nats.UserInfo(way.u, way.pwd))
				var n atomic.Int64
				b.ResetTimer()
				b.SetParallelism(tasks)
				if tasks == 1 {
					for range b.N {
						s.pair(nc, way.prefix, "lone")
					}
					return
				}
				b.RunParallel(func(p *testing.PB) {
					name := fmt.Sprint("r", n.Add(1))
					for p.Next() {
						s.pair(nc, way.prefix, name)
					}
				})
			})
		}
	}
}

// pair acquires a lock and releases it.
func (s *service) pair(nc *nats.Conn, prefix, name string) {
	for _, m := range [][2]string{{".acquire.", `{"owner":"alice","ttl_ms":60000}`},
		{".release.", `{"owner":"alice"}`}} {
		answer, err := nc.Request(prefix+m[0]+name, []byte(m[1]), patience)
		if err != nil || answer.Header.Get("Nats-Service-Error") != "" {
			s.Errorf("%s%s: %v, %v", m[0], name, answer, err)
			return
		}
	}
}
