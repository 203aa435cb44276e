package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-io/holdfast/packaging/checksums"
)

// formula returns the formula of Homebrew, which installs the archives of a version.
func formula(version string, sums []checksums.Sum) (string, error) {
	var f strings.Builder
	fmt.Fprintf(&f, `class Holdfast < Formula
  desc "Lock service over NATS with fencing tokens"
  homepage "%s"
  version "%s"
  license "Apache-2.0"

`, repository, version)
	for _, os := range []struct{ formula, archive string }{{"macos", "darwin"}, {"linux", "linux"}} {
		fmt.Fprintf(&f, "  on_%s do\n", os.formula)
		for _, arch := range []struct{ formula, archive string }{{"arm", "arm64"}, {"intel", "amd64"}} {
			name := fmt.Sprintf("holdfast_%s_%s_%s.tar.gz", version, os.archive, arch.archive)
			i := slices.IndexFunc(sums, func(s checksums.Sum) bool { return s.Name == name })
			if i < 0 {
				return "", fmt.Errorf("%s has no %s, which the formula of Homebrew installs", checksums.File, name)
			}
			fmt.Fprintf(&f, "    on_%s do\n      url \"%s/releases/download/v%s/%s\"\n      sha256 \"%s\"\n    end\n",
				arch.formula, repository, version, name, sums[i].SHA256)
		}
		f.WriteString("  end\n\n")
	}
	f.WriteString(`  def install
    bin.install "holdfast"
    bash_completion.install "completions/holdfast.bash" => "holdfast"
    zsh_completion.install "completions/_holdfast"
    fish_completion.install "completions/holdfast.fish"
    man1.install Dir["man/*.1"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/holdfast version")
  end
end
`)
	return f.String(), nil
}
