package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// parse decodes JSON and leaves numbers as they are written.
func parse(data []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// match compares what came with what was expected: an object has the given members, a list the given elements, and "*"
// is any value that is there. null is a member that is not there.
func match(want, got any) error { return matchAt("", want, got) }

func matchAt(path string, want, got any) error {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			break
		}
		for _, member := range slices.Sorted(maps.Keys(want)) {
			if err := matchAt(path+"."+member, want[member], got[member]); err != nil {
				return err
			}
		}
		return nil
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(want) {
			break
		}
		for i := range want {
			if err := matchAt(fmt.Sprintf("%s[%d]", path, i), want[i], got[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if want == "*" && got != nil || reflect.DeepEqual(want, got) {
		return nil
	}
	return fmt.Errorf("%s: want %s, got %s", strings.TrimPrefix(path, "."), text(want), text(got))
}

func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// vars are what earlier steps returned.
type vars map[string]any

// fill replaces each text "$name.member" in a value by what a step returned. "$$" begins a text with a dollar.
func (v vars) fill(value any) (any, error) {
	switch value := value.(type) {
	case map[string]any:
		filled := map[string]any{}
		for member, old := range value {
			f, err := v.fill(old)
			if err != nil {
				return nil, err
			}
			filled[member] = f
		}
		return filled, nil
	case []any:
		filled := make([]any, len(value))
		for i, old := range value {
			f, err := v.fill(old)
			if err != nil {
				return nil, err
			}
			filled[i] = f
		}
		return filled, nil
	case string:
		return v.fillText(value)
	}
	return value, nil
}

func (v vars) fillText(s string) (any, error) {
	if strings.HasPrefix(s, "$$") {
		return s[1:], nil
	}
	path, ok := strings.CutPrefix(s, "$")
	if !ok {
		return s, nil
	}
	var value any = map[string]any(v)
	for name := range strings.SplitSeq(path, ".") {
		members, _ := value.(map[string]any)
		if value, ok = members[name]; !ok {
			return nil, fmt.Errorf("%s: no earlier step returned %q", s, name)
		}
	}
	return value, nil
}

// read decodes JSON, in which variables are replaced. Nothing is nil.
func (v vars) read(data json.RawMessage) (any, error) {
	if data == nil {
		return nil, nil
	}
	value, err := parse(data)
	if err != nil {
		return nil, err
	}
	return v.fill(value)
}
