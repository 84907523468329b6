package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/genway/genway/protocol"
)

// description is what document.yaml has of a path of the contract.
type description struct {
	// summary, description and tag are for people.
	summary, description, tag string
	// request, answer and events are types of codecs: of the body, of the answer's body, of which
	// there may be several forms, and of the data of an answer's events. form is the type of a multipart form that
	// the body may be instead.
	request, form  string
	answer, events []string
	// errors names one of the document's responses, security its schemes.
	errors   string
	security []string
	// parameters are names of the document's parameters.
	parameters []string
}

func readDescription(of object) (s description, err error) {
	text := map[string]*string{"summary": &s.summary, "description": &s.description, "tag": &s.tag, "request": &s.request, "form": &s.form, "errors": &s.errors}
	lists := map[string]*[]string{"answer": &s.answer, "events": &s.events, "security": &s.security, "parameters": &s.parameters}
	for key, value := range of {
		switch v := value.(type) {
		case string:
			if text[key] == nil {
				return s, fmt.Errorf("%s is no text", key)
			}
			*text[key] = strings.TrimSpace(v)
		case []any:
			if lists[key] == nil {
				return s, fmt.Errorf("%s is no list", key)
			}
			for _, element := range v {
				*lists[key] = append(*lists[key], fmt.Sprint(element))
			}
		default:
			return s, fmt.Errorf("%s is neither a text nor a list", key)
		}
	}
	if s.summary == "" || s.tag == "" || s.errors == "" || len(s.answer) == 0 {
		return s, errors.New("it lacks a summary, a tag, an answer or its errors")
	}
	return s, nil
}

// pathsOf makes the paths of the contract's annotations, each of which operations must have.
func pathsOf(operations map[string]object, schemas *schemas) (object, error) {
	paths := object{}
	missing := maps.Clone(operations)
	for _, b := range protocol.Contract() {
		path := b.Prefix
		if b.Model != "" {
			path += "{model}" + b.Suffix
		}
		if b.Stored {
			path += "{id}" + b.Suffix
		}
		name := b.Method + " " + path
		if operations[name] == nil {
			return nil, fmt.Errorf("document.yaml has no operation %s", name)
		}
		delete(missing, name)
		about, err := readDescription(operations[name])
		if err != nil {
			return nil, fmt.Errorf("document.yaml: %s: %w", name, err)
		}
		operation, err := operationOf(b, about, schemas)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		item, ok := paths[path].(object)
		if !ok {
			item = object{}
			paths[path] = item
		}
		item[strings.ToLower(b.Method)] = operation
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("document.yaml has operations that are not in the contract: %v", slices.Sorted(maps.Keys(missing)))
	}
	return paths, nil
}

// answerHeaders refers to the headers of answers that are no errors.
func answerHeaders() object {
	headers := object{}
	for _, name := range []string{
		"x-request-id", "request-id", "x-genway-request-id", "x-client-request-id",
		"x-genway-upstream", "x-genway-upstream-request-id", "x-genway-attempts", "x-genway-lost", "x-genway-cost",
	} {
		headers[name] = object{"$ref": "#/components/headers/" + name}
	}
	return headers
}

func operationOf(b protocol.Binding, about description, schemas *schemas) (object, error) {
	content := object{}
	for media, names := range map[string][]string{"application/json": about.answer, "text/event-stream": about.events} {
		if len(names) == 0 {
			continue
		}
		var forms []any
		for _, name := range names {
			reference, err := schemas.ref(name)
			if err != nil {
				return nil, err
			}
			forms = append(forms, reference)
		}
		content[media] = object{"schema": object{"anyOf": forms}}
	}
	failure := object{"$ref": "#/components/responses/" + about.errors}
	operation := object{
		"summary": about.summary, "tags": []any{about.tag},
		"operationId": operationID(b),
		"responses": object{
			"200": object{"description": "The answer.", "headers": answerHeaders(), "content": content},
			"4XX": failure, "5XX": failure,
		},
	}
	if about.description != "" {
		operation["description"] = about.description
	}
	var parameters, security []any
	if b.Model != "" {
		parameters = append(parameters, object{"$ref": "#/components/parameters/Model"})
	}
	if b.Stored {
		parameters = append(parameters, object{"$ref": "#/components/parameters/ID"})
	}
	for _, name := range about.parameters {
		parameters = append(parameters, object{"$ref": "#/components/parameters/" + name})
	}
	for _, name := range about.security {
		security = append(security, object{name: []any{}})
	}
	if parameters != nil {
		operation["parameters"] = parameters
	}
	if security != nil {
		operation["security"] = security
	}
	bodies := object{}
	for media, name := range map[string]string{"application/json": about.request, "multipart/form-data": about.form} {
		if name == "" {
			continue
		}
		reference, err := schemas.ref(name)
		if err != nil {
			return nil, err
		}
		bodies[media] = object{"schema": reference}
	}
	if len(bodies) > 0 {
		operation["requestBody"] = object{"required": true, "content": bodies}
	}
	return operation, nil
}

// operationID names an operation by its method and path: get_v1_models.
func operationID(b protocol.Binding) string {
	name := b.Method + " " + b.Prefix
	if b.Stored {
		name += " id"
	}
	words := strings.FieldsFunc(name+" "+b.Suffix, func(r rune) bool { return strings.ContainsRune(" /:", r) })
	return strings.ToLower(strings.Join(words, "_"))
}
