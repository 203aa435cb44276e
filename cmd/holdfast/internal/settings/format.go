package settings

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"
)

// Extensions are the ends of the names of YAML and TOML files, without their dots.
var Extensions = []string{"yaml", "yml", "toml"}

// ReadFile reads a YAML or TOML file of at most maxBytes into the value that all points to. form says in errors what
// the file has.
func ReadFile(path, form string, maxBytes int64, all any) error {
	unmarshal := yaml.Unmarshal
	switch filepath.Ext(path) {
	case ".yaml", ".yml":
	case ".toml":
		unmarshal = toml.Unmarshal
	default:
		return fmt.Errorf("a file that ends in .yaml, .yml or .toml, got %q", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("cannot read %q: %w", path, RootCause(err))
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	switch {
	case err != nil:
		return fmt.Errorf("cannot read %q: %w", path, RootCause(err))
	case int64(len(data)) > maxBytes:
		return fmt.Errorf("%q: at most %d bytes", path, maxBytes)
	}
	if err := unmarshal(data, all); err != nil {
		return fmt.Errorf("cannot parse %q, %s: %w", path, form, err)
	}
	return nil
}
