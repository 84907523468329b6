package console

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"github.com/goccy/go-yaml"
)

// fileRoute is a route of the file, by its number.
type fileRoute struct {
	Number      int
	Name        string
	HasCaptures bool
}

// captureMember is the member of a route that has its rule.
const captureMember = "capture"

// routesOf lists the routes of a file; none of a text that cannot be read.
func routesOf(text string) (list []fileRoute) {
	_, routes := routesIn(text)
	for i, r := range routes {
		name, _ := member(r, "model").(string)
		if protocols, ok := member(r, "protocols").([]any); ok {
			name += " for " + strings.Trim(fmt.Sprint(protocols), "[]")
		}
		list = append(list, fileRoute{i, name, member(r, captureMember) != nil})
	}
	return list
}

// routesIn reads a file, and returns its routes.
func routesIn(text string) (body yaml.MapSlice, routes []yaml.MapSlice) {
	if err := yaml.UnmarshalWithOptions([]byte(text), &body, yaml.UseOrderedMap()); err != nil {
		return nil, nil
	}
	list, _ := member(body, "routes").([]any)
	for _, one := range list {
		route, _ := one.(yaml.MapSlice)
		routes = append(routes, route)
	}
	return body, routes
}

func member(of yaml.MapSlice, name string) any {
	for _, item := range of {
		if item.Key == name {
			return item.Value
		}
	}
	return nil
}

// withCapture returns a file in which a route, by its number, has a rule, or none. line is the member as it is to be
// written by hand.
func withCapture(text, number string, rule *adminv1.CaptureRule) (whole, line string, err error) {
	body, routes := routesIn(text)
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n >= len(routes) {
		return "", "", &pageError{http.StatusBadRequest, "The file has no such route; it may have changed meanwhile."}
	}
	var route yaml.MapSlice
	for _, item := range routes[n] {
		if item.Key != captureMember {
			route = append(route, item)
		}
	}
	added := yaml.MapItem{Key: captureMember, Value: ruleMembers(rule)}
	if rule != nil {
		route = append(route, added)
	}
	member(body, "routes").([]any)[n] = route //nolint:forcetypeassert // routesIn has found a list
	made, err := yaml.Marshal(body)
	if err != nil {
		return "", "", err
	}
	if rule == nil {
		return string(made), captureMember, nil
	}
	shown, err := yaml.MarshalWithOptions(yaml.MapSlice{added}, yaml.Flow(true))
	return string(made), strings.Trim(strings.TrimSpace(string(shown)), "{}") + "}", err
}

// ruleMembers is a rule as the file has it.
func ruleMembers(rule *adminv1.CaptureRule) yaml.MapSlice {
	if rule == nil {
		return nil
	}
	m := yaml.MapSlice{}
	if rule.Share != nil {
		m = append(m, yaml.MapItem{Key: "share", Value: rule.GetShare()})
	}
	if rule.GetMaxBytes() != 0 {
		m = append(m, yaml.MapItem{Key: "max_bytes", Value: rule.GetMaxBytes()})
	}
	if len(rule.GetRedact()) > 0 {
		m = append(m, yaml.MapItem{Key: "redact", Value: rule.GetRedact()})
	}
	return append(m, yaml.MapItem{Key: "until", Value: rule.GetUntil().AsTime().Format(time.RFC3339)})
}
