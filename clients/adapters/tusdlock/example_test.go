package tusdlock_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/tus/tusd/v2/pkg/filestore"
	"github.com/tus/tusd/v2/pkg/handler"

	"github.com/holdfast-io/holdfast/clients/adapters/internal/adaptertest"
	"github.com/holdfast-io/holdfast/clients/adapters/tusdlock"
)

// Several processes serve the same folder.
func ExampleNew() {
	client := adaptertest.Client() // holdfast.New(nc)
	dir, err := os.MkdirTemp("", "uploads-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()

	composer := handler.NewStoreComposer()
	filestore.New(dir).UseIn(composer)
	tusdlock.New(client, "uploads/").UseIn(composer)
	tusd, err := handler.NewHandler(handler.Config{BasePath: "/files/", StoreComposer: composer})
	if err != nil {
		panic(err)
	}

	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("hello"))
	r.Header.Set("Tus-Resumable", "1.0.0")
	r.Header.Set("Content-Type", "application/offset+octet-stream")
	r.Header.Set("Upload-Length", "5")
	w := httptest.NewRecorder()
	tusd.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Header().Get("Upload-Offset"))
	// Output: 201 5
}
