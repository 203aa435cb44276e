// Command protogen turns .proto files into Go, with neither protoc nor a network.
//
// It compiles the files itself and hands them to the protoc-gen-go that go.mod pins beside it.
// Run it from its own module: cd tools && go run ./protogen [-check] [-root dir] pattern...
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/linker"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	root := flag.String("root", "..", "directory that imports and patterns are relative to")
	check := flag.Bool("check", false, "write nothing; fail if a file is not as it would be written")
	flag.Parse()
	if err := run(context.Background(), *root, *check, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root string, check bool, patterns []string) error {
	sources, err := match(root, patterns)
	if err != nil {
		return err
	}
	request, err := compile(ctx, root, sources)
	if err != nil {
		return err
	}
	generated, err := generate(ctx, request)
	if err != nil {
		return err
	}
	if check {
		return compare(root, sources, generated)
	}
	return write(root, generated)
}

// match lists the files below root that the patterns name, as an import would spell them.
func match(root string, patterns []string) ([]string, error) {
	var names []string
	for _, p := range patterns {
		found, err := filepath.Glob(filepath.Join(root, p))
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", p, err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("pattern %q names no file", p)
		}
		for _, f := range found {
			name, err := filepath.Rel(root, f)
			if err != nil {
				return nil, err
			}
			names = append(names, filepath.ToSlash(name))
		}
	}
	if len(names) == 0 {
		return nil, errors.New("no pattern given")
	}
	return names, nil
}

// compile does what protoc does before it calls a plugin.
func compile(ctx context.Context, root string, sources []string) (*pluginpb.CodeGeneratorRequest, error) {
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
			ImportPaths: []string{root},
		}),
		SourceInfoMode: protocompile.SourceInfoStandard, // comments become Go comments
	}
	files, err := compiler.Compile(ctx, sources...)
	if err != nil {
		return nil, err
	}
	return &pluginpb.CodeGeneratorRequest{
		FileToGenerate: sources,
		Parameter:      proto.String("paths=source_relative"),
		ProtoFile:      withImports(files),
	}, nil
}

// withImports lists every file after all that it imports: the order in which plugins want them.
func withImports(files linker.Files) []*descriptorpb.FileDescriptorProto {
	var ordered []*descriptorpb.FileDescriptorProto
	seen := map[string]bool{}
	var visit func(protoreflect.FileDescriptor)
	visit = func(file protoreflect.FileDescriptor) {
		if seen[file.Path()] {
			return
		}
		seen[file.Path()] = true
		for i := range file.Imports().Len() {
			visit(file.Imports().Get(i).FileDescriptor)
		}
		ordered = append(ordered, protoutil.ProtoFromFileDescriptor(file))
	}
	for _, file := range files {
		visit(file)
	}
	return ordered
}

func generate(ctx context.Context, request *pluginpb.CodeGeneratorRequest) ([]*pluginpb.CodeGeneratorResponse_File,
	error) {
	in, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	plugin := exec.CommandContext(ctx, "go", "tool", "protoc-gen-go")
	plugin.Stdin = bytes.NewReader(in)
	plugin.Stderr = os.Stderr
	out, err := plugin.Output()
	if err != nil {
		return nil, fmt.Errorf("protoc-gen-go: %w", err)
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &response); err != nil {
		return nil, fmt.Errorf("protoc-gen-go: %w", err)
	}
	if response.Error != nil {
		return nil, fmt.Errorf("protoc-gen-go: %s", response.GetError())
	}
	return response.GetFile(), nil
}

func write(root string, generated []*pluginpb.CodeGeneratorResponse_File) error {
	for _, file := range generated {
		if err := os.WriteFile(filepath.Join(root, file.GetName()), []byte(file.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// compare reports the files that differ, are missing, or have lost the .proto they came from.
func compare(root string, sources []string, generated []*pluginpb.CodeGeneratorResponse_File) error {
	var wrong []string
	fresh := map[string]bool{}
	for _, file := range generated {
		fresh[file.GetName()] = true
		present, err := os.ReadFile(filepath.Join(root, file.GetName()))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if string(present) != file.GetContent() {
			wrong = append(wrong, file.GetName())
		}
	}
	stale, err := orphans(root, sources, fresh)
	if err != nil {
		return err
	}
	wrong = append(wrong, stale...)
	if len(wrong) > 0 {
		return fmt.Errorf("not what the .proto files generate: %s; run `make generate` and commit the result",
			strings.Join(wrong, ", "))
	}
	return nil
}

// orphans lists the generated files beside the sources that no source generates any more.
func orphans(root string, sources []string, fresh map[string]bool) ([]string, error) {
	folders := map[string]bool{}
	for _, source := range sources {
		folders[path.Dir(source)] = true
	}
	var names []string
	for folder := range folders {
		found, err := filepath.Glob(filepath.Join(root, folder, "*.pb.go"))
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if name := path.Join(folder, filepath.Base(f)); !fresh[name] {
				names = append(names, name)
			}
		}
	}
	return names, nil
}
