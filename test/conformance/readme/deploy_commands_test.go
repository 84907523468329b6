package readme

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// deployed is what the commands of deploy/*/README.md may name.
type deployed struct{ makefile, compose, dockerfile, values, flags string }

var (
	inRepository = regexp.MustCompile(`^(\.\./)*(deploy|scripts|cmd|docs)/`)
	stage        = regexp.MustCompile(` AS (\S+)\n`)
	service      = regexp.MustCompile(`(?m)^  ([a-z]+):\n(?:    .*\n|  +#.*\n)*`)
	profile      = regexp.MustCompile(`\n    profiles: \[([a-z]+)\]\n`)
)

// check says what is wrong with a command that is run in a folder of the repository.
func (d deployed) check(words []string, folder string) string {
	for _, word := range words {
		if !inRepository.MatchString(word) {
			continue
		}
		if _, err := os.Stat(filepath.Join(root, folder, word)); err != nil {
			return err.Error()
		}
	}
	command, rest := words[0], words[1:]
	switch command {
	case "make":
		return d.checkMake(rest)
	case "docker":
		return d.checkDocker(rest)
	case "helm":
		return d.checkHelm(rest)
	case "systemctl":
		for _, unit := range rest[1:] {
			if _, err := os.Stat(filepath.Join(root, "deploy", "systemd", unit+".service")); err != nil && !strings.HasPrefix(unit, "--") {
				return err.Error()
			}
		}
	// These name nothing of the repository but files, which are looked for above.
	case "base64", "cd", "cosign", "curl", "dpkg", "echo", "gh", "git", "head", "install", "kubectl", "npx", "openssl", "sed", "sha256sum", "tee":
	default:
		if !strings.HasSuffix(command, "deploy/scripts/revision") {
			return "no case knows " + command
		}
	}
	return ""
}

func (d deployed) checkMake(words []string) string {
	for _, word := range words {
		name, _, assigned := strings.Cut(word, "=")
		if !assigned && !strings.Contains(d.makefile, "\n"+name+": ") {
			return "the Makefile has no target " + name
		}
		if assigned && !regexp.MustCompile(`## .*\b`+name+`\b`).MatchString(d.makefile) {
			return "the Makefile's help has no variable " + name
		}
	}
	return ""
}

func (d deployed) checkDocker(words []string) string {
	var names []string
	for i, word := range words {
		switch {
		case i > 0 && words[i-1] == "--target":
			var stages []string
			for _, found := range stage.FindAllStringSubmatch(d.dockerfile, -1) {
				stages = append(stages, found[1])
			}
			if !slices.Contains(stages, word) {
				return "the Dockerfile has no stage " + word
			}
		case words[0] == "compose" && i > 0 && words[i-1] == "--profile":
			if !strings.Contains(d.compose, "profiles: ["+word+"]") {
				return "compose.yaml has no profile " + word
			}
		case words[0] == "compose" && i > 0 && words[i-1] == "--scale":
			if name, _, _ := strings.Cut(word, "="); d.service(name) == "" {
				return "compose.yaml has no service " + name
			}
		case !strings.HasPrefix(word, "-"):
			names = append(names, word)
		}
	}
	switch {
	// The words after `up` are services, that after `run` is one, and the rest is its command.
	case words[0] == "compose" && len(names) > 2:
		if !strings.Contains(d.service(names[2]), "    image: ") {
			return "compose.yaml has no service " + names[2]
		}
		return d.checkProgram(names[3:], words)
	case slices.Contains(names, "/genway"):
		return d.checkProgram(names[slices.Index(names, "/genway")+1:], words)
	case words[0] == "run" && slices.Contains(names, "genway"):
		return d.checkProgram(names[slices.Index(names, "genway")+1:], words)
	}
	return ""
}

// service returns what compose.yaml says of a service.
func (d deployed) service(name string) string {
	for _, found := range service.FindAllStringSubmatch(d.compose, -1) {
		if found[1] == name {
			return found[0]
		}
	}
	return ""
}

// checkProgram looks for the subcommand and the flags of genway, which come last in words.
func (d deployed) checkProgram(names, words []string) string {
	if len(names) == 0 {
		return ""
	}
	for n := len(names); n > 0; n-- {
		_, flags, known := strings.Cut(d.flags, "$ genway "+strings.Join(names[:n], " ")+"\n")
		if !known {
			continue
		}
		flags, _, _ = strings.Cut(flags, "\n$ ")
		for _, word := range words[slices.Index(words, names[n-1])+1:] {
			flag, _, _ := strings.Cut(word, "=")
			if strings.HasPrefix(word, "--") && !strings.Contains("\n"+flags+"\n", "\n"+flag+"\n") && !strings.Contains("\n"+flags, "\n"+flag+" ") {
				return "genway " + strings.Join(names[:n], " ") + " has no flag " + flag
			}
		}
		return ""
	}
	return "genway has no command " + strings.Join(names, " ")
}

func (d deployed) checkHelm(words []string) string {
	for i, word := range words {
		if i == 0 || words[i-1] != "--set" && words[i-1] != "--set-string" {
			continue
		}
		path, _, _ := strings.Cut(word, "=")
		for name := range strings.SplitSeq(path, ".") {
			if !regexp.MustCompile(`(?m)[ {]` + name + `:|^` + name + `:`).MatchString(d.values) {
				return "values.yaml has no " + path
			}
		}
	}
	return ""
}
