package identity

import "sync"

// maxUsers bounds the cache of users; each takes about 1 kB.
const maxUsers = 10_000

// login is a JWT with the key that NATS names as its issuer.
type login struct{ token, issuer string }

// users caches whose JWTs were verified, because that takes longer than the rest of a request. It is safe for
// concurrent use.
type users struct {
	mu sync.RWMutex
	// known were verified of late, and older before those. When known is full, it becomes older.
	known, older map[login]string
}

func newUsers() *users { return &users{known: make(map[login]string)} }

// subject returns the user of a JWT.
func (u *users) subject(token, issuer string) (string, error) {
	l := login{token, issuer}
	u.mu.RLock()
	subject, ok := u.known[l]
	if !ok {
		subject, ok = u.older[l]
	}
	u.mu.RUnlock()
	if ok {
		return subject, nil
	}
	subject, err := decode(token, issuer)
	if err != nil {
		return "", err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.known) >= maxUsers/2 {
		u.known, u.older = make(map[login]string), u.known
	}
	u.known[l] = subject
	return subject, nil
}
