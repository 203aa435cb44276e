package load

// Share are the resources that one of several workers uses, as numbers from 0. No two workers share one, so none
// finds a resource of its own held.
type Share struct{ worker, workers, resources, next int }

// NewShare returns the share of the nth of several workers. There must be as many resources as workers.
func NewShare(worker, workers, resources int) *Share {
	return &Share{worker: worker, workers: workers, resources: resources, next: worker}
}

// Next returns the resources of the share in turn, without end.
func (s *Share) Next() int {
	resource := s.next
	if s.next += s.workers; s.next >= s.resources {
		s.next = s.worker
	}
	return resource
}
