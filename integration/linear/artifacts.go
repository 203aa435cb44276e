package linear

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// mostPictures bounds how many are drawn: one is enough to begin with.
const mostPictures = 4

// keep writes what was found, and what from, where people can look at it.
func (c *checking) keep(h *History, all map[string][]Operation) error {
	dir, err := filepath.Abs(c.Artifacts)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return fmt.Errorf("artifacts: %w", err)
	}
	c.Kept = dir
	errs := []error{
		c.write("history.jsonl", h.Write),
		c.write("violations.txt", func(w io.Writer) error {
			for _, v := range c.Violations {
				if _, err := fmt.Fprintln(w, v); err != nil {
					return err
				}
			}
			return nil
		}),
	}
	if c.journal != nil {
		errs = append(errs, c.write("journal.txt", c.journal.Write))
	}
	for _, v := range c.Violations {
		if v.Check == "model" && len(c.Pictures) < mostPictures {
			errs = append(errs, c.picture(v.Resource, all[v.Resource]))
		}
	}
	return errors.Join(errs...)
}

func (c *checking) write(name string, write func(io.Writer) error) error {
	f, err := os.Create(filepath.Join(c.Kept, name))
	if err != nil {
		return fmt.Errorf("artifacts: %w", err)
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("artifacts: %s: %w", name, err)
	}
	return nil
}

// picture draws the search for the operations of a resource, in the order of the violations.
func (c *checking) picture(resource string, operations []Operation) error {
	path := filepath.Join(c.Kept, fmt.Sprintf("model-%d.html", len(c.Pictures)+1))
	ephemeral := slices.ContainsFunc(operations, func(o Operation) bool { return o.Ephemeral })
	steps := c.steps(resource, operations)
	if err := draw(newModel(c.Terms, ephemeral, steps), c.Bounds, steps, path); err != nil {
		return fmt.Errorf("artifacts: %w", err)
	}
	c.Pictures = append(c.Pictures, path)
	return nil
}
