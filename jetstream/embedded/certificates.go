package embedded

import "time"

// Certificates returns when the certificates in use end, by what they are for; empty without TLS.
func (s *Server) Certificates() map[string]time.Time {
	v, err := s.runner.present().Varz(nil)
	if err != nil {
		return nil
	}
	ends := make(map[string]time.Time)
	for use, end := range map[string]time.Time{
		"clients": v.TLSCertNotAfter, "members": v.Cluster.TLSCertNotAfter, "websocket": v.Websocket.TLSCertNotAfter,
		"leafnodes": v.LeafNode.TLSCertNotAfter, "gateways": v.Gateway.TLSCertNotAfter, "mqtt": v.MQTT.TLSCertNotAfter,
	} {
		if !end.IsZero() {
			ends[use] = end
		}
	}
	return ends
}
