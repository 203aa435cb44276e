// Package mutants tests the tests: it plants bugs in Holdfast, one at a time, of the kind that lock
// services have had, and expects the suites of package integration, or of the part itself, to find each.
//
// A mutant is a few lines of the product replaced by wrong ones. It is compiled by an overlay, so no
// file of the repository is touched. That every mutant still applies and compiles is checked with the
// other tests; whether it is found takes minutes, and is what `make mutants` does.
package mutants
