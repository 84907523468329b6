package config

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"

	"github.com/genway/genway/core/config/strict"
	"github.com/genway/genway/core/upstream/provider"
	"github.com/goccy/go-yaml/ast"
)

// What other gateways' configurations call things, and what to write here. Sources: LiteLLM's config.yaml
// (docs.litellm.ai/docs/proxy/config_settings), Bifrost's config.json (docs.getbifrost.ai).

// foreignFiles are keys at the top of a file that only another gateway's configuration has.
var foreignFiles = map[string]string{
	"model_list": ofLiteLLM, "litellm_settings": ofLiteLLM, "router_settings": ofLiteLLM, "general_settings": ofLiteLLM,
	"config_store": ofBifrost, "logs_store": ofBifrost, "vector_store": ofBifrost, "governance": ofBifrost,
}

// Whose a configuration is, and what to do with it.
const (
	ofLiteLLM = "LiteLLM: genway import litellm FILE makes one of Genway of it"
	ofBifrost = "Bifrost: genway import bifrost FILE makes one of Genway of it"
)

// foreignFile returns whose configuration a text is, and what to do with it; empty for none that is known.
func foreignFile(body ast.Node) string {
	mapping, ok := body.(*ast.MappingNode)
	if !ok {
		return ""
	}
	whose := ""
	for _, v := range mapping.Values {
		switch key := v.Key.GetToken().Value; key {
		case "upstreams", "routes":
			return ""
		default:
			whose = cmp.Or(whose, foreignFiles[key])
		}
	}
	return whose
}

// advise says what to write in place of a key that a mapping does not have, by the mapping's type. What is a key of
// another mapping here needs no advice.
func advise(within reflect.Type, key string) string {
	const (
		perModel = "use limits: {models: [{model: M, requests_per_minute: 60, tokens_per_minute: 100000}]}"
		budgets  = "use budgets: [100/month]"
		created  = "keys are made by genway keys create"
		flags    = "addresses are flags of genway serve"
		named    = "write targets: [{upstream: NAME}]"
		inOrder  = "the targets of a route share its load; what is tried in order is its fallback"
	)
	switch within {
	case reflect.TypeFor[Upstream]():
		return map[string]string{
			"timeout": "use first_byte, for the time until an answer begins, or deadline, for a whole call", "request_timeout": "use deadline", "stream_timeout": "use first_byte or idle",
			"connect_timeout": "use first_byte", "retry": "use retries", "num_retries": "use retries", "max_retries": "use retries", "allowed_fails": "use break_after", "cooldown_time": "use break_for",
			"api_base": "use base_url", "url": "use base_url", "endpoint_url": "use base_url", "key": "use api_key", "apikey": "use api_key", "token": "use api_key",
			"type": "use kind", "protocol": "use kind", "max_parallel_requests": "use max_concurrent", "concurrency_limit": "use max_concurrent",
			"rpm": perModel, "tpm": perModel, "organization": "use headers: {OpenAI-Organization: ORGANIZATION}",
		}[key]
	case reflect.TypeFor[Route]():
		return map[string]string{
			"upstream": named, "provider": named, "name": "use model", "model_name": "use model", "alias": "use model", "models": "use model: a name, or a glob as in gpt-*",
			"timeout": "use deadline", "retry": "use retries of the upstream", "num_retries": "use retries of the upstream", "fallbacks": "use fallback: [{upstream: NAME}]",
			"protocol": "use protocols: [NAME]", "rpm": perModel, "tpm": perModel,
		}[key]
	case reflect.TypeFor[Target]():
		return map[string]string{
			"name": "use upstream", "provider": "use upstream", "priority": inOrder, "order": inOrder, "timeout": "use deadline of the route, or first_byte of the upstream",
		}[key]
	case reflect.TypeFor[Allowance](), reflect.TypeFor[OwnerLimits](), reflect.TypeFor[ModelLimits]():
		return map[string]string{
			"rpm": "use requests_per_minute", "tpm": "use tokens_per_minute", "max_parallel_requests": "use concurrent", "max_concurrent": "use concurrent",
			"max_budget": budgets, "budget": budgets, "soft_budget": budgets, "budget_duration": "the period is a part of the budget: budgets: [100/month]",
		}[key]
	case reflect.TypeFor[Config]():
		return map[string]string{
			"models": "use routes: [{model: NAME, targets: [{upstream: NAME}]}]", "providers": "use upstreams", "keys": created, "virtual_keys": created, "master_key": created,
			"users": created + ", each with its owner", "teams": "limits of a team are limits: {owners: [{owner: TEAM}]}", "listen": flags, "port": flags, "host": flags,
			"database": "use store", "database_url": "use store", "redis": "use limits: {store: redis://HOST:PORT}",
			"environment_variables": "set them where the program is started; ${NAME} is replaced by the value of the variable NAME",
		}[key]
	}
	return ""
}

// foreignProviders are other gateways' names of providers, where they differ from ours.
var foreignProviders = map[string]string{
	"azure_openai": "azure", "azure_ai": "azure", "claude": "anthropic", "google": "gemini", "google_ai": "gemini", "vertex_ai": "vertex", "vertexai": "vertex", "aws": "bedrock",
	"fireworks_ai": "fireworks", "together_ai": "together", "hosted_vllm": "vllm", "openai_like": provider.Custom, "openai_compatible": provider.Custom, "openai-compatible": provider.Custom, "litellm": provider.Custom,
}

// ProviderOf returns the name here of a provider that another gateway calls so: the same where nothing else is known.
func ProviderOf(foreign string) string { return cmp.Or(foreignProviders[foreign], foreign) }

// kindOf says what to write in place of the name of a provider where a kind is expected; empty for any other text.
func kindOf(text string) string {
	name := ProviderOf(text)
	if name == provider.Custom {
		return "; write kind: chat and base_url"
	}
	if p := provider.Find(name); p != nil {
		return fmt.Sprintf("; write kind: %s and provider: %s", p.Kinds()[0], p.Name)
	}
	return strict.Meant(text, Kinds())
}

// foreignVariable is a reference to a variable of the environment as others write it.
var foreignVariable = regexp.MustCompile(`^(?:os\.environ/|env\.|\$|\$env:)([A-Za-z_][A-Za-z0-9_]*)$`)
