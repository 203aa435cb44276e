package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
)

// The annotations of a flag: its heading in help, the topic that shows it, and what the help of its command shows
// instead.
const (
	sectionAnnotation = "holdfast_section"
	topicAnnotation   = "holdfast_topic"
	insteadAnnotation = "holdfast_instead"
)

// The headings that more than one command has.
const (
	SectionConnection = "Connection"
	SectionOutput     = "Output"
	SectionOther      = "Other flags"
)

// The width of help: that of the terminal within these bounds, minColumns for other outputs.
const minColumns, maxColumns = 80, 120

// AddFlags adds flags to the command. Help shows them under the section, in the order of their definition.
func AddFlags(cmd *cobra.Command, section string, define func(*pflag.FlagSet)) {
	AddTopicFlags(cmd, section, nil, define)
}

// AddTopicFlags adds flags as [AddFlags] does. If there is a topic, the help of the command shows only those flags that
// are named here, and where the others are.
func AddTopicFlags(cmd *cobra.Command, section string, topic *Topic, define func(*pflag.FlagSet), shown ...string) {
	set := pflag.NewFlagSet(section, pflag.ContinueOnError)
	set.SortFlags = false
	define(set)
	set.VisitAll(func(f *pflag.Flag) {
		_ = set.SetAnnotation(f.Name, sectionAnnotation, []string{section}) // the flag exists
		if topic == nil {
			return
		}
		_ = set.SetAnnotation(f.Name, topicAnnotation, []string{topic.Name})
		if !slices.Contains(shown, f.Name) {
			_ = set.SetAnnotation(f.Name, insteadAnnotation, []string{cmp.Or(topic.Summary, "--"+f.Name)})
		}
	})
	cmd.Flags().SortFlags = false
	cmd.Flags().AddFlagSet(set)
	set.VisitAll(func(f *pflag.Flag) {
		if choice, is := f.Value.(*Choice); is {
			words := cobra.FixedCompletions(choice.Words, cobra.ShellCompDirectiveNoFileComp)
			_ = cmd.RegisterFlagCompletionFunc(f.Name, words) // the flag exists
		}
	})
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

// writeFlags lists the flags by their sections.
func writeFlags(b *strings.Builder, cmd *cobra.Command) {
	columns := min(max(display.Columns(cmd.Root().OutOrStdout()), minColumns), maxColumns)
	for _, s := range sectionsOf(cmd.Flags(), "") {
		fmt.Fprintf(b, "\n%s:\n%s", s.title, s.flags.FlagUsagesWrapped(columns))
		if len(s.instead) > 0 {
			text := strings.Join(slices.Compact(s.instead), ", ") + ": see holdfast help " + s.topic
			b.WriteString(display.Hanging("      ", text, columns))
		}
	}
}

// flagSection is the flags under one heading.
type flagSection struct {
	title string
	flags *pflag.FlagSet
	// instead has what is shown in the place of the flags that are on the page of the topic only.
	instead []string
	topic   string
}

// sectionsOf returns the sections of flags in the order of their definition, for the page of a topic; empty: for that
// of the command.
func sectionsOf(all *pflag.FlagSet, page string) (sections []*flagSection) {
	all.SortFlags = false
	all.VisitAll(func(f *pflag.Flag) {
		title, topic := cmp.Or(annotation(f, sectionAnnotation), SectionOther), annotation(f, topicAnnotation)
		i := slices.IndexFunc(sections, func(s *flagSection) bool { return s.title == title })
		if i < 0 {
			i = len(sections)
			flags := pflag.NewFlagSet(title, pflag.ContinueOnError)
			flags.SortFlags = false
			sections = append(sections, &flagSection{title: title, flags: flags})
		}
		s, instead := sections[i], annotation(f, insteadAnnotation)
		switch {
		case page == "" && instead == "", page != "" && topic == page:
			s.flags.AddFlag(f)
		case page == "":
			s.topic, s.instead = topic, append(s.instead, instead)
		}
	})
	return sections
}

// annotation returns the value of an annotation, empty for none.
func annotation(f *pflag.Flag, name string) string { return strings.Join(f.Annotations[name], "") }
