package actors

import "github.com/holdfast-io/holdfast/actors/publish"

// Publisher is how events leave the node.
type Publisher = publish.Sink
