package embedded

// StopJetStream stops the server's JetStream as NATS does by itself when a disk is full.
func (s *Server) StopJetStream() error { return s.runner.present().ShutdownJetStream() }
