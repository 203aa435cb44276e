package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// objects lists the types with the most methods.
func objects(all []*packages.Package) row {
	methods := make(map[string]int)
	for _, p := range all {
		for _, f := range p.Syntax {
			if isGenerated(p.Fset.Position(f.Pos()).Filename) {
				continue
			}
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
					methods[strings.TrimPrefix(p.PkgPath, module)+"."+receiver(fn.Recv.List[0].Type)]++
				}
			}
		}
	}
	names := sorted(methods)
	biggest := slices.MaxFunc(names, func(x, y string) int { return cmp.Compare(methods[x], methods[y]) })
	details := byCount(methods)
	return row{"biggest object, methods", fmt.Sprintf("%d (%s)", methods[biggest], biggest),
		details[:min(12, len(details))]}
}

// receiver returns the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

// arrows counts, in each package, the arrows between files that run against the best order of its files. A file has an
// arrow to another one if it uses what that declares: a name of the package, or a method.
func arrows(all []*packages.Package) row {
	total, back := 0, make(map[string][]string)
	counts := make(map[string]int)
	for _, p := range all {
		for _, a := range fileGraph(p).back() {
			back[p.PkgPath] = append(back[p.PkgPath], "       "+a[0]+" -> "+a[1])
			counts[strings.TrimPrefix(p.PkgPath, module)]++
			total++
		}
	}
	r := row{name: "arrows back between files of a package"}
	var worst []string
	for _, line := range byCount(counts) {
		n, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		r.details = append(append(r.details, line), back[module+dir]...)
		worst = append(worst, dir+" "+n)
	}
	r.value = fmt.Sprintf("%d: %s", total, strings.Join(worst[:min(5, len(worst))], ", "))
	return r
}

// fileGraph returns the arrows between the files of a package.
func fileGraph(p *packages.Package) graph {
	g := make(graph)
	for id, used := range p.TypesInfo.Uses {
		if used.Pkg() != p.Types || !isDeclared(used) {
			continue
		}
		from, to := p.Fset.Position(id.Pos()).Filename, p.Fset.Position(used.Pos()).Filename
		if !isGenerated(from) && !isGenerated(to) {
			g.add(filepath.Base(from), filepath.Base(to))
		}
	}
	return g
}

func isGenerated(file string) bool { return kindOf(filepath.Base(file)) == generated }

// isDeclared reports whether an object is declared at the level of its package, or is a method of a type that is.
func isDeclared(o types.Object) bool {
	if f, ok := o.(*types.Func); ok && f.Signature().Recv() != nil {
		return !types.IsInterface(f.Signature().Recv().Type())
	}
	return o.Parent() == o.Pkg().Scope()
}

// load returns the packages of the product with their types, of each module by itself.
func (t *tree) load() (all []*packages.Package, err error) {
	for _, name := range sorted(t.files) {
		if path.Base(name) != "go.mod" {
			continue
		}
		config := &packages.Config{Dir: filepath.Join(t.dir, path.Dir(name)), Mode: packages.LoadSyntax}
		found, err := packages.Load(config, "./...")
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			for _, problem := range p.Errors {
				return nil, problem
			}
			if len(p.GoFiles) > 0 && kindOf(strings.TrimPrefix(p.PkgPath, module)+"/x.go") == product {
				all = append(all, p)
			}
		}
	}
	return all, nil
}
