package fences3_test

import (
	"io"
	"maps"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

// TestForeign runs the suite with the guards of other languages in the same bucket.
func TestForeign(t *testing.T) {
	fencetest.RunForeign(t, subject(bucket), fencetest.Store{
		Names:   foreignNames,
		Address: func(via func(string) string) string { return via(gateway.Addr) + "/" + bucket },
		Keys:    func(resource string) []string { return []string{keyOf(resource)} },
	})
}

var foreignNames = map[string][]string{"python": {"s3"}, "typescript": {"s3"}}

// TestForeignObjects are the same as those of this guard, to the byte, with tombstones and marks.
func TestForeignObjects(t *testing.T) {
	guard, key, deleted := mustGuard(t, connect(gateway.Addr), bucket), newKey(), newKey()
	c := fence.Claim{Resource: newKey(), Token: 33}
	must(t, failure(guard.Put(t.Context(), c, object(key, "body"))))
	must(t, guard.Delete(t.Context(), c, deleted))
	must(t, guard.Raise(t.Context(), c))
	keys := []string{key, deleted, "holdfast-fence/marks/" + keyOf(c.Resource)}
	want := map[string]string{}
	for _, k := range keys {
		want[k] = raw(t, k)
	}
	for _, f := range fencetest.StartForeign(t, foreignNames) {
		foreign := f.Open(t, "s3", gateway.Addr+"/"+bucket, fence.Repeatable)
		must(t, foreign.Verify(t.Context()))
		for _, k := range keys {
			must(t, failure(connect(gateway.Addr).DeleteObject(t.Context(),
				&s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: &k})))
		}
		must(t, foreign.Write(t.Context(), c, "body", "", key))
		must(t, foreign.Delete(t.Context(), c, deleted))
		must(t, foreign.Raise(t.Context(), c))
		got := map[string]string{}
		for _, k := range keys {
			got[k] = raw(t, k)
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: the objects are\n%q, want\n%q", f.Language, got, want)
		}
	}
}

// raw returns an object without what the guard does to it: its bytes, and the metadata of the guard.
func raw(tb testing.TB, key string) string {
	tb.Helper()
	out, err := connect(gateway.Addr).GetObject(tb.Context(), &s3.GetObjectInput{Bucket: aws.String(bucket), Key: &key})
	must(tb, err)
	defer out.Body.Close()
	body, err := io.ReadAll(out.Body)
	must(tb, err)
	text := string(body)
	for _, name := range []string{"holdfast-fencing-token", "holdfast-stamp", "holdfast-deleted"} {
		text += name + "=" + out.Metadata[name] + "\n"
	}
	return text
}
