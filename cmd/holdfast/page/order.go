package page

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// order is how a table is sorted: by links, so that it needs no JavaScript.
type order struct {
	// By is the key of a column, and Down: the largest first.
	By   string
	Down bool

	path, param string
	query       url.Values
}

// openOrder reads the order of a table from a parameter: the key of a column, with "-" before it for the largest first.
// The first of the keys is the default.
func openOrder(path, param string, query url.Values, keys ...string) (order, error) {
	o := order{path: path, param: param, query: query}
	by := query.Get(param)
	if by == "" {
		by = keys[0]
	}
	o.By, o.Down = strings.CutPrefix(by, "-")
	if !slices.ContainsFunc(keys, func(key string) bool { return strings.TrimPrefix(key, "-") == o.By }) {
		return o, fmt.Errorf("%w: %s is one of %s, with - before it for the largest first, got %q", errInput, param,
			strings.ReplaceAll(strings.Join(keys, ", "), "-", ""), by)
	}
	return o, nil
}

// head is the head of a column that sorts its table.
type head struct {
	Title, URL string
	// Number: the column has numbers, of which the largest comes first at first.
	Number bool
	// Sorted is the value of aria-sort; empty: the table is sorted by another column.
	Sorted string
}

// Head returns the head of the column with the key.
func (o order) Head(key, title string, number bool) head {
	h, down := head{Title: title, Number: number}, number
	if o.By == key {
		h.Sorted, down = "ascending", !o.Down
		if o.Down {
			h.Sorted = "descending"
		}
	}
	query := url.Values{}
	for name, values := range o.query {
		if name != "after" {
			query[name] = values
		}
	}
	if query.Set(o.param, key); down {
		query.Set(o.param, "-"+key)
	}
	h.URL = o.path + "?" + query.Encode()
	return h
}

// Sign shows how the table is sorted, beside aria-sort.
func (h head) Sign() string {
	switch h.Sorted {
	case "ascending":
		return "▲"
	case "descending":
		return "▼"
	}
	return ""
}

// sorted sorts rows by the column. Equal ones keep their order.
func sorted[T any](rows []T, o order, by map[string]func(a, b T) int) {
	compare := by[o.By]
	slices.SortStableFunc(rows, func(a, b T) int {
		if o.Down {
			a, b = b, a
		}
		return compare(a, b)
	})
}
