package service

import (
	"regexp"
	"strings"
)

var (
	// semantic is the form that NATS asks of a service's version: https://semver.org.
	semantic    = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	notSemantic = regexp.MustCompile(`[^0-9A-Za-z-]+`)
)

// semanticVersion is the version as NATS takes it; one of another form becomes a suffix of 0.0.0.
func semanticVersion(version string) string {
	v := strings.TrimPrefix(version, "v")
	if semantic.MatchString(v) {
		return v
	}
	return "0.0.0-" + strings.Trim(notSemantic.ReplaceAllString(version, "-"), "-.")
}
