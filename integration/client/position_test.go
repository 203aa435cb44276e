package client_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/messages/blindtest"
)

func TestPosition(t *testing.T) {
	for _, text := range []string{"", "0:0", "0:17", "0:17.2", "0:17,1:99.2,1023:18446744073709551615.4294967295",
		"1/0:17", "4294967295/0:17.2,1:99"} {
		p, err := holdfast.ParsePosition(text)
		if err != nil || p.String() != text || p.IsZero() != (text == "") {
			t.Errorf("%q reads as %v, %v", text, p, err)
		}
		saved, err := json.Marshal(struct{ At holdfast.Position }{p})
		if want := `{"At":"` + text + `"}`; err != nil || string(saved) != want {
			t.Errorf("%q is %s in JSON, %v", text, saved, err)
		}
		var back struct{ At holdfast.Position }
		if err := json.Unmarshal(saved, &back); err != nil || back.At.String() != text {
			t.Errorf("%s reads back as %v, %v", saved, back.At, err)
		}
	}
}

func TestPositionRefuses(t *testing.T) {
	for _, text := range []string{
		" ", ",", "0", "0:", ":1", "0:1.", "0:1.0", "00:1", "0:01", "+0:1", "0:-1", "0:1,", "0:1,0:2", "1:1,0:1",
		"0:1;1:1", "0:1 ",
		"4294967296:1", "0:18446744073709551616", "0:1.4294967296", "0:1.2.3", "0:1:2", "\x1b[31m",
		"0/0:1", "01/0:1", "/0:1", "1/", "1/2/0:1", "4294967296/0:1", "+1/0:1", "0:1,1/1:1", "1/0:1,1/1:1", "1/0:1,2/1:1",
	} {
		if p, err := holdfast.ParsePosition(text); !errors.Is(err, holdfast.ErrInvalid) || !p.IsZero() {
			t.Errorf("%q reads as %v, %v", text, p, err)
		}
	}
}

// Whatever is read as a position is written as it was read.
func FuzzPosition(f *testing.F) {
	target := blindtest.New(f)
	target.Add("0:17,1:99.2")
	target.Add("2/0:17,1:99.2")
	target.Fuzz(func(t *testing.T, text string) {
		p, err := holdfast.ParsePosition(text)
		if err != nil {
			if !errors.Is(err, holdfast.ErrInvalid) {
				t.Error(err)
			}
			return
		}
		if p.String() != text {
			t.Errorf("%q is written as %q", text, p)
		}
	})
}
