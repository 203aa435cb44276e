//go:build !unix

package fencefile

// noFollow is nothing where the system does not have it: Dir.checkLock refuses the link, after it was opened.
const noFollow = 0
