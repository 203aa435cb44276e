package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// sectionAnnotation holds the heading of a flag in help.
const sectionAnnotation = "holdfast_section"

// The headings that more than one command has.
const (
	SectionConnection = "Connection"
	SectionOutput     = "Output"
	SectionOther      = "Other flags"
)

// helpColumns is the width of help.
const helpColumns = 80

// AddFlags adds flags to the command. Help shows them under the section, in the order of their definition.
func AddFlags(cmd *cobra.Command, section string, define func(*pflag.FlagSet)) {
	set := pflag.NewFlagSet(section, pflag.ContinueOnError)
	set.SortFlags = false
	define(set)
	set.VisitAll(func(f *pflag.Flag) {
		if f.Annotations == nil {
			f.Annotations = make(map[string][]string)
		}
		f.Annotations[sectionAnnotation] = []string{section}
	})
	cmd.Flags().SortFlags = false
	cmd.Flags().AddFlagSet(set)
}

// AddJSON adds the flag --json.
func AddJSON(cmd *cobra.Command, on *bool, usage string) {
	AddFlags(cmd, SectionOutput, func(f *pflag.FlagSet) { f.BoolVar(on, "json", false, usage) })
}

// PrintUsage writes the part of help below the description of a command.
func PrintUsage(cmd *cobra.Command) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n", useLine(cmd))
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", strings.TrimRight(cmd.Example, "\n"))
	}
	writeCommands(&b, cmd)
	writeFlags(&b, cmd)
	_, err := io.WriteString(cmd.OutOrStderr(), b.String())
	return err
}

func useLine(cmd *cobra.Command) string {
	if cmd.HasParent() {
		return cmd.UseLine()
	}
	return cmd.CommandPath() + " COMMAND"
}

// writeCommands lists the subcommands by their groups. Without groups all are in one.
func writeCommands(b *strings.Builder, cmd *cobra.Command) {
	groups := cmd.Groups()
	if len(groups) == 0 {
		groups = []*cobra.Group{{Title: "Commands:"}}
	}
	for _, group := range groups {
		title := "\n" + group.Title + "\n"
		for _, c := range cmd.Commands() {
			if c.GroupID == group.ID && !c.Hidden {
				fmt.Fprintf(b, "%s  %-15s %s\n", title, c.Name(), c.Short)
				title = ""
			}
		}
	}
}

func writeFlags(b *strings.Builder, cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	sections := map[string]*pflag.FlagSet{}
	var titles []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		title := sectionOf(f)
		if sections[title] == nil {
			sections[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
			sections[title].SortFlags = false
			titles = append(titles, title)
		}
		sections[title].AddFlag(f)
	})
	for _, title := range titles {
		fmt.Fprintf(b, "\n%s:\n%s", title, sections[title].FlagUsagesWrapped(helpColumns))
	}
}

func sectionOf(f *pflag.Flag) string {
	if titles := f.Annotations[sectionAnnotation]; len(titles) > 0 {
		return titles[0]
	}
	return SectionOther
}
