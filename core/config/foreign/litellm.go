package foreign

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/upstream/provider"
	"github.com/goccy/go-yaml"
)

// litellm reads LiteLLM's config.yaml. Sources: docs.litellm.ai/docs/proxy/config_settings, proxy/configs,
// proxy/load_balancing, proxy/reliability, wildcard_routing, read 2026-11-28.
type litellm struct {
	*builder

	groups  []string // the model_names, in their order
	members map[string][]deployment
}

// LiteLLM makes a configuration of LiteLLM's config.yaml; file names it in errors.
func LiteLLM(file string, text []byte) (*Result, error) {
	b, err := newBuilder(file, text)
	if err != nil {
		return nil, err
	}
	if b.root.shape != mapping || b.root.members["model_list"] == nil {
		return nil, &config.Error{File: file, Text: "there is no model_list in it, so it is not a configuration of LiteLLM"}
	}
	l := &litellm{builder: b, members: map[string][]deployment{}}
	for _, item := range b.root.get("model_list").list() {
		l.deployment(item)
	}
	l.settings()
	l.route()
	return b.result("# Made by genway import litellm. Its findings say what is left to do.\n")
}

// list returns the items of a sequence; none of another value.
func (n *node) list() []*node {
	if n == nil {
		return nil
	}
	return n.items
}

// deployment reads one item of model_list.
func (l *litellm) deployment(item *node) {
	params, group := item.get("litellm_params"), item.get("model_name")
	name := params.get("model").value()
	if group.value() == "" || name == "" {
		l.sayf(item, Manual, "it has no model_name or no litellm_params.model")
		return
	}
	l.sayf(group, Exact, "the model of a route")
	if mode := item.get("model_info", "mode"); mode != nil && !slices.Contains([]string{"chat", "completion", "responses", "image_generation"}, mode.value()) {
		l.sayf(item, Unsupported, "Genway serves text and images; there is no mode %s", mode.value())
		return
	}
	u, model, ok := l.place(item, params, name)
	if !ok {
		return
	}
	d := deployment{group: group.value(), kind: u.kind, order: 1, at: params.get("model")}
	d.target = yaml.MapSlice{{Key: "upstream", Value: l.named(u)}}
	if strings.Contains(d.group, "*") || strings.Contains(model, "*") {
		if !l.wildcard(d.group, model, params.get("model"), d.target[0].Value) {
			return
		}
		if strings.Contains(model, "*") {
			model = ""
		}
	}
	if model != "" {
		d.target = append(d.target, yaml.MapItem{Key: "model", Value: model})
	}
	l.sayf(params.get("model"), Exact, "a target of the route %s", d.group)
	l.load(&d, params)
	l.defaults(&d, params)
	l.info(item.get("model_info"), params, cmp.Or(model, d.group))
	if l.members[d.group] == nil {
		l.groups = append(l.groups, d.group)
	}
	l.members[d.group] = append(l.members[d.group], d)
}

// named returns the name of the builder's upstream that is as u is.
func (l *litellm) named(u *upstream) string { return l.upstream(u.name, u.kind, u.fields) }

// ofModel are the providers of models whose names LiteLLM knows without a prefix.
var ofModel = []struct {
	name     *regexp.Regexp
	provider string
}{
	{regexp.MustCompile(`^(gpt-|o[134]\b|chatgpt-|dall-e-)`), "openai"},
	{regexp.MustCompile(`^claude-`), "anthropic"},
}

// place returns the upstream of a deployment, which has no name of the builder's yet, and the model's name there.
func (l *litellm) place(item, params *node, name string) (u *upstream, model string, ok bool) {
	at := params.get("model")
	prefix, model, found := strings.Cut(name, "/")
	if !found {
		model, prefix = name, params.get("custom_llm_provider").value()
		for _, known := range ofModel {
			if prefix == "" && known.name.MatchString(name) {
				prefix = known.provider
				l.sayf(at, Manual, "it names no provider; taken for %s by its name, as LiteLLM does", prefix)
			}
		}
		if prefix == "" {
			l.sayf(item, Manual, "the model %s names no provider: write PROVIDER/%s", name, name)
			return nil, "", false
		}
	}
	l.sayf(params.get("custom_llm_provider"), Exact, "the provider")
	base := params.get("api_base")
	if base == nil {
		base = params.get("base_url")
	}
	kind := map[string]string{"image_generation": "images", "responses": "responses"}[item.get("model_info", "mode").value()]
	if rest, is := strings.CutPrefix(model, "responses/"); is {
		kind, model = "responses", rest
	}
	l.sayf(item.get("model_info", "mode"), Exact, "the kind of the upstream")
	u = &upstream{name: prefix, kind: cmp.Or(kind, "chat")}
	switch {
	case prefix == "azure" && base != nil && params.get("api_version") != nil && kind == "":
		// LiteLLM calls the deployment's own address, of a dated version.
		u.name = "azure-" + nonWord.ReplaceAllString(model, "-")
		u.set("base_url", strings.TrimSuffix(l.plain(base), "/")+"/openai/deployments/"+model)
		u.set("query", yaml.MapSlice{{Key: "api-version", Value: l.plain(params.get("api_version"))}})
		u.set("headers", yaml.MapSlice{{Key: "api-key", Value: l.key(params, "AZURE_API_KEY")}})
		l.sayf(params.get("api_version"), Exact, "query: {api-version: …}")
	case prefix == "bedrock":
		if u, model, ok = l.bedrock(params, model); !ok {
			return nil, "", false
		}
	case prefix == "vertex_ai" || prefix == "vertex_ai_beta":
		u = l.vertex(params, model)
	case (prefix == "openai" || prefix == "openai_like" || prefix == "custom_openai" || prefix == "text-completion-openai") && base != nil:
		u.name = "openai-" + strings.ToLower(nonWord.ReplaceAllString(hostOf(base.value()), "-"))
		u.set("base_url", l.plain(base))
		if params.get("api_key") != nil {
			u.set("api_key", l.key(params, variable(u.name, "API_KEY")))
		}
	default:
		p := provider.Find(config.ProviderOf(prefix))
		if p == nil || len(p.Kinds()) == 0 {
			l.sayf(item, Unsupported, "Genway has no provider %s; if it speaks chat completions, write an upstream {kind: chat, base_url: …} and a route to it", prefix)
			return nil, "", false
		}
		if kind == "" || !slices.Contains(p.Kinds(), kind) {
			u.kind = p.Kinds()[0]
		}
		u.name = p.Name
		u.set("provider", p.Name)
		if base != nil {
			u.set("base_url", l.plain(base))
		}
		if p.KeyEnv != "" || params.get("api_key") != nil {
			u.set("api_key", l.key(params, cmp.Or(p.KeyEnv, variable(p.Name, "API_KEY"))))
		}
		l.sayf(params.get("api_version"), Manual, "it is left out: the address of provider %s has no dated version", p.Name)
		if e, _ := p.Endpoint(u.kind, ""); e != nil && (e.Base == "" || len(e.Parameters()) > 0) && base == nil {
			l.sayf(item, Manual, "provider %s needs an address, and api_base is missing", p.Name)
			return nil, "", false
		}
	}
	l.sayf(base, Exact, "base_url")
	l.calls(u, params)
	return u, model, true
}

// key returns the credential of a deployment; without one, the variable that LiteLLM and Genway read by themselves.
func (l *litellm) key(params *node, name string) string {
	if n := params.get("api_key"); n != nil {
		return l.secret(n, name)
	}
	return "${" + name + "}"
}

func hostOf(url string) string {
	_, rest, found := strings.Cut(url, "://")
	if !found {
		return reference.ReplaceAllString(url, "$1")
	}
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// bedrock returns an upstream of Amazon Bedrock, for Anthropic's models: LiteLLM calls the Converse API for all
// others, which Genway does not.
func (l *litellm) bedrock(params *node, model string) (*upstream, string, bool) {
	for _, way := range []string{"converse/", "invoke/"} {
		model = strings.TrimPrefix(model, way)
	}
	if !strings.Contains(model, "anthropic.") {
		l.sayf(params.get("model"), Unsupported, "of Amazon Bedrock Genway calls the models of Anthropic (kind messages), and those of its OpenAI-compatible API (kind chat, provider bedrock)")
		return nil, "", false
	}
	region := params.get("aws_region_name")
	if region == nil {
		l.sayf(params.get("model"), Manual, "aws_region_name is missing: an upstream of provider bedrock names its region")
		return nil, "", false
	}
	l.sayf(region, Exact, "region")
	u := &upstream{name: "bedrock", kind: "messages"}
	u.set("provider", "bedrock")
	u.set("endpoint", "invoke")
	u.set("region", l.plain(region))
	aws := yaml.MapSlice{}
	for _, s := range [][2]string{{"aws_access_key_id", "access_key_id"}, {"aws_secret_access_key", "secret_access_key"}, {"aws_session_token", "session_token"}} {
		if n := params.get(s[0]); n != nil {
			aws = append(aws, yaml.MapItem{Key: s[1], Value: l.secret(n, strings.ToUpper(s[0]))})
		}
	}
	if n := params.get("aws_profile_name"); n != nil {
		aws = append(aws, yaml.MapItem{Key: "profile", Value: l.plain(n)})
		l.sayf(n, Exact, "auth: {aws: {profile: …}}")
	}
	l.sayf(params.get("aws_role_name"), Manual, "Genway takes a role by a web identity (auth: {aws: {role_arn, token_file}}), or by a profile that assumes it")
	u.set("auth", yaml.MapSlice{{Key: "aws", Value: aws}})
	return u, model, true
}

// vertex returns an upstream of Vertex AI.
func (l *litellm) vertex(params *node, model string) *upstream {
	u := &upstream{name: "vertex", kind: "generatecontent"}
	if strings.HasPrefix(model, "claude-") {
		u.name, u.kind = "vertex-claude", "messages"
	}
	u.set("provider", "vertex")
	for _, s := range [][2]string{{"vertex_project", "project"}, {"vertex_location", "region"}} {
		n := params.get(s[0])
		if n == nil {
			u.set(s[1], "${"+variable(s[0])+"}")
			l.sayf(params.get("model"), Manual, "%s is missing: set the variable %s", s[0], variable(s[0]))
			continue
		}
		u.set(s[1], l.plain(n))
		l.sayf(n, Exact, "%s", s[1])
	}
	google := yaml.MapSlice{}
	if n := params.get("vertex_credentials"); n != nil {
		if strings.HasPrefix(strings.TrimSpace(n.value()), "{") || n.shape != scalar {
			l.sayf(n, Manual, "it has the key itself, which is not copied: write it into a file and name that as auth: {google: {credentials_file: …}}")
		} else {
			google = append(google, yaml.MapItem{Key: "credentials_file", Value: l.plain(n)})
			l.sayf(n, Exact, "auth: {google: {credentials_file: …}}")
		}
	}
	u.set("auth", yaml.MapSlice{{Key: "google", Value: google}})
	return u
}

// calls reads how an upstream is called.
func (l *litellm) calls(u *upstream, params *node) {
	if n := params.get("organization"); n != nil {
		u.set("headers", yaml.MapSlice{{Key: "OpenAI-Organization", Value: l.plain(n)}})
		l.sayf(n, Exact, "headers: {OpenAI-Organization: …}")
	}
	if n := params.get("timeout"); n != nil {
		l.seconds(u, "deadline", n)
	}
	l.sayf(params.get("stream_timeout"), Manual, "Genway bounds how long any answer may take to begin (first_byte) and to go on (idle), not streams alone")
	if n := params.get("max_retries"); n != nil {
		l.retries(u, n)
	}
	if n := params.get("max_parallel_requests"); n != nil {
		if v, ok := n.figure(); ok && v >= 1 && v <= 1e6 {
			u.set("max_concurrent", int64(v))
			l.sayf(n, Exact, "max_concurrent")
		}
		l.sayf(n, Manual, "it is no number of calls above 0")
	}
	if n := params.get("extra_headers"); n != nil {
		l.headers(u, n)
	}
}

// load reads the share of a deployment, and its order.
func (l *litellm) load(d *deployment, params *node) {
	if n := params.get("order"); n != nil {
		if v, ok := n.figure(); ok && v >= 0 && v <= 1e6 {
			d.order = int(v)
			l.sayf(n, Exact, "a higher order is the route's fallback")
		}
		l.sayf(n, Manual, "it is no number")
	}
	if n := params.get("weight"); n != nil {
		if v, ok := n.figure(); ok && v >= 0 && v <= 1000 {
			d.weight = &v
			l.sayf(n, Exact, "weight")
		}
		l.sayf(n, Manual, "it is no weight from 0 to 1000")
	}
	for key, figure := range map[string]string{"rpm": "requests_per_minute", "tpm": "tokens_per_minute"} {
		l.sayf(params.get(key), Manual, "Genway bounds all requests for a model together: limits: {models: [{model: %s, %s: N}]}; how the load is shared is the target's weight", d.group, figure)
	}
}

// defaults reads the parameters that requests get unless they have their own.
func (l *litellm) defaults(d *deployment, params *node) {
	var list yaml.MapSlice
	for _, s := range [][2]string{{"max_tokens", "max_output_tokens"}, {"temperature", "temperature"}, {"top_p", "top_p"}, {"seed", "seed"}, {"reasoning_effort", "effort"}} {
		n := params.get(s[0])
		if n == nil {
			continue
		}
		var value any = n.value()
		if v, ok := n.figure(); ok {
			if value = v; v == float64(int64(v)) {
				value = int64(v)
			}
		}
		list = append(list, yaml.MapItem{Key: s[1], Value: value})
		l.sayf(n, Exact, "default: {%s: …} of the target", s[1])
	}
	if list != nil {
		d.target = append(d.target, yaml.MapItem{Key: "default", Value: list})
	}
	l.sayf(params.get("drop_params"), Exact, "Genway leaves out what a model does not take, and names it in x-genway-lost")
}

// info reads what is known of a model, of which Genway keeps files of their own.
func (l *litellm) info(info, params *node, model string) {
	for _, at := range []*node{info, params} {
		for _, key := range []string{"input_cost_per_token", "output_cost_per_token"} {
			if n := at.get(key); n != nil {
				v, _ := n.figure()
				l.sayf(n, Manual, "a row of the file of prices, in dollars a million tokens: {model: %s, %s: %s}", model, strings.TrimSuffix(key, "_cost_per_token"), strconv.FormatFloat(v*1e6, 'f', -1, 64))
			}
		}
	}
	if info == nil {
		return
	}
	for _, key := range info.keys {
		switch n := info.members[key]; {
		case key == "base_model":
			l.sayf(n, Manual, "prices and capabilities are looked for by the name that the upstream answers with; a row of either file may name another")
		case strings.HasPrefix(key, "supports_"), strings.HasPrefix(key, "max_"):
			l.sayf(n, Manual, "what models accept is in the catalogue that ships; genway models list shows it, and catalog: FILE adds to it")
		}
	}
}

// wildcard reports whether a pattern of callers' names can be served: Genway sends the caller's name as it is.
func (l *litellm) wildcard(group, model string, at *node, upstream any) bool {
	switch {
	case !strings.Contains(model, "*"), model == "*" && !strings.Contains(group, "/"), model == group:
		return strings.Count(group, "*") > 0
	}
	l.sayf(at, Manual, "callers name %s, of which LiteLLM sends the part for the *, and Genway the whole: add a route for each name in use, {model: %s, targets: [{upstream: %s, model: NAME}]}", group, strings.ReplaceAll(group, "*", "NAME"), upstream)
	l.kept = append(l.kept, fmt.Sprint(upstream))
	return false
}

// router returns a setting of the router, which may be in either of two places.
func (l *litellm) router(key string) *node {
	if n := l.root.get("router_settings", key); n != nil {
		return n
	}
	return l.root.get("litellm_settings", key)
}

// settings reads what holds for all.
func (l *litellm) settings() {
	for _, u := range l.upstreams {
		if n := l.router("num_retries"); n != nil {
			l.retries(u, n)
		}
		for _, key := range []string{"timeout", "request_timeout"} {
			if n := l.router(key); n != nil {
				l.seconds(u, "deadline", n)
			}
		}
		if n := l.router("cooldown_time"); n != nil {
			l.seconds(u, "break_for", n)
		}
		if n := l.router("allowed_fails"); n != nil {
			if v, ok := n.figure(); ok && v >= 0 && v < 1000 {
				u.set("break_after", int64(v)+1)
				l.sayf(n, Manual, "break_after: %d; Genway counts failures in a row, and LiteLLM those of a minute", int64(v)+1)
			}
			l.sayf(n, Manual, "it is no number of failures")
		}
	}
	l.sayf(l.root.get("litellm_settings", "drop_params"), Exact, "Genway leaves out what a model does not take, and names it in x-genway-lost")
	for path, text := range map[string]string{
		"general_settings.master_key":                     "keys are made by genway keys create; one of the group admin is for operators",
		"general_settings.database_url":                   "keys and the ledger are in a store of Genway's own (store:)",
		"general_settings.max_parallel_requests":          "limits: {keys: {concurrent: N}} bounds each key",
		"litellm_settings.max_budget":                     "budgets are of keys and owners: limits: {owners: [{owner: \"*\", budgets: [100/month]}]}; they need prices",
		"litellm_settings.budget_duration":                "the period is a part of a budget: 100/month or 5/day",
		"litellm_settings.default_key_generate_params":    "limits: {keys: …} holds for each key that has none of its own",
		"litellm_settings.upperbound_key_generate_params": "limits: {keys: …} holds for each key that has none of its own",
		"litellm_settings.success_callback":               "the ledger, metrics and traces have each request: docs/observability.md",
		"litellm_settings.failure_callback":               "the ledger, metrics and traces have each request: docs/observability.md",
		"litellm_settings.callbacks":                      "the ledger, metrics and traces have each request: docs/observability.md",
		"router_settings.redis_host":                      "limits of several cores are counted in limits: {store: redis://HOST:PORT}",
		"environment_variables":                           "set them where genway is started",
	} {
		l.sayf(l.root.get(strings.Split(path, ".")...), Manual, "%s", text)
	}
}

// route makes the routes, with their aliases and fallbacks.
func (l *litellm) route() {
	strategy := l.strategy()
	fallbacks := []fallbacks{l.fallbacks("failure", "fallbacks"), l.fallbacks("context", "context_window_fallbacks"), l.fallbacks("policy", "content_policy_fallbacks")}
	fallbacks[0].always = append(fallbacks[0].always, l.standIns(l.router("default_fallbacks"), "each model without another")...)
	names := slices.Clone(l.groups)
	of := map[string]string{}
	if alias := l.root.get("router_settings", "model_group_alias"); alias != nil {
		for _, name := range alias.keys {
			n := alias.members[name]
			group := cmp.Or(n.value(), n.get("model").value())
			switch {
			case l.members[group] == nil:
				l.sayf(n, Manual, "no route is made for its model %s", group)
			case of[name] != "" || l.members[name] != nil:
				l.sayf(n, Manual, "there is a model of the name already")
			default:
				names, of[name] = append(names, name), group
				l.sayf(n.get("hidden"), Unsupported, "each route is listed")
				if n.shape == scalar {
					l.sayf(n, Exact, "a route to the targets of %s", group)
				} else {
					l.sayf(n.get("model"), Exact, "a route to the targets of %s", group)
				}
			}
		}
	}
	slices.SortStableFunc(names, byPrecision)
	for _, name := range names {
		group := cmp.Or(of[name], name)
		targets, later := l.ordered(group)
		if len(targets) == 0 {
			continue
		}
		for _, f := range fallbacks {
			groups, own := f.of[group]
			if !own {
				groups = f.always
			}
			for _, next := range groups {
				first, _ := l.ordered(next)
				for _, d := range first {
					later = standIn(later, d, f.cause)
				}
			}
		}
		l.addRoute(name, targets, later, strategy)
	}
}

// addRoute adds a route whose targets are different, and whose fallback has none of them.
func (l *litellm) addRoute(name string, targets, later []deployment, strategy yaml.MapSlice) {
	var seen []string
	once := func(list []deployment) (kept []deployment) {
		for _, d := range list {
			if text := fmt.Sprint(d.target); !slices.Contains(seen, text) {
				seen, kept = append(seen, text), append(kept, d)
			}
		}
		return kept
	}
	targets, later = once(targets), once(later)
	for _, d := range targets[1:] {
		if d.kind != targets[0].kind {
			l.restatef(d.at, "a target of the route %s, of another kind than the first: where some targets speak the caller's protocol, only these are tried; put it into fallback if it is to stand in for them", name)
		}
	}
	if len(targets) < 2 {
		strategy = nil
	}
	l.builder.route(name, targets, later, strategy...)
}

// ordered splits the deployments of a group: those of the lowest order share its load, the others
// in their order. LiteLLM never chooses one of weight 0, and where the first has a weight, none without.
func (l *litellm) ordered(group string) (targets, later []deployment) {
	list := slices.Clone(l.members[group])
	slices.SortStableFunc(list, func(a, b deployment) int { return a.order - b.order })
	for _, d := range list {
		switch {
		case d.order > list[0].order:
			d.weight = nil
			later = append(later, d)
		case d.weight != nil && *d.weight == 0, d.weight == nil && list[0].weight != nil:
			if len(list) > 1 {
				l.restatef(d.at, "its weight is 0, so LiteLLM never chooses it: it is left out of the route %s", group)
				continue
			}
			targets = append(targets, d)
		default:
			targets = append(targets, d)
		}
	}
	return targets, later
}

// strategy reads how the targets of routes share the load.
func (l *litellm) strategy() yaml.MapSlice {
	n := l.root.get("router_settings", "routing_strategy")
	switch n.value() {
	case "simple-shuffle":
		l.sayf(n, Exact, "the default: by weight")
	case "least-busy":
		l.sayf(n, Exact, "strategy: least_busy")
		return yaml.MapSlice{{Key: "strategy", Value: "least_busy"}}
	case "latency-based-routing":
		l.sayf(n, Exact, "strategy: fastest")
		return yaml.MapSlice{{Key: "strategy", Value: "fastest"}}
	default:
		l.sayf(n, Unsupported, "there are weight (taken), least_busy and fastest")
	}
	return nil
}

// standIn adds a deployment to a fallback for a cause. One that is there already, for another cause, is for both.
func standIn(later []deployment, d deployment, cause string) []deployment {
	for i, other := range later {
		if fmt.Sprint(other.target) == fmt.Sprint(d.target) {
			if causes := other.causes(); !slices.Contains(causes, cause) {
				later[i].on = slices.Concat(causes, []string{cause})
			}
			return later
		}
	}
	if cause != "failure" {
		d.on = []string{cause}
	}
	return append(later, d)
}

func (d *deployment) causes() []string {
	if d.on == nil {
		return []string{"failure"}
	}
	return slices.Clone(d.on)
}

// fallbacks are the groups that stand in for which, where a call fails for a cause, and for all that have none of their own.
type fallbacks struct {
	cause  string
	of     map[string][]string
	always []string
}

// fallbacks reads a setting of them.
func (l *litellm) fallbacks(cause, setting string) fallbacks {
	f := fallbacks{cause: cause, of: map[string][]string{}}
	for _, item := range l.router(setting).list() {
		for _, name := range item.keys {
			switch {
			case name == "*":
				f.always = append(f.always, l.standIns(item.members[name], "each model without another")...)
			case l.members[name] == nil:
				l.sayf(item.members[name], Manual, "no route is made for the model %s", name)
			default:
				f.of[name] = l.standIns(item.members[name], name)
			}
		}
	}
	return f
}

// standIns reads the groups that stand in for a model.
func (l *litellm) standIns(n *node, whose string) (list []string) {
	for _, item := range n.list() {
		if l.members[item.value()] == nil {
			l.sayf(item, Manual, "no route is made for the model %s", item.value())
			continue
		}
		list = append(list, item.value())
		l.sayf(item, Exact, "fallback of %s", whose)
		if first, _ := l.ordered(item.value()); len(first) > 1 {
			l.restatef(item, "fallback of %s: its %d targets are tried in order, and LiteLLM balances them", whose, len(first))
		}
	}
	return list
}
