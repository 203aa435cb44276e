// Package mutants tests the tests: it plants bugs in Holdfast, one at a time, of the kind that lock
// services have had, and expects the suites of package integration, or of the part itself, to find each.
//
// A mutant replaces a line of the product by wrong ones. The line has the mutant's name in a comment,
// "mutant: TokenReused", so the lines around it may change, and who changes the line itself knows what
// looks at it. A mutant is compiled by an overlay, so no file of the repository is touched. That every
// mutant still applies and compiles is checked with the other tests; whether it is found takes minutes,
// and is what `make mutants` does.
package mutants
