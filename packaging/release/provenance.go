package main

import (
	"encoding/json"

	"github.com/holdfast-io/holdfast/packaging/checksums"
)

// provenanceFile has the statement; the signed envelope around it has another name.
const provenanceFile = "provenance.json"

// origin is where a release comes from.
type origin struct {
	version        string // 1.2.3-rc.1
	commit, source string // the commit of the tags, and that of the branch which it was made from
	toolchain      string // as `go env GOVERSION` prints it
}

// statement is a statement of in-toto with a predicate of SLSA: https://slsa.dev/spec/v1.0/provenance.
type statement struct {
	Type          string        `json:"_type"`
	Subject       []subject     `json:"subject"`
	PredicateType string        `json:"predicateType"`
	Predicate     predicateSLSA `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

type predicateSLSA struct {
	BuildDefinition buildDefinition `json:"buildDefinition"`
	RunDetails      runDetails      `json:"runDetails"`
}

type buildDefinition struct {
	BuildType            string               `json:"buildType"`
	ExternalParameters   map[string]string    `json:"externalParameters"`
	InternalParameters   map[string]string    `json:"internalParameters"`
	ResolvedDependencies []resourceDescriptor `json:"resolvedDependencies"`
}

type resourceDescriptor struct {
	URI    string            `json:"uri"`
	Digest map[string]string `json:"digest"`
}

type runDetails struct {
	Builder struct {
		ID string `json:"id"`
	} `json:"builder"`
}

// howReleased describes what a build of this type does, and who runs it: a person, on any machine.
const howReleased = repository + "/blob/main/CONTRIBUTING.md#releasing"

// provenance returns the statement on the files of a release. It has no time and no number of the run, which would
// differ from run to run.
func provenance(o origin, sums []checksums.Sum) ([]byte, error) {
	s := statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	for _, sum := range sums {
		s.Subject = append(s.Subject, subject{sum.Name, map[string]string{"sha256": sum.SHA256}})
	}
	s.Predicate.BuildDefinition = buildDefinition{
		BuildType:          howReleased,
		ExternalParameters: map[string]string{"version": o.version},
		InternalParameters: map[string]string{"go": o.toolchain},
		ResolvedDependencies: []resourceDescriptor{
			{"git+" + repository + "@refs/tags/v" + o.version, map[string]string{"gitCommit": o.commit}},
			{"git+" + repository, map[string]string{"gitCommit": o.source}},
		},
	}
	s.Predicate.RunDetails.Builder.ID = howReleased
	content, err := json.MarshalIndent(s, "", "  ")
	return append(content, '\n'), err
}
