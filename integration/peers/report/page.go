package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The comments of a page between which the report is written.
const (
	pageBegin = "<!-- bench-peers: begin -->\n"
	pageEnd   = "<!-- bench-peers: end -->\n"
)

// WritePage replaces what is between the comments of a page in Markdown, and writes the plots, and the tables as
// comma-separated values, to a folder beside the page, named like it.
func (r *Report) WritePage(page, against string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	folder := strings.TrimSuffix(page, filepath.Ext(page))
	plots := r.Plots()
	written, err := between(string(text), r.Markdown(against, filepath.Base(folder), plots))
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	files := map[string]string{}
	for _, p := range plots {
		files[p.File] = p.Chart.SVG()
	}
	for _, s := range r.sections(against) {
		files[s.file] = s.table.csv()
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(page, []byte(written), 0o644)
}

func between(page, text string) (string, error) {
	head, rest, begins := strings.Cut(page, pageBegin)
	_, tail, ends := strings.Cut(rest, pageEnd)
	if !begins || !ends {
		return "", errors.New("the comments between which the report belongs are missing: " +
			strings.TrimSpace(pageBegin) + " and " + strings.TrimSpace(pageEnd))
	}
	return head + pageBegin + "\n" + text + "\n" + pageEnd + tail, nil
}
