package provider

var deepseek = Provider{
	Name: "deepseek", Title: "DeepSeek", KeyEnv: "DEEPSEEK_API_KEY",
	Endpoints: []Endpoint{
		{
			Kinds: []string{"chat"}, Base: "https://api.deepseek.com/v1", MaxTokens: true,
			Source: "api-docs.deepseek.com", Read: "2026-11-22",
		},
		{
			Kinds: []string{"messages"}, Base: "https://api.deepseek.com/anthropic", NoCount: true, NoList: true,
			Source: "api-docs.deepseek.com/guides/anthropic_api", Read: "2026-11-22",
		},
	},
	Notes: []string{"Of messages it ignores `anthropic-version`, `anthropic-beta`, `container` and `mcp_servers`."},
}
