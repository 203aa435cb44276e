// Package tap makes network devices of which this process is the cable. Only Linux has them.
package tap
