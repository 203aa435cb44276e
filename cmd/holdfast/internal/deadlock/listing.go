package deadlock

import "github.com/holdfast-io/holdfast/messages"

// Listing collects the contended resources of the pages of a listing with waiters. Its zero value is empty.
type Listing struct {
	// Contended are the resources for which requests wait, in the order of the listing.
	Contended []Contended
	at        map[resource]int
}

type resource struct{ tenant, name string }

// Add adds a page. The leases of a resource may be on several pages, of which each has its queue.
func (l *Listing) Add(page *messages.ListReply) {
	if l.at == nil {
		l.at = make(map[resource]int)
	}
	for _, q := range page.GetQueues() {
		of := resource{q.GetTenant(), q.GetResource()}
		if _, known := l.at[of]; !known {
			l.at[of] = len(l.Contended)
			l.Contended = append(l.Contended, Contended{Tenant: of.tenant, Resource: of.name, Waiters: q.GetWaiters()})
		}
	}
	for _, lease := range page.GetLeases() {
		if i, waited := l.at[resource{lease.GetTenant(), lease.GetResource()}]; waited {
			l.Contended[i].Leases = append(l.Contended[i].Leases, lease)
		}
	}
}
