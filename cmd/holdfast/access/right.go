package access

import "strings"

// Right is what one use of a deployment takes.
type Right struct {
	// For is what it is for, as a comment of one line.
	For string
	// Publish and Subscribe are subjects of NATS, with wildcards.
	Publish, Subscribe []string
	// Warnings say what it gives beyond its purpose.
	Warnings []string
}

// when returns the right if it is given, else one to nothing.
func (r Right) when(given bool) Right {
	if !given {
		return Right{}
	}
	return r
}

// User is a user of NATS with the rights of a role.
type User struct {
	// Name is that of the login, and part of the inbox prefix.
	Name string
	// Role says what the user is, as in "a client of orders.>".
	Role   string
	Rights []Right
	// NKey is its public key: it logs in with that and not with a password.
	NKey string
}

// Publish returns all subjects on which the user may publish.
func (u User) Publish() []string { return u.all(func(r Right) []string { return r.Publish }) }

// Subscribe returns all subjects to which the user may subscribe.
func (u User) Subscribe() []string { return u.all(func(r Right) []string { return r.Subscribe }) }

// Warnings returns those of all rights.
func (u User) Warnings() []string { return u.all(func(r Right) []string { return r.Warnings }) }

// Password returns the variable with the user's password.
func (u User) Password() string {
	return strings.ToUpper(strings.ReplaceAll(u.Name, "-", "_")) + "_PASSWORD"
}

func (u User) all(of func(Right) []string) (all []string) {
	for _, r := range u.Rights {
		all = append(all, of(r)...)
	}
	return all
}

func (d Deployment) info() Right {
	return Right{For: "discovery", Publish: []string{d.Prefix.Info()}}
}

// listing is the right to see all locks.
func (d Deployment) listing() Right {
	return Right{For: "listing", Publish: []string{d.Prefix.List()}}
}

// events is the right to receive the changes of keys.
func (d Deployment) events(purpose string, keys []string) Right {
	r := Right{For: purpose}
	for _, key := range keys {
		r.Subscribe = append(r.Subscribe, d.Prefix.Event(key))
		if strings.HasSuffix("."+key, ".*") {
			r.Warnings = append(r.Warnings, "it can also hear of deeper levels than "+key+": NATS lets > pass for *")
		}
	}
	return r
}
