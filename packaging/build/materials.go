package main

import "context"

// writeMaterials writes the bill of materials of a program in the format of CycloneDX. It is read from the program, so
// that it has what was linked. It has no time and no serial number, which would differ from build to build.
func (b *build) writeMaterials(ctx context.Context, t target, program string) error {
	// The document has the hash of the tool, so its paths are trimmed, which `go tool` does not do.
	_, err := output(ctx, nil, "go", "run", "-trimpath", "-buildvcs=false",
		"github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod", "bin", "-json", "-std", "-noserial", "-notimestamp",
		"-version", b.version.described, "-output", b.file(t, ".cdx.json"), program)
	return err
}
