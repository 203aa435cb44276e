package page

import (
	"embed"
	"html/template"
	"net/http"
	"strings"
	"sync"
)

// kinds are those of all views, in the order of the navigation.
var kinds = []*kind{
	{name: "overview", title: "Overview", root: true, open: openOverview},
	{name: "locks", title: "Locks", open: openLocks},
	lockKind,
	{name: "sessions", title: "Sessions", open: openSessions},
	{name: "cluster", title: "Cluster", open: openCluster},
	{name: "events", title: "Events", open: openEvents},
	{name: "deadlocks", title: "Deadlocks", open: openDeadlocks},
}

//go:embed templates
var templates embed.FS

//go:embed static
var assets embed.FS

var files = http.FileServerFS(assets)

// static serves scripts and styles, which change only with the program, and no list of them.
var static = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/") {
		http.NotFound(w, r)
		return
	}
	files.ServeHTTP(w, r)
})

// parse gives each kind its template: not at the start of the program, which is that of all commands.
var parse = sync.OnceFunc(func() {
	functions := template.FuncMap{
		"duration": duration, "stamp": stamp, "clock": clock, "lockURL": lockURL, "cut": cut, "count": count,
	}
	for _, k := range kinds {
		k.template = template.Must(template.New(k.name).Funcs(functions).ParseFS(templates, "templates/layout.html",
			"templates/"+k.name+".html"))
	}
})

// Register adds the page to the paths that mux serves: the root, and a path for each view.
func (p *Page) Register(mux *http.ServeMux) {
	parse()
	p.kinds = kinds
	handle := func(pattern string, h http.Handler) { mux.Handle(pattern, guarded(h)) }
	for _, k := range kinds {
		handle("GET /"+k.pattern(), p.show(k))
		handle("GET /stream/"+k.name, p.stream(k))
	}
	handle("GET /static/", static)
	if p.cfg.Actions {
		for _, a := range actions {
			handle("POST /"+a.name, http.NewCrossOriginProtection().Handler(
				bounded(p.views, "views are being read", p.act(a))))
		}
	}
}
