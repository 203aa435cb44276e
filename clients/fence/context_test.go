package fence_test

import (
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence"
)

func TestContext(t *testing.T) {
	want := fence.Claim{Resource: "orders.42", Token: 34}
	ctx := fence.NewContext(fence.NewContext(t.Context(), fence.Claim{Resource: "outer", Token: 1}), want)
	if got, ok := fence.FromContext(ctx); got != want || !ok {
		t.Errorf("%v, %v", got, ok)
	}
	if got, ok := fence.FromContext(t.Context()); got != (fence.Claim{}) || ok {
		t.Errorf("a context without a claim has %v", got)
	}
}
