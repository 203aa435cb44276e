// Package tenants tests that accounts of NATS have resources of their own, on servers whose configuration says so.
package tenants
