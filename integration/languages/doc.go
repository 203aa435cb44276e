// Package languages compares the clients of several languages with one another, and each with a lock on Redis in its
// own language, in one run: make bench-clients.
//
// A load is a program with the arguments
//
//	pairs|cached|hold|loss URL NUMBER SECONDS
//
// that prints one JSON object of figures. pairs locks and unlocks with NUMBER tasks for SECONDS, each task a resource
// of its own: rate in pairs per second, p50_us and p99_us of a pair, cpu_us of the program for a pair. cached does the
// same with locks that the client caches. hold holds NUMBER locks and measures for SECONDS, when each has been renewed:
// core_percent of the program. loss breaks NUMBER locks, one after the other: p50_us and p99_us from the answer to the
// break to the signal at the client. In Java pairs and losses are measured after they have run for 20 s, since the
// machine compiles what it runs.
package languages
