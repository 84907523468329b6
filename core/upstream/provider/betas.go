package provider

// Beta is a feature of messages that is turned on by its name in the header anthropic-beta.
type Beta struct {
	// Name is the vendor's, and As the place's name for it. Without As the place refuses it.
	Name, As string
	// Members are the paths of the members of bodies that belong to it: a name, two joined by a dot, or *. and
	// two, at any depth. A place that refuses the beta gets none of them. A place that has it gets its name
	// with each body that has one of them: the vendor itself may not need it any more.
	Members []string
	// Type is the type of the member that may be left out, if that is not any: a request with another one
	// is refused by the member's name.
	Type string
}

// claudeBetas are what places of Claude that are not its vendor's take of betas (Bedrock, Vertex AI). Only such
// are left out as change how a reply is made and not what is replied; of others the place says itself that
// it does not take their members.
//
// Sources: Claude Code 2.1.332, its names of betas, those that it sends to such places, and GET /protocol of its
// gateway; BerriAI/litellm 030dd40, litellm/anthropic_beta_headers_config.json (null for both); all read 2026-11-27.
var claudeBetas = []Beta{
	{Name: "context-management-2025-06-27", As: "context-management-2025-06-27", Members: []string{"context_management"}},
	{Name: "effort-2025-11-24", As: "effort-2025-11-24", Members: []string{"output_config.effort"}},
	{Name: "advanced-tool-use-2025-11-20", As: "tool-search-tool-2025-10-19"},
	{Name: "request-tags-2026-08-21", Members: []string{"tags"}},
	{Name: "fast-mode-2026-02-01", Members: []string{"speed"}},
	{Name: "cache-diagnosis-2026-04-07", Members: []string{"diagnostics"}},
	{Name: "context-hint-2026-04-09", Members: []string{"context_hint"}},
	{Name: "task-budgets-2026-03-13", Members: []string{"output_config.task_budget"}},
	{Name: "prompt-caching-scope-2026-01-05", Members: []string{"*.cache_control.scope"}},
	{Name: "prompt-caching-evict-2026-05-12", Members: []string{"*.cache_control.evict_on_complete"}},
	{Name: "server-side-fallback-2026-06-01", Members: []string{"fallbacks"}},
	{Name: "server-side-fallback-2026-07-01"},
	{Name: "message-threads-2026-08-12", Members: []string{"thread"}, Type: "create"},
	{Name: "advisor-tool-2026-03-01"},
	{Name: "auto-mode-classifier-2026-07-16"},
	{Name: "cache-keepalive-2026-09-03"},
	{Name: "claude-code-side-query-2026-09-29"},
	{Name: "code-execution-2025-08-25"},
	{Name: "files-api-2025-04-14"},
	{Name: "mcp-client-2025-04-04"},
	{Name: "mcp-client-2025-11-20"},
	{Name: "mcp-servers-2025-12-04"},
	{Name: "program-use-case-ids-2026-09-17"},
	{Name: "redact-thinking-2026-02-12"},
	{Name: "resumption-2026-10-08"},
	{Name: "skills-2025-10-02"},
	{Name: "subagent-review-2026-11-17"},
	{Name: "thinking-resumption-2026-07-17"},
	{Name: "tool-provenance-2026-10-26"},
	{Name: "web-fetch-2025-09-10"},
}
