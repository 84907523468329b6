package provider

var azure = Provider{
	Name: "azure", Title: "Azure OpenAI and Microsoft Foundry", KeyEnv: "AZURE_OPENAI_API_KEY",
	Auth: []string{"entra", "managed_identity"},
	Endpoints: []Endpoint{
		{
			Kinds: []string{"chat", "responses", "images"}, Base: "https://{resource}.openai.azure.com/openai/v1", Chat: openaiChat,
			KeyHeader: "Api-Key", Scope: "https://cognitiveservices.azure.com/.default", Headers: []string{"Azureml-Model-Session", "X-Ms-Region"},
			Source: "learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle; openai-go v3.95.0, azure/azure.go", Read: "2026-11-22",
		},
		{
			Name: "foundry", Kinds: []string{"chat", "responses"}, Base: "https://{resource}.services.ai.azure.com/openai/v1", Chat: openaiChat,
			KeyHeader: "Api-Key", Scope: "https://ai.azure.com/.default", Headers: []string{"X-Ms-Region"},
			Source: "learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle", Read: "2026-11-22",
		},
		{
			Kinds: []string{"messages"}, Base: "https://{resource}.services.ai.azure.com/anthropic", Scope: "https://ai.azure.com/.default", NoList: true,
			Source: "platform.claude.com/docs/en/build-with-claude/claude-in-microsoft-foundry; anthropic-sdk-go v1.84.0, foundry/foundry.go", Read: "2026-11-22",
		},
	},
	Notes: []string{
		"The model is the name of a deployment.",
		"Addresses of dated API versions (`/openai/deployments/NAME?api-version=…`) are written as `base_url` and `query` without a provider, with the key in `headers: {api-key: …}`.",
	},
}
