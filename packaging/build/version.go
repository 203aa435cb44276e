package main

import (
	"fmt"
	"regexp"
	"strings"
)

// version is what git describes, in the forms of the packages.
type version struct {
	described string // as `holdfast version` shows it
	semantic  string // as the archives, the deb and the rpm have it
	alpine    string // as the apk has it
}

// describe matches what git describe prints: a tag, the number of commits since, the commit, and whether the files
// differ from it; or the commit alone if there is no tag.
var describe = regexp.MustCompile(
	`^(?:v(\d+\.\d+\.\d+)(?:-((?:alpha|beta|rc)\.?\d+))?(?:-(\d+)-g([0-9a-f]+))?|([0-9a-f]{7,40}))(-dirty)?$`)

// parseVersion sorts a build behind the tag that it follows: 1.2.3+4.gabc1234. Without a tag it is a 0.0.0.
func parseVersion(text string) (version, error) {
	m := describe.FindStringSubmatch(text)
	if m == nil {
		return version{},
			fmt.Errorf("version %q: want what git describe prints, as v1.2.3, v1.2.3-rc.1 or v1.2.3-4-gabc1234", text)
	}
	number, pre, commits, after, commit, dirty := m[1], m[2], m[3], m[4], m[5], m[6]
	v := version{described: text, semantic: number, alpine: number}
	if commit != "" {
		number, after = "0.0.0", commit
		v.semantic, v.alpine = number, number
	}
	if pre != "" {
		v.semantic += "-" + pre
		v.alpine += "_" + strings.ReplaceAll(pre, ".", "")
	}
	var build []string
	if commits != "" {
		build = append(build, commits)
		v.alpine += "_p" + commits
	}
	if after != "" {
		build = append(build, "g"+after)
	}
	if dirty != "" {
		build = append(build, "dirty")
	}
	if len(build) > 0 {
		v.semantic += "+" + strings.Join(build, ".")
	}
	return v, nil
}
