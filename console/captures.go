package console

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

type capturesPage struct {
	Rules []*adminv1.RunningCapture
	// Routes are those of the file, which the form offers where the file can be written.
	Routes []fileRoute
	// Key is what the form begins with.
	Key      string
	Writable bool
	Done     string
	// Lines are what to write into the file where this page cannot.
	Lines string
}

// showCaptures lists the rules by which bodies are captured now.
func showCaptures(c *call) error { return c.showCaptures(&capturesPage{Key: c.r.FormValue("key")}) }

func (c *call) showCaptures(p *capturesPage) error {
	resp, err := c.admin.ListCaptureRules(c.ctx, &adminv1.ListCaptureRulesRequest{})
	if err != nil {
		return err
	}
	file, err := c.admin.GetConfiguration(c.ctx, &adminv1.GetConfigurationRequest{})
	if err != nil {
		return err
	}
	p.Rules, p.Writable, p.Routes = resp.GetRules(), file.GetWritable(), routesOf(file.GetYaml())
	c.show(http.StatusOK, "captures.html", "Captures", p)
	return nil
}

// beginCapture asks for the bodies of a key's requests, or of a route's.
func beginCapture(c *call) error {
	rule, err := c.captureRule()
	if err != nil {
		return err
	}
	key, route := strings.TrimSpace(c.r.PostFormValue("key")), c.r.PostFormValue("route")
	switch {
	case (key == "") == (route == ""):
		return &pageError{http.StatusBadRequest, "Choose either a key or a route."}
	case key != "":
		if err := c.captureKey(key, rule); err != nil {
			return err
		}
		return c.showCaptures(&capturesPage{Done: "Bodies of the key's requests are captured until " + rule.GetUntil().AsTime().Format("2006-01-02 15:04:05") + " UTC."})
	}
	lines, err := c.captureRoute(route, rule)
	if err != nil {
		return err
	}
	if lines != "" {
		return c.showCaptures(&capturesPage{Lines: lines})
	}
	return c.showCaptures(&capturesPage{Done: "The file was written: bodies of the route's requests are captured until " + rule.GetUntil().AsTime().Format("2006-01-02 15:04:05") + " UTC."})
}

// endCapture ends the rule of a key, or of a route.
func endCapture(c *call) error {
	key, route := c.r.PostFormValue("key"), c.r.PostFormValue("route")
	if key != "" {
		if err := c.captureKey(key, nil); err != nil {
			return err
		}
		return c.showCaptures(&capturesPage{Done: "Nothing more is captured by that key's rule. What was captured stays until its end."})
	}
	lines, err := c.captureRoute(route, nil)
	if err != nil {
		return err
	}
	if lines != "" {
		return &pageError{http.StatusConflict, "This page does not write the file: the server was started without --console-write. Remove the member capture of that route from the file."}
	}
	return c.showCaptures(&capturesPage{Done: "The file was written: nothing more is captured by that route's rule. What was captured stays until its end."})
}

// captureKey gives a key a rule; nil is none.
func (c *call) captureKey(key string, rule *adminv1.CaptureRule) error {
	_, err := c.admin.UpdateKey(c.ctx, &adminv1.UpdateKeyRequest{Key: key, Settings: &adminv1.KeySettings{Capture: rule}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"capture"}}})
	return err
}

// captureRoute gives a route of the file a rule; nil is none. Where the file cannot be written, it changes nothing
// and returns the line that the route needs.
func (c *call) captureRoute(number string, rule *adminv1.CaptureRule) (lines string, err error) {
	file, err := c.admin.GetConfiguration(c.ctx, &adminv1.GetConfigurationRequest{})
	if err != nil {
		return "", err
	}
	text, line, err := withCapture(file.GetYaml(), number, rule)
	if err != nil {
		return "", err
	}
	if !file.GetWritable() {
		return line, nil
	}
	_, err = c.admin.WriteConfiguration(c.ctx, &adminv1.WriteConfigurationRequest{Yaml: text, FileHash: file.GetFileHash()})
	return "", err
}

// captureRule reads the form. What a rule may be is for the Admin service to say.
func (c *call) captureRule() (*adminv1.CaptureRule, error) {
	field := func(name string) string { return strings.TrimSpace(c.r.PostFormValue(name)) }
	rule := &adminv1.CaptureRule{Redact: words(field("redact"))}
	if text := field("share"); text != "" {
		percent, err := strconv.ParseFloat(text, 64)
		if err != nil || !(percent > 0 && percent <= 100) {
			return nil, &pageError{http.StatusBadRequest, fmt.Sprintf("share: %.40q is no part; write more than 0 and up to 100 per cent.", text)}
		}
		if percent < 100 {
			share := percent / 100
			rule.Share = &share
		}
	}
	if text := field("max_bytes"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, &pageError{http.StatusBadRequest, fmt.Sprintf("max_bytes: %.40q is no whole number.", text)}
		}
		rule.MaxBytes = n
	}
	lasts, err := time.ParseDuration(field("for"))
	if err != nil || lasts <= 0 {
		return nil, &pageError{http.StatusBadRequest, fmt.Sprintf("for: %.40q is no duration; write it as 15m or 2h.", field("for"))}
	}
	rule.Until = timestamppb.New(c.console.config.Clock().Add(lasts).Truncate(time.Second))
	return rule, nil
}
