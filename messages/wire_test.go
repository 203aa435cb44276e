package messages_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/holdfast-io/holdfast/messages"
)

// promised is a field of docs/wire.md. A field without a type has the type of the field of that name in
// another message; then only name and number are compared.
type promised struct {
	repeated bool
	typ      string
	name     string
	number   int
}

var (
	// field matches one field at the beginning of a line or after a comma.
	field = regexp.MustCompile(`^(repeated )?(?:([A-Za-z0-9]+|map<string,string>) +)?([a-z][a-z0-9_]*) +([0-9]+)`)
	// message matches the beginning of a block: a name at the beginning of a line, optionally with fields.
	message = regexp.MustCompile(`^([A-Z][A-Za-z]+)(?: +(.*))?$`)
	aside   = regexp.MustCompile(`\([^)]*\)`)
	inline  = regexp.MustCompile("`([A-Z][A-Za-z]+)\\{([^}]*)\\}`")
	node    = regexp.MustCompile("a node has `([^`]*)`")
	status  = regexp.MustCompile("(?m)^\\| `([A-Z_]+)` \\|")
	kinds   = regexp.MustCompile(`Kind +kind 1 +([A-Z, ]+)`)
)

// The generated messages and the contract have the same fields.
func TestMessagesAgreeWithTheContract(t *testing.T) {
	contract := readContract(t)
	want := promisedMessages(contract)
	for _, name := range []string{
		"AcquireRequest", "ReleaseRequest", "ExtendRequest", "GetRequest", "BreakRequest", "ConfirmRequest",
		"KeepRequest", "EndRequest", "SetRequest", "ListRequest",
		"Reply", "Waiter", "Lease", "Queue", "Batch", "Call", "BatchReply", "Answer", "ListReply", "Info", "Node",
		"Event", "Notice",
	} {
		t.Run(name, func(t *testing.T) { compareMessage(t, descriptor(t, name), want[name]) })
		delete(want, name)
	}
	for name := range want {
		t.Errorf("the contract has a message %s that no test compares", name)
	}
}

func TestStatusesAgreeWithTheContract(t *testing.T) {
	var want []string
	for _, match := range status.FindAllStringSubmatch(readContract(t), -1) {
		want = append(want, match[1])
	}
	compareNames(t, messages.Status(0).Descriptor(), want)
}

func TestEventKindsAgreeWithTheContract(t *testing.T) {
	match := kinds.FindStringSubmatch(readContract(t))
	if match == nil {
		t.Fatal("the contract names no kinds")
	}
	compareNames(t, messages.Event_Kind(0).Descriptor(), strings.Split(match[1], ", "))
}

// The subjects, headers and codes of the contract are those of the code.
func TestWordsAgreeWithTheContract(t *testing.T) {
	contract := readContract(t)
	p := messages.DefaultPrefix
	words := []string{
		p.Operation(messages.OpAcquire, "<key>"), p.List(), p.Info(), p.Event("<key>"),
		strings.Replace(p.Direct(messages.Shard{}, messages.OpAcquire, "<key>"), ".0.", ".<n>.", 1),
		"`" + strings.Replace(p.Batch(messages.Shard{}), ".0.", ".<n>.", 1) + "`", "1 to 1 000",
		"at most limit and at most 1 000", "at most 1 000 leases are held, and at most 480 KB",
		messages.HeaderServiceError + "`", messages.HeaderServiceErrorCode + "` (400, 429, 503, 507)",
		"`" + messages.HeaderContentType + "`", "`" + messages.HeaderToken + "`", "`" + messages.HeaderResource + "`",
		"`" + messages.HeaderTraceparent + "`", "`" + messages.HeaderTracestate + "`", "more than 512 bytes",
		messages.HeaderEvent + ": ACQUIRED", messages.HeaderToken + ": " + messages.Token(5).String(),
		"1 to 512 bytes", "1 to 256 bytes", "100 to 86 400 000", "at most 3 600 000", "at most 64 bytes",
		"at most 1 000 000; 0 and 1: one", "at most 1 000 000 more", "at most 4 000 000 000",
		"at most 16 entries, 1 024 bytes together", "900 000 000 000 000", "90 000 000 000 000",
	}
	for _, op := range messages.Operations[1:] {
		if op.OfSession() {
			words = append(words, "`."+string(op)+".<session>`")
		} else {
			words = append(words, "`."+string(op)+".<key>`")
		}
	}
	for _, feature := range slices.Concat([]string{messages.FeatureBatch}, messages.Features, messages.FeaturesOfAll) {
		words = append(words, "`"+feature+"`")
	}
	for _, word := range words {
		if !strings.Contains(contract, word) {
			t.Errorf("the contract does not say %q", word)
		}
	}
}

func compareMessage(t *testing.T, got protoreflect.MessageDescriptor, want []promised) {
	t.Helper()
	if got.Fields().Len() != len(want) {
		t.Errorf("%d fields, the contract has %d", got.Fields().Len(), len(want))
	}
	for _, w := range want {
		f := got.Fields().ByName(protoreflect.Name(w.name))
		switch {
		case f == nil:
			t.Errorf("%s is not there", w.name)
		case int(f.Number()) != w.number:
			t.Errorf("%s has the number %d, not %d", w.name, f.Number(), w.number)
		case w.typ != "" && (typeOf(f) != w.typ || f.IsList() != w.repeated):
			t.Errorf("%s is of type %s, not %s", w.name, typeOf(f), w.typ)
		}
	}
}

// compareNames leaves out the zero value, which is never sent.
func compareNames(t *testing.T, got protoreflect.EnumDescriptor, want []string) {
	t.Helper()
	var names []string
	for i := 1; i < got.Values().Len(); i++ {
		names = append(names, string(got.Values().Get(i).Name()))
	}
	if !slices.Equal(names, want) {
		t.Errorf("%s\ngot  %v\nwant %v", got.Name(), names, want)
	}
}

// typeOf returns the type of a field as the contract writes it.
func typeOf(f protoreflect.FieldDescriptor) string {
	switch {
	case f.IsMap():
		return fmt.Sprintf("map<%s,%s>", f.MapKey().Kind(), f.MapValue().Kind())
	case f.Enum() != nil:
		return string(f.Enum().Name())
	case f.Message() != nil:
		return string(f.Message().Name())
	}
	return f.Kind().String()
}

// promisedMessages returns every message of the contract, including those within sentences.
func promisedMessages(contract string) map[string][]promised {
	all := map[string][]promised{}
	for i, block := range strings.Split(contract, "```") {
		if i%2 == 1 { // between two fences
			readBlock(all, block)
		}
	}
	for _, match := range inline.FindAllStringSubmatch(contract, -1) {
		all[match[1]] = readFields(match[2])
	}
	for _, match := range node.FindAllStringSubmatch(contract, -1) {
		all["Node"] = readFields(match[1])
	}
	return all
}

// readBlock reads messages with their fields behind the name or, indented by two spaces, below it.
// Lines with more indentation continue a sentence.
func readBlock(all map[string][]promised, block string) {
	name := ""
	for line := range strings.Lines(block) {
		line = strings.TrimSuffix(line, "\n")
		if match := message.FindStringSubmatch(line); match != nil {
			name = match[1]
			all[name] = readFields(match[2])
		} else if text, ok := strings.CutPrefix(line, "  "); ok {
			all[name] = append(all[name], readFields(text)...)
		}
	}
}

// readFields reads comma-separated fields up to the beginning of a sentence.
func readFields(text string) []promised {
	var fields []promised
	text = aside.ReplaceAllString(text, "")
	for {
		match := field.FindStringSubmatch(text)
		if match == nil {
			return fields
		}
		number, _ := strconv.Atoi(match[4]) // digits, says the expression
		fields = append(fields, promised{repeated: match[1] != "", typ: match[2], name: match[3], number: number})
		rest, more := strings.CutPrefix(strings.TrimLeft(text[len(match[0]):], " "), ",")
		if !more {
			return fields
		}
		text = strings.TrimLeft(rest, " ")
	}
}

func descriptor(t *testing.T, name string) protoreflect.MessageDescriptor {
	t.Helper()
	found := (&messages.Reply{}).ProtoReflect().Descriptor().ParentFile().Messages().ByName(protoreflect.Name(name))
	if found == nil {
		t.Fatalf("no message %s", name)
	}
	return found
}

func readContract(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
