package ledger

// Figures counts what a ledger has.
type Figures struct {
	// Exclusive and Shared are the persistent leases that are held, HeldBack the ended ones that hold their resource
	// back.
	Exclusive, Shared, HeldBack int
	// Bytes estimates the size of all pages when stored, from above.
	Bytes int
}

// Figures counts what the ledger has. It looks at every page, and is valid from Restart on.
func (l *Ledger) Figures() (f Figures) {
	l.pages.each(func(p *page) {
		f.Exclusive += p.leases - p.shared - p.lost
		f.Shared += p.shared
		f.HeldBack += p.lost
		f.Bytes += p.weight
	})
	return f
}
