// Package monitoring proves what is shipped for Prometheus and Grafana, the alerts and the dashboard, on real nodes
// that a real Prometheus scrapes.
package monitoring
