// Package cli holds the parts of a command line that several commands share: values of flags, rules for
// arguments, the layout of help, and the wording of mistakes.
package cli
