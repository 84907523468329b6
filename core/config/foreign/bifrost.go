package foreign

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/upstream/provider"
	"github.com/goccy/go-yaml"
)

// bifrost reads Bifrost's config.json. Sources: docs.getbifrost.ai/deployment-guides/config-json and the pages below it,
// read 2026-11-28.
type bifrost struct {
	*builder

	names   []string // what callers name, in the order of the source
	members map[string][]deployment
	all     map[string][]deployment // by the provider: targets of keys that serve all of its models
}

// Bifrost makes a configuration of Bifrost's config.json; file names it in errors.
func Bifrost(file string, text []byte) (*Result, error) {
	base, err := newBuilder(file, text)
	if err != nil {
		return nil, err
	}
	providers := base.root.get("providers")
	if providers == nil {
		return nil, &config.Error{File: file, Text: "there are no providers in it, so it is not a configuration of Bifrost"}
	}
	b := &bifrost{builder: base, members: map[string][]deployment{}, all: map[string][]deployment{}}
	for _, name := range providers.keys {
		b.provider(name, providers.members[name])
	}
	for path, text := range map[string]string{
		"governance.virtual_keys":  "keys are made by genway keys create, or imported by their SHA-256: genway keys import --hashes",
		"governance.teams":         "a team is the owner of its keys: limits: {owners: [{owner: TEAM, budgets: [100/month]}]}",
		"governance.customers":     "a customer is the owner of its keys: limits: {owners: [{owner: CUSTOMER, budgets: [100/month]}]}",
		"governance.budgets":       "budgets are of keys and owners, in dollars a day or a month, and need prices",
		"governance.rate_limits":   "limits are of keys, owners and models: limits:, and the flags of genway keys create",
		"governance.routing_rules": "routes: say which models go where",
		"governance.auth_config":   "the console and the Admin service take keys of the group admin: genway keys create --group admin",
		"config_store":             "keys and the ledger are in a store of Genway's own (store:)",
		"logs_store":               "keys and the ledger are in a store of Genway's own (store:)",
		"client.enable_logging":    "each request is in the ledger: docs/ledger.md",
	} {
		b.sayf(b.root.get(strings.Split(path, ".")...), Manual, "%s", text)
	}
	slices.SortStableFunc(b.names, byPrecision)
	for _, name := range b.names {
		b.route(name, b.members[name], nil)
	}
	// Bifrost's addresses for the vendors' SDKs (/openai, /anthropic, /genai) take names without a provider.
	for _, way := range []struct {
		provider  string
		protocols []string
	}{{"openai", []string{"chat", "responses"}}, {"anthropic", []string{"messages"}}, {"gemini", []string{"generatecontent"}}} {
		if targets := b.all[way.provider]; len(targets) > 0 {
			b.route("*", targets, nil, yaml.MapItem{Key: "protocols", Value: way.protocols})
		}
	}
	return b.result("# Made by genway import bifrost. Its findings say what is left to do.\n")
}

// provider reads a provider, of which each key is an upstream.
func (b *bifrost) provider(name string, from *node) {
	of := name
	if n := from.get("custom_provider_config", "base_provider_type"); n != nil {
		of = n.value()
		b.sayf(n, Exact, "the kind of its upstreams")
	}
	p := provider.Find(config.ProviderOf(of))
	if p == nil || len(p.Kinds()) == 0 {
		b.sayf(from, Unsupported, "Genway has no provider %s; if it speaks chat completions, write an upstream {kind: chat, base_url: …} and routes to it", of)
		return
	}
	keys := from.get("keys").list()
	if len(keys) == 0 {
		b.sayf(from, Manual, "it has no keys, so nothing says which models it serves")
		return
	}
	for i, key := range keys {
		u := &upstream{name: nonWord.ReplaceAllString(name, "-"), kind: p.Kinds()[0]}
		if i > 0 {
			u.name = fmt.Sprint(u.name, "-", cmp.Or(nonWord.ReplaceAllString(key.get("name").value(), "-"), strconv.Itoa(i+1)))
		}
		b.key(name, of, p, u, from, key)
	}
}

// key reads a key: its upstream, and a target of each of its models.
func (b *bifrost) key(name, of string, p *provider.Provider, u *upstream, from, key *node) {
	u.set("provider", p.Name)
	network := from.get("network_config")
	ok := true
	switch p.Name {
	case "azure":
		at := key.get("azure_key_config")
		if ok = b.needs(key, "azure_key_config.endpoint", at.get("endpoint")); ok {
			u.set("base_url", strings.TrimSuffix(b.plain(at.get("endpoint")), "/")+"/openai/v1")
			b.sayf(at.get("endpoint"), Exact, "base_url")
		}
		b.sayf(at.get("api_version"), Manual, "it is left out: Azure's address /openai/v1 has no dated version")
	case "bedrock":
		at := key.get("bedrock_key_config")
		u.kind = "messages"
		u.set("endpoint", "invoke")
		if ok = b.needs(key, "bedrock_key_config.region", at.get("region")); ok {
			u.set("region", b.plain(at.get("region")))
			b.sayf(at.get("region"), Exact, "region")
		}
		aws := yaml.MapSlice{}
		for _, s := range [][2]string{{"access_key", "access_key_id"}, {"secret_key", "secret_access_key"}, {"session_token", "session_token"}} {
			if n := at.get(s[0]); n != nil && n.value() != "" {
				aws = append(aws, yaml.MapItem{Key: s[1], Value: b.secret(n, variable("aws", s[1]))})
			}
		}
		u.set("auth", yaml.MapSlice{{Key: "aws", Value: aws}})
	case "vertex":
		at := key.get("vertex_key_config")
		for _, s := range [][2]string{{"project_id", "project"}, {"region", "region"}} {
			if ok = ok && b.needs(key, "vertex_key_config."+s[0], at.get(s[0])); ok {
				u.set(s[1], b.plain(at.get(s[0])))
				b.sayf(at.get(s[0]), Exact, "%s", s[1])
			}
		}
		b.sayf(at.get("auth_credentials"), Manual, "it is the key itself: write it into a file and name that as auth: {google: {credentials_file: …}}")
		u.set("auth", yaml.MapSlice{{Key: "google", Value: yaml.MapSlice{}}})
	default:
		if base := network.get("base_url"); base != nil {
			u.set("base_url", b.plain(base))
			b.sayf(base, Exact, "base_url")
		} else if e, _ := p.Endpoint(u.kind, ""); e == nil || e.Base == "" {
			ok = b.needs(key, "network_config.base_url", nil)
		}
	}
	signed := p.Name == "vertex" || p.Name == "bedrock" && key.get("bedrock_key_config") != nil
	if n := key.get("value"); n != nil && n.value() != "" && !signed {
		u.set("api_key", b.secret(n, variable(u.name, "API_KEY")))
	}
	if !ok {
		return
	}
	b.network(u, from, network)
	target := yaml.MapSlice{{Key: "upstream", Value: b.upstream(u.name, u.kind, u.fields)}}
	b.models(name, of, target, u, key)
}

// needs reports whether there is a member that a key cannot do without.
func (b *bifrost) needs(key *node, path string, n *node) bool {
	if n == nil || n.value() == "" {
		b.sayf(key, Manual, "%s is missing: nothing says where its upstream is", path)
		return false
	}
	return true
}

// network reads how an upstream is called.
func (b *bifrost) network(u *upstream, from, network *node) {
	if n := network.get("default_request_timeout_in_seconds"); n != nil {
		b.seconds(u, "deadline", n)
	}
	if n := network.get("stream_idle_timeout_in_seconds"); n != nil {
		b.seconds(u, "idle", n)
	}
	if n := network.get("max_retries"); n != nil {
		b.retries(u, n)
	}
	if n := network.get("extra_headers"); n != nil {
		b.headers(u, n)
	}
	if n := from.get("concurrency_and_buffer_size", "concurrency"); n != nil {
		if v, ok := n.figure(); ok && v >= 1 && v <= 1e6 {
			u.set("max_concurrent", int64(v))
			b.sayf(n, Manual, "max_concurrent of each upstream; more calls than that are refused as overloaded, and Bifrost keeps them waiting")
		}
	}
}

// models reads which models a key serves, as callers name them: PROVIDER/NAME.
func (b *bifrost) models(name, of string, target yaml.MapSlice, u *upstream, key *node) {
	b.sayf(key.get("name"), Exact, "a word for the upstream, which is %s", target[0].Value)
	weight := key.get("weight")
	share, weighted := weight.figure()
	if weighted = weighted && share >= 0 && share <= 1000; weighted {
		b.sayf(weight, Exact, "weight of its targets")
	}
	b.sayf(weight, Manual, "it is no weight from 0 to 1000")
	at := fmt.Sprint(target[0].Value)
	models := key.get("models")
	if models == nil || len(models.items) == 0 {
		b.kept = append(b.kept, at)
		b.sayf(key, Manual, "it names no models: add a route for each name in use, {model: %s/NAME, targets: [{upstream: %s, model: NAME}]}", name, at)
		return
	}
	for _, item := range models.items {
		d := deployment{group: name + "/" + item.value(), kind: u.kind, target: slices.Clone(target), at: item}
		if weighted {
			d.weight = &share
		}
		switch {
		case weighted && share == 0:
			b.sayf(item, Manual, "the weight of its key is 0, so it is left out")
		case item.value() == "*":
			b.kept = append(b.kept, at)
			b.sayf(item, Manual, "callers that name %s/NAME need a route for each name in use, {model: %s/NAME, targets: [{upstream: %s, model: NAME}]}, since Genway sends names as they are", name, name, at)
			b.all[name] = append(b.all[name], d)
		case item.value() == "":
			b.sayf(item, Manual, "it is no name of a model")
		default:
			there := item.value()
			for _, path := range [][]string{{"aliases"}, {of + "_key_config", "deployments"}} {
				if n := key.get(append(path, item.value())...); n.value() != "" {
					there = n.value()
					b.sayf(n, Exact, "the model of the target")
				}
			}
			if of == "bedrock" && !strings.Contains(there, "anthropic.") {
				b.sayf(item, Unsupported, "of Amazon Bedrock Genway calls the models of Anthropic (kind messages), and those of its OpenAI-compatible API (kind chat, provider bedrock)")
				continue
			}
			if of == "vertex" && strings.HasPrefix(there, "claude-") {
				b.sayf(item, Manual, "add an upstream {kind: messages, provider: vertex, …} for the models of Anthropic, and a route to it")
				continue
			}
			d.target = append(d.target, yaml.MapItem{Key: "model", Value: there})
			b.sayf(item, Exact, "a target of the route %s", d.group)
			if b.members[d.group] == nil {
				b.names = append(b.names, d.group)
			}
			b.members[d.group] = append(b.members[d.group], d)
		}
	}
}
