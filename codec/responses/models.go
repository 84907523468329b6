package responses

import (
	"cmp"
	"slices"

	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// modelCatalog is the list of models that Codex asks for: ModelsResponse of codex-rs/protocol/src/openai_models.rs.
// Codex 0.171.0 (npm, tried 2026-11-27) takes no list in which an entry lacks one of these members. It adds the
// entries to its own, in the place of those that have the same slug.
//
//wire:write
type modelCatalog struct {
	Models []catalogModel `json:"models" wire:"array"`
}

type catalogModel struct {
	Slug        string `json:"slug" wire:"always"`
	DisplayName string `json:"display_name" wire:"always"`
	Description string `json:"description"`
	// SupportedReasoningLevels are the efforts that can be chosen from; none are known here.
	SupportedReasoningLevels []string `json:"supported_reasoning_levels" wire:"array"`
	// ShellType is the tool for commands: one function shell_command, which every model can call.
	ShellType      string `json:"shell_type" wire:"always"`
	Visibility     string `json:"visibility" wire:"always"`
	SupportedInAPI bool   `json:"supported_in_api" wire:"always"`
	// Priority orders the list; the lowest is the model of a user who names none.
	Priority                   int64            `json:"priority" wire:"always"`
	BaseInstructions           string           `json:"base_instructions" wire:"always"`
	SupportVerbosity           bool             `json:"support_verbosity" wire:"always"`
	TruncationPolicy           truncationPolicy `json:"truncation_policy" wire:"always"`
	SupportsParallelToolCalls  bool             `json:"supports_parallel_tool_calls" wire:"always"`
	ContextWindow              *int64           `json:"context_window"`
	ExperimentalSupportedTools []string         `json:"experimental_supported_tools" wire:"array"`
}

// truncationPolicy is how much Codex keeps of a tool's result.
type truncationPolicy struct {
	Mode  string `json:"mode" wire:"always"`
	Limit int64  `json:"limit" wire:"always"`
}

// codexKnows are the slugs of which Codex has instructions and tools of its own (its bundled models.json, 0.171.0).
// An entry of ours would take their place, and the model would do worse.
var codexKnows = []string{
	"codex-auto-review", "gpt-5.5", "gpt-5.6-luna", "gpt-5.6-sol", "gpt-5.6-terra", "gpt-6-astra", "gpt-6-luna", "gpt-6-sol", "gpt-6.1-sol",
	"gpt-6.1-terra", "gpt-6.2-astra", "gpt-6.2-sol", "gpt-daybreak-blue-latest", "gpt-daybreak-red-latest",
}

// baseInstructions are for models of which Codex has none: without an entry it would take its own, and with
// an entry that has none it would send none.
const baseInstructions = `You are a coding agent that works with a user in a terminal, in the working directory that the user has chosen. You read files, run commands and change code by the tools that you are given, and you answer in plain text or Markdown.

- Work until the task is done: look at the code first, make the change, and check it by running what the project has for that. Do not stop at a plan unless the user asks for one.
- Prefer commands that are fast and read-only to find your way (rg, ls, sed -n, git log). Read what you are about to change.
- Make the smallest change that solves the task, in the style of the code around it. Do not mend what is unrelated; mention it.
- Follow the instructions in files named AGENTS.md, from the root down to the directory of the file that you change. The user's own words count more.
- Never undo changes that you did not make, and never run a command that destroys work (git reset --hard, rm -rf) unless the user asks for exactly that.
- Do not commit, push or publish unless you are asked to.
- If a command needs an approval or fails because of the sandbox, say what it is for and ask by the tool, instead of working around it.
- At the end say in a few sentences what you did, where, and how it was checked. Say so plainly if something does not work or was not checked.`

// EncodeModels implements codec.ModelLister.
func (Codec) EncodeModels(list *genwayv1.ListModelsResponse) ([]byte, error) {
	var out modelCatalog
	first := int64(0)
	for _, m := range list.GetModels() {
		if slices.Contains(codexKnows, m.GetName()) {
			first = 100 // behind Codex's own, which begin with 1
		}
	}
	for _, m := range list.GetModels() {
		if m.GetGeneratesText() && !slices.Contains(codexKnows, m.GetName()) {
			out.Models = append(out.Models, newCatalogModel(m, first+int64(len(out.Models))))
		}
	}
	w := member.NewWriter(len(out.Models) * (len(baseInstructions) + 512))
	out.write(w)
	return w.Finish()
}

// EncodeModel implements codec.ModelLister.
func (Codec) EncodeModel(m *genwayv1.Model) ([]byte, error) {
	one := newCatalogModel(m, 0)
	w := member.NewWriter(len(baseInstructions) + 512)
	one.write(w)
	return w.Finish()
}

func newCatalogModel(m *genwayv1.Model, priority int64) catalogModel {
	window := m.ContextTokenLimit
	if window == nil {
		window = m.InputTokenLimit
	}
	return catalogModel{
		Slug: m.GetName(), DisplayName: cmp.Or(m.GetDisplayName(), m.GetName()), Description: m.GetDescription(),
		ShellType: "shell_command", Visibility: "list", SupportedInAPI: true, Priority: priority, BaseInstructions: baseInstructions,
		TruncationPolicy: truncationPolicy{Mode: "bytes", Limit: 10_000}, SupportsParallelToolCalls: true, ContextWindow: window,
	}
}
