// Package contract tests a running node against docs/wire.md, as any NATS client sees it.
package contract
