package fencedynamo

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/messages"
)

// Placeholders that begin with one of these are the guard's. Names come as "#…", values as ":…".
const (
	reserved   = "holdfast_"
	nameMark   = "#" + reserved + "mark"
	valueToken = ":" + reserved + "token"
	valueFirst = ":" + reserved + "first"
)

// passes is the condition of the mark. The lower bound keeps a number that no guard has written.
const passes = "(attribute_not_exists(" + nameMark + ") OR (" +
	nameMark + " >= " + valueFirst + " AND " + nameMark + " %s " + valueToken + "))"

// mark is the attribute of an item that holds its mark, and the rule by which it rises.
type mark struct {
	attribute string
	rule      fence.Rule
	// observer receives each claim that was checked; nil: there is no observer.
	observer fence.Observer
}

// expressions are those parts of an input that a guard adds to.
type expressions struct {
	condition *string
	names     map[string]string
	values    map[string]types.AttributeValue
}

// guard returns expressions by which the item must also let the claim pass. Those of the caller are not
// changed.
func (m mark) guard(e expressions, c fence.Claim) (expressions, error) {
	if err := m.rule.Check(c, 0); err != nil {
		return e, err
	}
	if err := m.apart(e); err != nil {
		return e, err
	}
	comparison := "<="
	if m.rule == fence.Once {
		comparison = "<"
	}
	condition := fmt.Sprintf(passes, comparison)
	if e.condition != nil {
		condition += " AND (" + *e.condition + ")"
	}
	names, values := map[string]string{}, map[string]types.AttributeValue{}
	maps.Copy(names, e.names)
	maps.Copy(values, e.values)
	names[nameMark] = m.attribute // those of the guard last: no one else's take their place
	values[valueToken], values[valueFirst] = number(c.Token), number(1)
	return expressions{&condition, names, values}, nil
}

// apart checks that the caller's expressions keep out of the guard's.
func (m mark) apart(e expressions) error {
	for _, attribute := range e.names {
		if attribute == m.attribute {
			return m.taken()
		}
	}
	placeholders := slices.AppendSeq(slices.Collect(maps.Keys(e.names)), maps.Keys(e.values))
	for _, p := range placeholders {
		if strings.HasPrefix(strings.TrimLeft(p, "#:"), reserved) {
			return fmt.Errorf("%w: placeholder %q: those that begin with %q are the guard's; rename it",
				fence.ErrInvalid, p, reserved)
		}
	}
	if e.condition != nil && !balanced(*e.condition) {
		return fmt.Errorf("%w: the parentheses of condition %q do not match", fence.ErrInvalid, *e.condition)
	}
	return nil
}

func (m mark) taken() error {
	return fmt.Errorf(
		"%w: the attribute %q holds the mark, which only the guard writes; choose another one with WithAttribute",
		fence.ErrInvalid, m.attribute)
}

// balanced reports whether s keeps within the parentheses that will be put around it. An expression has no
// literals in which one could hide.
func balanced(s string) bool {
	depth := 0
	for _, r := range s {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth < 0 {
			return false
		}
	}
	return depth == 0
}

var (
	// setClause finds the word that begins the clause; an attribute cannot have it for a name, because it
	// is reserved, and placeholders begin with another sign.
	setClause = regexp.MustCompile(`(?i)(^|\s)SET\s`)
	word      = regexp.MustCompile(`[#:]?[A-Za-z0-9_]+`)
)

// raise returns the update expression with the mark set to the token.
func (m mark) raise(update *string) (*string, error) {
	const assignment = nameMark + " = " + valueToken
	if update == nil {
		only := "SET " + assignment
		return &only, nil
	}
	for _, w := range word.FindAllString(*update, -1) {
		if w == m.attribute || w == nameMark {
			return nil, m.taken()
		}
	}
	raised := *update + " SET " + assignment
	if at := setClause.FindStringIndex(*update); at != nil {
		raised = (*update)[:at[1]] + assignment + ", " + (*update)[at[1]:]
	}
	return &raised, nil
}

// read returns the mark of an item, 0 if it has none.
func (m mark) read(item map[string]types.AttributeValue) (fence.Token, error) {
	value, ok := item[m.attribute]
	if !ok {
		return 0, nil
	}
	n, ok := value.(*types.AttributeValueMemberN)
	if !ok {
		return 0, fmt.Errorf("%w: attribute %q is a %T", fence.ErrMalformed, m.attribute, value)
	}
	token, err := strconv.ParseUint(n.Value, 10, 64)
	if err != nil || token < 1 || token > uint64(messages.MaxToken) {
		return 0, fmt.Errorf("%w: attribute %q is %s", fence.ErrMalformed, m.attribute, n.Value)
	}
	return fence.Token(token), nil
}

func number(t fence.Token) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatUint(uint64(t), 10)}
}
