package fencehttp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencehttp"
)

// The handler writes to a guarded store, whose marks the middleware shares. The holder with token 33
// is paused until the lock is granted again, with token 34; then it wakes up, and does not know.
func Example() {
	store, remove, err := exampleStore()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer remove()
	defer store.Close()

	put := func(w http.ResponseWriter, r *http.Request) {
		order, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		c, _ := fence.FromContext(r.Context())
		if err := store.Write(r.Context(), c, "42.txt", order, 0o644); err != nil {
			fencehttp.Error(w, err)
		}
	}
	server := httptest.NewServer(fencehttp.New(store)(http.HandlerFunc(put)))
	defer server.Close()

	fmt.Println(send(server.URL, fence.Claim{Resource: "orders.42", Token: 34}, "shipped"))
	fmt.Println(send(server.URL, fence.Claim{Resource: "orders.42", Token: 33}, "cancelled"))
	// Output:
	// 200 OK <nil>
	// 409 Conflict "orders.42": stale fencing token: 000000000000033, after 000000000000034 was seen
}

// send is what a client does with its claim.
func send(url string, c fence.Claim, order string) (status string, err error) {
	request, err := http.NewRequest(http.MethodPut, url, strings.NewReader(order))
	if err != nil {
		return "", err
	}
	if err := c.SetHeader(request.Header); err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	return answer.Status, fencehttp.ResponseError(answer)
}
