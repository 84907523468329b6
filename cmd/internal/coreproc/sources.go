package coreproc

import (
	"os"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/store"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// bySource returns what is in force with where it is from: the flags of the process, then the members of the file.
func bySource(settings []cli.Setting, members []config.Member) []*adminv1.ConfigurationMember {
	var all []*adminv1.ConfigurationMember
	overrides := map[string]string{} // members of the file that a flag has precedence over
	for _, s := range settings {
		m := &adminv1.ConfigurationMember{Name: s.Flag, Value: config.MaskedValue(s.Value), Source: adminv1.ConfigurationSource_CONFIGURATION_SOURCE_DEFAULT}
		if s.Flag == "--data" && !s.Given {
			m.Value, s.Variable = defaultData()
		}
		switch {
		case s.Given:
			m.Source = adminv1.ConfigurationSource_CONFIGURATION_SOURCE_FLAG
		case s.Variable != "":
			m.Source, m.Variables = adminv1.ConfigurationSource_CONFIGURATION_SOURCE_ENVIRONMENT, []string{s.Variable}
		}
		if s.Flag == "--store" && s.Value != "" {
			overrides["store"] = s.Flag
		}
		all = append(all, m)
	}
	for _, member := range members {
		m := &adminv1.ConfigurationMember{
			Name: member.Path, Value: member.Value, Source: adminv1.ConfigurationSource_CONFIGURATION_SOURCE_FILE, Line: int32(member.Line),
			Variables: member.Variables, OverriddenBy: overrides[member.Path],
		}
		if member.Referred {
			m.Source = adminv1.ConfigurationSource_CONFIGURATION_SOURCE_ENVIRONMENT
		}
		all = append(all, m)
	}
	return all
}

// defaultData is the directory of the data where no argument says which, and the variable that says so, if it
// does.
func defaultData() (directory, variable string) {
	directory, err := store.DataDir("", os.Getenv)
	if err != nil {
		return "", ""
	}
	if os.Getenv("GENWAY_DATA") != "" {
		variable = "GENWAY_DATA"
	}
	return directory, variable
}
