//go:build !unix

// Package program is empty: without process groups no command runs programs.
package program
