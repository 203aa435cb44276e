// Package retry has the pauses between attempts, and the reminders of a long wait.
package retry
